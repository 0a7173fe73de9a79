package dynamotest

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
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
	throughput struct {
		Read  int64 `json:"ReadCapacityUnits"`
		Write int64 `json:"WriteCapacityUnits"`
	}
	indexDefinition struct {
		Name       string             `json:"IndexName"`
		Keys       []keySchemaElement `json:"KeySchema"`
		Projection indexProjection
		Throughput *throughput `json:"ProvisionedThroughput"`
	}
	createTableInput struct {
		Table       *string               `json:"TableName"`
		Attributes  []attributeDefinition `json:"AttributeDefinitions"`
		Keys        []keySchemaElement    `json:"KeySchema"`
		BillingMode string
		Throughput  *throughput       `json:"ProvisionedThroughput"`
		Global      []indexDefinition `json:"GlobalSecondaryIndexes"`
		Local       []indexDefinition `json:"LocalSecondaryIndexes"`
		Stream      *struct {
			Enabled bool `json:"StreamEnabled"`
		} `json:"StreamSpecification"`
		DeletionProtectionEnabled bool
	}
	describeTableInput struct {
		Table *string `json:"TableName"`
	}
	deleteTableInput struct {
		Table *string `json:"TableName"`
	}
	listTablesInput struct {
		Start *string `json:"ExclusiveStartTableName"`
		Limit *int
	}
)

type (
	tableDescription struct {
		AttributeDefinitions      []attributeDefinition
		BillingModeSummary        *billingModeSummary `json:",omitempty"`
		CreationDateTime          epochSeconds
		DeletionProtectionEnabled bool
		GlobalSecondaryIndexes    []indexDescription `json:",omitempty"`
		ItemCount                 int
		KeySchema                 []keySchemaElement
		ProvisionedThroughput     throughputDescription
		TableArn                  string
		TableID                   string `json:"TableId"`
		TableName                 string
		TableSizeBytes            int
		TableStatus               string
	}
	billingModeSummary struct {
		BillingMode string
	}
	throughputDescription struct {
		throughput
		NumberOfDecreasesToday int
	}
	indexDescription struct {
		IndexArn              string
		IndexName             string
		IndexSizeBytes        int
		IndexStatus           string
		ItemCount             int
		KeySchema             []keySchemaElement
		Projection            indexProjection
		ProvisionedThroughput throughputDescription
	}
)

// epochSeconds is a time as the protocol spells it: seconds since 1970 with a fraction.
type epochSeconds time.Time

// MarshalJSON implements [json.Marshaler].
func (s epochSeconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(time.Time(s).UnixMilli())/1000), nil
}

const arnPrefix = "arn:aws:dynamodb:" + Region + ":000000000000:table/"

func (in *createTableInput) subjects() []string   { return nonNil(in.Table) }
func (in *describeTableInput) subjects() []string { return nonNil(in.Table) }
func (in *deleteTableInput) subjects() []string   { return nonNil(in.Table) }
func (in *listTablesInput) subjects() []string    { return nil }

func (in *createTableInput) apply(c *call) (any, error) {
	if in.Table == nil {
		return nil, errNoTableName
	}
	var faults constraints
	checkTableName(&faults, in.Table, "")
	faults.addIf(in.Attributes == nil, "null", "attributeDefinitions", "Member must not be null")
	for i, a := range in.Attributes {
		checkEnum(&faults, string(a.Kind), fmt.Sprintf("attributeDefinitions.%d.member.attributeType", i+1), "B", "N", "S")
	}
	faults.addIf(in.Keys == nil, "null", "keySchema", "Member must not be null")
	faults.addIf(len(in.Keys) > 2, quoted(names(in.Keys, keySchemaElement.String)), "keySchema", "Member must have length less than or equal to 2")
	for i, k := range in.Keys {
		checkEnum(&faults, k.Role, fmt.Sprintf("keySchema.%d.member.keyType", i+1), "HASH", "RANGE")
	}
	checkEnum(&faults, in.BillingMode, "billingMode", "PROVISIONED", "PAY_PER_REQUEST")
	if err := firstError(faults.err, in.refuseUnserved); err != nil {
		return nil, err
	}
	t, err := in.table()
	if err != nil {
		return nil, err
	}
	if _, exists := c.tables[t.name]; exists {
		return nil, failure("ResourceInUseException", "Table already exists: %s", t.name)
	}
	t.created = c.at
	c.tables[t.name] = t
	return map[string]tableDescription{"TableDescription": t.describe("ACTIVE")}, nil
}

