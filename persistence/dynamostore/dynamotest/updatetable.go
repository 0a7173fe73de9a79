package dynamotest

import (
	"fmt"
	"slices"
)

type (
	updateTableInput struct {
		Table                     *string               `json:"TableName"`
		Attributes                []attributeDefinition `json:"AttributeDefinitions"`
		BillingMode               string
		Throughput                *throughputRequest   `json:"ProvisionedThroughput"`
		Indexes                   []indexUpdate        `json:"GlobalSecondaryIndexUpdates"`
		Stream                    *streamSpecification `json:"StreamSpecification"`
		Encryption                *encryption          `json:"SSESpecification"`
		Class                     string               `json:"TableClass"`
		DeletionProtectionEnabled *bool
		capacityLimits
		ReplicaUpdates                     notServed
		MultiRegionConsistency             notServed
		GlobalTableWitnessUpdates          notServed
		GlobalTableSettingsReplicationMode notServed
		DisassociationProtectionEnabled    notServed
		VectorIndexUpdates                 notServed
	}
	// indexUpdate has exactly one member.
	indexUpdate struct {
		Create *indexDefinition
		Update *indexCapacityUpdate
		Delete *indexDeletion
	}
	indexCapacityUpdate struct {
		Name       *string            `json:"IndexName"`
		Throughput *throughputRequest `json:"ProvisionedThroughput"`
		capacityLimits
	}
	indexDeletion struct {
		Name *string `json:"IndexName"`
	}
)

func (in *updateTableInput) subjects() []string { return nonNil(in.Table) }

// apply makes all changes, or none.
func (in *updateTableInput) apply(c *call) (any, error) {
	if in.Table == nil {
		return nil, errNoTableName
	}
	if err := firstError(in.check, in.Stream.check, in.Encryption.check); err != nil {
		return nil, err
	}
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	changed := *t
	changed.indexes = slices.Clone(t.indexes)
	if err := firstError(
		func() error { return in.rebill(&changed) },
		func() error { return in.reindex(&changed) },
		func() error { return in.restream(c, &changed) },
	); err != nil {
		return nil, err
	}
	if in.Encryption != nil {
		changed.encrypted = in.Encryption
	}
	if in.Class != "" {
		changed.class = in.Class
	}
	if in.DeletionProtectionEnabled != nil {
		changed.protected = *in.DeletionProtectionEnabled
	}
	*t = changed
	return map[string]tableDescription{"TableDescription": t.describe("ACTIVE")}, nil
}

func (in *updateTableInput) check() error {
	var faults constraints
	checkTableName(&faults, in.Table, "")
	checkAttributes(&faults, in.Attributes)
	checkEnum(&faults, in.BillingMode, "billingMode", billingProvisioned, billingOnDemand)
	checkEnum(&faults, in.Class, "tableClass", tableClasses...)
	in.Throughput.check(&faults, "")
	for i, u := range in.Indexes {
		at := fmt.Sprintf("globalSecondaryIndexUpdates.%d.member.", i+1)
		if u.Create != nil {
			u.Create.check(&faults, 2*maxKeyAttributes, at+"create.")
		}
		if u.Update != nil {
			checkIndexName(&faults, u.Update.Name, true, at+"update.")
			u.Update.Throughput.check(&faults, at+"update.")
		}
		if u.Delete != nil {
			checkIndexName(&faults, u.Delete.Name, true, at+"delete.")
		}
	}
	if err := faults.err(); err != nil {
		return err
	}
	if in.BillingMode == "" && in.Throughput == nil && len(in.Indexes) == 0 && in.Stream == nil && in.Encryption == nil &&
		in.Class == "" && in.DeletionProtectionEnabled == nil {
		return invalid("At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or SSESpecification or ReplicaUpdates is required")
	}
	return in.checkIndexes()
}

// checkIndexes refuses changes of indexes that contradict each other.
func (in *updateTableInput) checkIndexes() error {
	var named []string
	built := 0
	for _, u := range in.Indexes {
		var name string
		switch {
		case u.Create != nil && u.Update == nil && u.Delete == nil:
			name = *u.Create.Name
			built++
		case u.Update != nil && u.Create == nil && u.Delete == nil:
			name = *u.Update.Name
		case u.Delete != nil && u.Create == nil && u.Update == nil:
			name = *u.Delete.Name
			built++
		default:
			return invalidParameter("One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, GlobalSecondaryIndexUpdate.Delete must not be null")
		}
		if slices.Contains(named, name) {
			return invalidParameter("Only one global secondary index update per index is allowed simultaneously. Index: %s", name)
		}
		named = append(named, name)
	}
	if built > 1 {
		return failure("LimitExceededException", "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table")
	}
	return nil
}

