package dynamotest

import (
	"fmt"
	"regexp"
	"slices"
)

// Quotas of the developer guide ("Service, account, and table quotas in Amazon DynamoDB").
const (
	maxGlobalIndexes     = 20
	maxLocalIndexes      = 5
	maxKeyAttributes     = 4 // of the partition key, and of the sort key, of a global index
	maxIncludes          = 100
	maxNameSize          = 255
	minIndexNameSize     = 3
	roleHash             = "HASH"
	roleRange            = "RANGE"
	projectAll           = "ALL"
	projectInclude       = "INCLUDE"
	projectKeysOnly      = "KEYS_ONLY"
	billingOnDemand      = "PAY_PER_REQUEST"
	billingProvisioned   = "PROVISIONED"
	tooManyGlobalIndexes = "GlobalSecondaryIndex count exceeds the per-table limit of 20"
	tooManyLocalIndexes  = "Number of LocalSecondaryIndexes exceeds per-table limit of 5"
)

type (
	attributeDefinition struct {
		Name string `json:"AttributeName"`
		Kind kind   `json:"AttributeType"`
	}
	keySchemaElement struct {
		Name string `json:"AttributeName"`
		Role string `json:"KeyType"`
	}
	// throughput is provisioned capacity in units a second; zero on demand.
	throughput struct {
		Read  int64 `json:"ReadCapacityUnits"`
		Write int64 `json:"WriteCapacityUnits"`
	}
	throughputRequest struct {
		Read  *int64 `json:"ReadCapacityUnits"`
		Write *int64 `json:"WriteCapacityUnits"`
	}
	indexDefinition struct {
		Name       *string            `json:"IndexName"`
		Keys       []keySchemaElement `json:"KeySchema"`
		Projection *indexProjection
		Throughput *throughputRequest `json:"ProvisionedThroughput"`
		capacityLimits
	}
	// capacityLimits are limits on capacity that this database does not keep.
	capacityLimits struct {
		OnDemandThroughput notServed
		WarmThroughput     notServed
	}
)

// String is the element as DynamoDB shows it in error messages.
func (e keySchemaElement) String() string {
	return fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", e.Name, e.Role)
}

func (e keySchemaElement) attribute() string    { return e.Name }
func (a attributeDefinition) attribute() string { return a.Name }
func (a keyAttribute) attribute() string        { return a.name }

func checkAttributes(faults *constraints, attributes []attributeDefinition) {
	for i, a := range attributes {
		member := fmt.Sprintf("attributeDefinitions.%d.member.", i+1)
		checkAttributeName(faults, a.Name, member)
		faults.addIf(a.Kind == "", "null", member+"attributeType", "Member must not be null")
		checkEnum(faults, string(a.Kind), member+"attributeType", "B", "N", "S")
	}
}

func checkAttributeName(faults *constraints, name, prefix string) {
	faults.addIf(name == "", "null", prefix+"attributeName", "Member must not be null")
	faults.addIf(len(name) > maxNameSize, quoted(name), prefix+"attributeName", "Member must have length less than or equal to 255")
}

// checkKeyElements finds faults in a key schema of at most that many attributes; prefix is where it stands in the request.
func checkKeyElements(faults *constraints, elements []keySchemaElement, atMost int, prefix string) {
	member := prefix + "keySchema"
	faults.addIf(elements == nil, "null", member, "Member must not be null")
	faults.addIf(elements != nil && len(elements) == 0, "'[]'", member, "Member must have length greater than or equal to 1")
	faults.addIf(len(elements) > atMost, quoted(names(elements, keySchemaElement.String)), member,
		fmt.Sprintf("Member must have length less than or equal to %d", atMost))
	for i, e := range elements {
		at := fmt.Sprintf("%s.%d.member.", member, i+1)
		checkAttributeName(faults, e.Name, at)
		faults.addIf(e.Role == "", "null", at+"keyType", "Member must not be null")
		checkEnum(faults, e.Role, at+"keyType", roleHash, roleRange)
	}
}

var indexNamePattern = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// checkIndexName finds faults in the name of an index, of which absence may be one; prefix is where it stands in the
// request.
func checkIndexName(faults *constraints, name *string, required bool, prefix string) {
	member := prefix + "indexName"
	if name == nil {
		faults.addIf(required, "null", member, "Member must not be null")
		return
	}
	faults.addIf(!indexNamePattern.MatchString(*name), quoted(*name), member, "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+")
	faults.addIf(len(*name) < minIndexNameSize, quoted(*name), member, "Member must have length greater than or equal to 3")
	faults.addIf(len(*name) > maxNameSize, quoted(*name), member, "Member must have length less than or equal to 255")
}

func (d indexDefinition) check(faults *constraints, maxKeys int, prefix string) {
	checkIndexName(faults, d.Name, true, prefix)
	checkKeyElements(faults, d.Keys, maxKeys, prefix)
	faults.addIf(d.Projection == nil, "null", prefix+"projection", "Member must not be null")
	if p := d.Projection; p != nil {
		checkEnum(faults, p.Type, prefix+"projection.projectionType", projectAll, projectInclude, projectKeysOnly)
		faults.addIf(p.Includes != nil && len(p.Includes) == 0, "'[]'", prefix+"projection.nonKeyAttributes", "Member must have length greater than or equal to 1")
		faults.addIf(len(p.Includes) > maxIncludes, notShown, prefix+"projection.nonKeyAttributes", "Member must have length less than or equal to 100")
	}
	d.Throughput.check(faults, prefix)
}