// refuseUnserved refuses what a table would promise and this database would not keep.
func (in *createTableInput) refuseUnserved() error {
	switch {
	case len(in.Local) > 0:
		return invalidParameter("dynamotest does not serve local secondary indexes")
	case in.Stream != nil && in.Stream.Enabled:
		return invalidParameter("dynamotest does not serve streams")
	case in.DeletionProtectionEnabled:
		return invalidParameter("dynamotest does not serve deletion protection")
	}
	return nil
}

// table is the empty table the request describes.
func (in *createTableInput) table() (*table, error) {
	t := &table{name: *in.Table, id: newID(), attributes: in.Attributes, billingMode: in.BillingMode}
	if t.billingMode == "" {
		t.billingMode = "PROVISIONED"
	}
	var err error
	if t.keys, err = in.keySchema(in.Keys); err != nil {
		return nil, err
	}
	t.items = newCollection(t.keys, nil)
	if t.throughput, err = in.throughput(in.Throughput); err != nil {
		return nil, err
	}
	used := slices.Clone(t.keys)
	for _, definition := range in.Global {
		x, err := in.index(t, definition)
		if err != nil {
			return nil, err
		}
		t.indexes = append(t.indexes, x)
		used = append(used, x.keys...)
	}
	for _, a := range in.Attributes {
		if !used.has(a.Name) {
			return nil, invalidParameter("Some AttributeDefinitions are not used. AttributeDefinitions: %s, keys used: %s",
				names(in.Attributes, func(a attributeDefinition) string { return a.Name }),
				names(used, func(a keyAttribute) string { return a.name }))
		}
	}
	return t, nil
}

func names[E any](elements []E, name func(E) string) string {
	texts := make([]string, len(elements))
	for i, e := range elements {
		texts[i] = name(e)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// String is the element as DynamoDB shows it in error messages.
func (e keySchemaElement) String() string {
	return fmt.Sprintf("KeySchemaElement(attributeName=%s, keyType=%s)", e.Name, e.Role)
}

func (in *createTableInput) keySchema(elements []keySchemaElement) (keySchema, error) {
	switch {
	case len(elements) == 0 || elements[0].Role != "HASH":
		return nil, invalid("Invalid KeySchema: The first KeySchemaElement is not a HASH key type")
	case len(elements) > 2:
		return nil, invalid("Invalid KeySchema: more than two KeySchemaElements")
	case len(elements) == 2 && elements[1].Role != "RANGE":
		return nil, invalid("Invalid KeySchema: The second KeySchemaElement is not a RANGE key type")
	case len(elements) == 2 && elements[0].Name == elements[1].Name:
		return nil, invalid("Invalid KeySchema: Some index key attribute have no definition")
	}
	var keys keySchema
	for _, e := range elements {
		at := slices.IndexFunc(in.Attributes, func(a attributeDefinition) bool { return a.Name == e.Name })
		if at < 0 {
			return nil, invalidParameter("Some index key attributes are not defined in AttributeDefinitions. Keys: %s, AttributeDefinitions: %s",
				names(elements, func(e keySchemaElement) string { return e.Name }),
				names(in.Attributes, func(a attributeDefinition) string { return a.Name }))
		}
		keys = append(keys, keyAttribute{e.Name, in.Attributes[at].Kind})
	}
	return keys, nil
}

func (in *createTableInput) throughput(given *throughput) (throughput, error) {
	onDemand := in.BillingMode == "PAY_PER_REQUEST"
	switch {
	case onDemand && given != nil && *given != (throughput{}):
		return throughput{}, invalidParameter("Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST")
	case onDemand:
		return throughput{}, nil
	case given == nil:
		return throughput{}, invalidParameter("ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED")
	case given.Read < 1 || given.Write < 1:
		return throughput{}, invalid("1 validation error detected: Value at 'provisionedThroughput' failed to satisfy constraint: Member must have value greater than or equal to 1")
	}
	return *given, nil
}

func (in *createTableInput) index(t *table, definition indexDefinition) (*index, error) {
	if _, err := t.index(definition.Name); err == nil {
		return nil, invalidParameter("Duplicate index name: %s", definition.Name)
	}
	switch p := definition.Projection; {
	case p.Type == "":
		return nil, invalidParameter("Unknown ProjectionType: null")
	case !slices.Contains([]string{"ALL", "KEYS_ONLY", "INCLUDE"}, p.Type):
		return nil, invalidParameter("Unknown ProjectionType: %s", p.Type)
	case p.Type == "INCLUDE" && len(p.Includes) == 0:
		return nil, invalidParameter("ProjectionType is INCLUDE, but NonKeyAttributes is not specified")
	case p.Type != "INCLUDE" && len(p.Includes) > 0:
		return nil, invalidParameter("ProjectionType is %s, but NonKeyAttributes is specified", p.Type)
	}
	keys, err := in.keySchema(definition.Keys)
	if err != nil {
		return nil, err
	}
	capacity, err := in.throughput(definition.Throughput)
	if err != nil {
		return nil, err
	}
	return &index{collection: newCollection(keys, t.keys), name: definition.Name, projection: definition.Projection, throughput: capacity}, nil
}

// newID is a random identifier in the usual 8-4-4-4-12 form.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (k keySchema) elements() []keySchemaElement {
	elements := make([]keySchemaElement, len(k))
	for i, role := range []string{"HASH", "RANGE"}[:len(k)] {
		elements[i] = keySchemaElement{k[i].name, role}
	}
	return elements
}

func (t *table) describe(status string) tableDescription {
	d := tableDescription{
		AttributeDefinitions:  t.attributes,
		CreationDateTime:      epochSeconds(t.created),
		ItemCount:             t.items.rows.Len(),
		KeySchema:             t.keys.elements(),
		ProvisionedThroughput: throughputDescription{throughput: t.throughput},
		TableArn:              arnPrefix + t.name,
		TableID:               t.id,
		TableName:             t.name,
		TableSizeBytes:        t.items.bytes,
		TableStatus:           status,
	}
	if t.billingMode == "PAY_PER_REQUEST" {
		d.BillingModeSummary = &billingModeSummary{t.billingMode}
	}
	for _, x := range t.indexes {
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, indexDescription{
			IndexArn:              d.TableArn + "/index/" + x.name,
			IndexName:             x.name,
			IndexSizeBytes:        x.bytes,
			IndexStatus:           status,
			ItemCount:             x.rows.Len(),
			KeySchema:             x.keys.elements(),
			Projection:            x.projection,
			ProvisionedThroughput: throughputDescription{throughput: x.throughput},
		})
	}
	return d
}

