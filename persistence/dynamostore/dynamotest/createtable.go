package dynamotest

import (
	"fmt"
	"slices"
)

type createTableInput struct {
	Table                     *string               `json:"TableName"`
	Attributes                []attributeDefinition `json:"AttributeDefinitions"`
	Keys                      []keySchemaElement    `json:"KeySchema"`
	BillingMode               string
	Throughput                *throughputRequest   `json:"ProvisionedThroughput"`
	Global                    []indexDefinition    `json:"GlobalSecondaryIndexes"`
	Local                     []indexDefinition    `json:"LocalSecondaryIndexes"`
	Stream                    *streamSpecification `json:"StreamSpecification"`
	Encryption                *encryption          `json:"SSESpecification"`
	Class                     string               `json:"TableClass"`
	DeletionProtectionEnabled bool
	Tags                      []tag
	capacityLimits
	ResourcePolicy                     notServed
	GlobalTableSourceArn               notServed
	GlobalTableSettingsReplicationMode notServed
	VectorIndexes                      notServed
}

func (in *createTableInput) subjects() []string { return nonNil(in.Table) }

func (in *createTableInput) apply(c *call) (any, error) {
	if in.Table == nil {
		return nil, errNoTableName
	}
	if err := firstError(in.check, in.Stream.check, in.Encryption.check, func() error { return checkTags(in.Tags) }); err != nil {
		return nil, err
	}
	t, err := in.table(plainTableName(*in.Table))
	if err != nil {
		return nil, err
	}
	if _, exists := c.tables[t.name]; exists {
		return nil, failure("ResourceInUseException", "Table already exists: %s", t.name)
	}
	t.created = c.at
	if in.Stream != nil && *in.Stream.Enabled {
		c.openStream(t, in.Stream.View)
	}
	c.tables[t.name] = t
	return map[string]tableDescription{"TableDescription": t.describe("ACTIVE")}, nil
}

func (in *createTableInput) check() error {
	var faults constraints
	checkTableName(&faults, in.Table, "")
	faults.addIf(in.Attributes == nil, "null", "attributeDefinitions", "Member must not be null")
	checkAttributes(&faults, in.Attributes)
	checkKeyElements(&faults, in.Keys, 2, "")
	for i, d := range in.Global {
		d.check(&faults, 2*maxKeyAttributes, fmt.Sprintf("globalSecondaryIndexes.%d.member.", i+1))
	}
	for i, d := range in.Local {
		d.check(&faults, 2, fmt.Sprintf("localSecondaryIndexes.%d.member.", i+1))
	}
	checkEnum(&faults, in.BillingMode, "billingMode", billingProvisioned, billingOnDemand)
	in.Throughput.check(&faults, "")
	checkEnum(&faults, in.Class, "tableClass", tableClasses...)
	return faults.err()
}

// table is the empty table the request describes.
func (in *createTableInput) table(name string) (*table, error) {
	t := &table{
		name: name, id: newID(), attributes: in.Attributes, billingMode: in.BillingMode, class: in.Class,
		protected: in.DeletionProtectionEnabled, encrypted: in.Encryption, tags: tagged(nil, in.Tags),
	}
	if t.billingMode == "" {
		t.billingMode = billingProvisioned
	}
	s := t.schema()
	var err error
	if t.keys, err = s.keys(in.Keys); err != nil {
		return nil, err
	}
	t.items = newCollection(t.keys, nil)
	if t.throughput, err = s.capacity(in.Throughput); err != nil {
		return nil, err
	}
	switch {
	case in.Local != nil && len(in.Local) == 0:
		return nil, invalidParameter("List of LocalSecondaryIndexes is empty")
	case in.Global != nil && len(in.Global) == 0:
		return nil, invalidParameter("List of GlobalSecondaryIndexes is empty")
	case len(in.Local) > maxLocalIndexes:
		return nil, invalidParameter(tooManyLocalIndexes)
	case len(in.Global) > maxGlobalIndexes:
		return nil, invalidParameter(tooManyGlobalIndexes)
	}
	for _, d := range in.Local {
		if err := t.add(s.local(t.keys, d)); err != nil {
			return nil, err
		}
	}
	for _, d := range in.Global {
		if err := t.add(s.global(t.keys, d)); err != nil {
			return nil, err
		}
	}
	return t, s.unused(t.keysUsed())
}

// schema is what the table's keys are made from.
func (t *table) schema() schema {
	return schema{attributes: t.attributes, onDemand: t.billingMode == billingOnDemand}
}

// add gives the table another index.
func (t *table) add(x *index, err error) error {
	if err != nil {
		return err
	}
	if _, err := t.index(x.name); err == nil {
		return invalidParameter("Duplicate index name: %s", x.name)
	}
	t.indexes = append(t.indexes, x)
	included := 0
	for _, x := range t.indexes {
		included += len(x.projection.Includes)
	}
	if included > maxIncludes {
		return invalidParameter("Number of projected NonKeyAttributes exceeds per-table limit of %d", maxIncludes)
	}
	return nil
}

// keysUsed are the attributes of all keys, of the table and of its indexes.
func (t *table) keysUsed() keySchema {
	used := slices.Clone(t.keys)
	for _, x := range t.indexes {
		used = append(used, x.keys...)
	}
	return used
}