// rebill changes how the table and its indexes are billed.
func (in *updateTableInput) rebill(t *table) error {
	before := t.billingMode
	if in.BillingMode != "" {
		t.billingMode = in.BillingMode
	}
	onDemand := t.billingMode == billingOnDemand
	if in.Throughput != nil || t.billingMode != before {
		capacity, err := t.schema().capacity(in.Throughput)
		if err != nil {
			return err
		}
		if !onDemand && capacity == t.throughput {
			return unchangedCapacity("table", capacity)
		}
		t.throughput = capacity
	}
	for i, x := range t.indexes {
		switch {
		case x.local:
		case onDemand:
			t.indexes[i] = x.withCapacity(throughput{})
		case t.billingMode != before && !slices.ContainsFunc(in.Indexes, func(u indexUpdate) bool { return u.Update != nil && *u.Update.Name == x.name }):
			return invalidParameter("ProvisionedThroughput must be specified for index: %s", x.name)
		}
	}
	return nil
}

func unchangedCapacity(what string, same throughput) error {
	return invalid("The provisioned throughput for the %s will not change. The requested value equals the current value. "+
		"Current ReadCapacityUnits provisioned for the %[1]s: %[2]d. Requested ReadCapacityUnits: %[2]d. "+
		"Current WriteCapacityUnits provisioned for the %[1]s: %[3]d. Requested WriteCapacityUnits: %[3]d. "+
		"Refer to the Amazon DynamoDB Developer Guide for current limits and how to request higher limits.", what, same.Read, same.Write)
}

// reindex creates, changes and deletes global indexes. The attributes defined are those that keys have afterwards.
func (in *updateTableInput) reindex(t *table) error {
	attributes, err := in.define(t)
	if err != nil {
		return err
	}
	t.attributes = attributes
	for _, u := range in.Indexes {
		if err := u.apply(t); err != nil {
			return err
		}
	}
	used := t.keysUsed()
	if err := (schema{attributes: in.Attributes}).unused(used); err != nil {
		return err
	}
	t.attributes = slices.DeleteFunc(attributes, func(a attributeDefinition) bool { return !used.has(a.Name) })
	return nil
}

// define is the table's attributes with those of the request.
func (in *updateTableInput) define(t *table) ([]attributeDefinition, error) {
	all := slices.Clone(t.attributes)
	for _, a := range in.Attributes {
		at := slices.IndexFunc(all, func(b attributeDefinition) bool { return b.Name == a.Name })
		switch {
		case at < 0:
			all = append(all, a)
		case all[at] != a:
			return nil, invalidParameter("Attribute %s is already defined with type %s", a.Name, all[at].Kind)
		}
	}
	return all, nil
}

func (u indexUpdate) apply(t *table) error {
	if u.Create != nil {
		global := 0
		for _, x := range t.indexes {
			if !x.local {
				global++
			}
		}
		if _, err := t.index(*u.Create.Name); err == nil {
			return invalid("Attempting to create an index which already exists")
		}
		if global == maxGlobalIndexes {
			return invalidParameter(tooManyGlobalIndexes)
		}
		return t.build(t.schema().global(t.keys, *u.Create))
	}
	name := u.Update.name()
	if u.Delete != nil {
		name = *u.Delete.Name
	}
	at := slices.IndexFunc(t.indexes, func(x *index) bool { return x.name == name && !x.local })
	if at < 0 {
		return failure("ResourceNotFoundException", "Requested resource not found")
	}
	if u.Delete != nil {
		t.indexes = slices.Delete(t.indexes, at, at+1)
		return nil
	}
	capacity, err := t.schema().capacity(u.Update.Throughput)
	if err != nil {
		return err
	}
	if capacity == t.indexes[at].throughput {
		return unchangedCapacity("index: "+name, capacity)
	}
	t.indexes[at] = t.indexes[at].withCapacity(capacity)
	return nil
}

// build gives the table another index and fills it with what the table holds. Items whose attributes do not fit the index's
// keys stay out of it.
func (t *table) build(x *index, err error) error {
	if err := t.add(x, err); err != nil {
		return err
	}
	for r := range t.items.within(everywhere, false) {
		x.replace(nil, x.entry(r.item))
	}
	return nil
}

func (u *indexCapacityUpdate) name() string {
	if u == nil {
		return ""
	}
	return *u.Name
}

// withCapacity is the index with another provisioned capacity.
func (x *index) withCapacity(t throughput) *index {
	changed := *x
	changed.throughput = t
	return &changed
}