var errNoTableName = invalid("The parameter 'TableName' is required but was not present in the request")

// described finds the table for a request about the table itself, which names the table in its complaint.
func (c *call) described(name *string) (*table, error) {
	if name == nil {
		return nil, errNoTableName
	}
	if len(*name) < 3 || len(*name) > 255 {
		return nil, invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}
	var faults constraints
	checkTableName(&faults, name, "")
	if err := faults.err(); err != nil {
		return nil, err
	}
	t, ok := c.tables[*name]
	if !ok {
		return nil, &apiError{
			status:  http.StatusBadRequest,
			typ:     dynamoDBErrors + "ResourceNotFoundException",
			message: "Requested resource not found: Table: " + *name + " not found",
		}
	}
	return t, nil
}

func (in *describeTableInput) apply(c *call) (any, error) {
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	return map[string]tableDescription{"Table": t.describe("ACTIVE")}, nil
}

func (in *deleteTableInput) apply(c *call) (any, error) {
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	delete(c.tables, t.name)
	return map[string]tableDescription{"TableDescription": t.describe("DELETING")}, nil
}

type listTablesOutput struct {
	TableNames             []string
	LastEvaluatedTableName string `json:",omitempty"`
}

const maxListedTables = 100

func (in *listTablesInput) apply(c *call) (any, error) {
	limit := maxListedTables
	if in.Limit != nil {
		limit = *in.Limit
	}
	var faults constraints
	faults.addIf(limit < 1, quoted(fmt.Sprint(limit)), "limit", "Member must have value greater than or equal to 1")
	faults.addIf(limit > maxListedTables, quoted(fmt.Sprint(limit)), "limit", "Member must have value less than or equal to 100")
	if err := faults.err(); err != nil {
		return nil, err
	}
	listed := listTablesOutput{TableNames: []string{}}
	for _, name := range slices.Sorted(maps.Keys(c.tables)) {
		if in.Start != nil && name <= *in.Start {
			continue
		}
		if len(listed.TableNames) == limit {
			listed.LastEvaluatedTableName = listed.TableNames[limit-1]
			break
		}
		listed.TableNames = append(listed.TableNames, name)
	}
	return listed, nil
}