func (r *throughputRequest) check(faults *constraints, prefix string) {
	if r == nil {
		return
	}
	checkUnits(faults, r.Read, prefix+"provisionedThroughput.readCapacityUnits")
	checkUnits(faults, r.Write, prefix+"provisionedThroughput.writeCapacityUnits")
}

func checkUnits(faults *constraints, units *int64, member string) {
	faults.addIf(units == nil, "null", member, "Member must not be null")
	if units != nil {
		faults.addIf(*units < 1, quoted(fmt.Sprint(*units)), member, "Member must have value greater than or equal to 1")
	}
}

// schema is what keys and indexes are made from: the defined attributes, and how the table is billed.
type schema struct {
	attributes []attributeDefinition
	onDemand   bool
}

// keys is the key of a table or local index.
func (s schema) keys(elements []keySchemaElement) (keySchema, error) {
	switch {
	case elements[0].Role != roleHash:
		return nil, invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(elements) == 2 && elements[1].Role != roleRange:
		return nil, invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	}
	return s.resolve(elements)
}

// indexKeys is the key of a global index, whose partition and sort key may have several attributes.
func (s schema) indexKeys(elements []keySchemaElement) (keySchema, error) {
	hashes, ranges := 0, 0
	for _, e := range elements {
		if e.Role == roleRange {
			ranges++
			continue
		}
		if ranges > 0 {
			return nil, invalid("Invalid KeySchema: HASH key types must come before RANGE key types")
		}
		hashes++
	}
	switch {
	case hashes == 0:
		return nil, invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case hashes > maxKeyAttributes || ranges > maxKeyAttributes:
		return nil, invalid("Invalid KeySchema: at most four HASH and four RANGE key types")
	}
	return s.resolve(elements)
}

// resolve gives the key attributes their types.
func (s schema) resolve(elements []keySchemaElement) (keySchema, error) {
	var keys keySchema
	for _, e := range elements {
		if keys.has(e.Name) {
			return nil, invalid("Invalid KeySchema: Some index key attribute have no definition")
		}
		at := slices.IndexFunc(s.attributes, func(a attributeDefinition) bool { return a.Name == e.Name })
		if at < 0 {
			return nil, invalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
				names(elements, keySchemaElement.attribute), names(s.attributes, attributeDefinition.attribute))
		}
		keys = append(keys, keyAttribute{e.Name, s.attributes[at].Kind, e.Role == roleRange})
	}
	return keys, nil
}

// capacity is the provisioned capacity of a table or index, which there must be just if the table is not on demand.
func (s schema) capacity(given *throughputRequest) (throughput, error) {
	switch {
	case s.onDemand && given != nil:
		return throughput{}, invalidParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case s.onDemand:
		return throughput{}, nil
	case given == nil:
		return throughput{}, invalidParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	}
	return throughput{Read: *given.Read, Write: *given.Write}, nil
}

// unused refuses definitions of attributes that no key has, and two of one name.
func (s schema) unused(used keySchema) error {
	for i, a := range s.attributes {
		if !used.has(a.Name) {
			return invalidParameter("Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
				names(s.attributes, attributeDefinition.attribute), names(used, keyAttribute.attribute))
		}
		if slices.ContainsFunc(s.attributes[:i], func(b attributeDefinition) bool { return b.Name == a.Name }) {
			return invalidParameter("Duplicate AttributeName in AttributeDefinitions: %s", a.Name)
		}
	}
	return nil
}

// global is a global index of the table.
func (s schema) global(table keySchema, d indexDefinition) (*index, error) {
	keys, err := s.indexKeys(d.Keys)
	if err != nil {
		return nil, err
	}
	if err := d.Projection.check(); err != nil {
		return nil, err
	}
	capacity, err := s.capacity(d.Throughput)
	if err != nil {
		return nil, err
	}
	return &index{collection: newCollection(keys, table), name: *d.Name, projection: *d.Projection, throughput: capacity}, nil
}

// local is a local index of the table, which shares its partition key and, with it, its capacity.
func (s schema) local(table keySchema, d indexDefinition) (*index, error) {
	keys, err := s.keys(d.Keys)
	switch {
	case err != nil:
		return nil, err
	case len(table) < 2:
		return nil, invalidParameter("Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex")
	case len(keys) < 2:
		return nil, invalidParameter("Index KeySchema does not have a range key for index: %s", *d.Name)
	case keys[0] != table[0]:
		return nil, invalidParameter("Index KeySchema does not have the same leading hash key as table KeySchema for index: %s. index hash key: %s, table hash key: %s",
			*d.Name, keys[0].name, table[0].name)
	case d.Throughput != nil:
		return nil, invalidParameter("ProvisionedThroughput cannot be specified for index: %s", *d.Name)
	}
	if err := d.Projection.check(); err != nil {
		return nil, err
	}
	return &index{collection: newCollection(keys, table), name: *d.Name, local: true, projection: *d.Projection}, nil
}

// check refuses projections that contradict themselves.
func (p indexProjection) check() error {
	switch {
	case p.Type == "":
		return invalidParameter("Unknown ProjectionType: null")
	case p.Type == projectInclude && len(p.Includes) == 0:
		return invalidParameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.Type != projectInclude && len(p.Includes) > 0:
		return invalidParameter("ProjectionType is %s, but NonKeyAttributes is specified", p.Type)
	}
	return nil
}
