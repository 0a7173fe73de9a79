package dynamotest

import (
	"fmt"
	"net/http"
	"time"
)

type (
	describeTableInput struct {
		Table *string `json:"TableName"`
	}
	tableDescription struct {
		AttributeDefinitions      []attributeDefinition
		BillingModeSummary        *billingModeSummary `json:",omitempty"`
		CreationDateTime          epochSeconds
		DeletionProtectionEnabled bool
		GlobalSecondaryIndexes    []indexDescription `json:",omitempty"`
		ItemCount                 int
		KeySchema                 []keySchemaElement
		LatestStreamArn           string                  `json:",omitempty"`
		LatestStreamLabel         string                  `json:",omitempty"`
		LocalSecondaryIndexes     []localIndexDescription `json:",omitempty"`
		ProvisionedThroughput     throughputDescription
		SSEDescription            *encryptionDescription `json:",omitempty"`
		StreamSpecification       *streamSpecification   `json:",omitempty"`
		TableArn                  string
		TableClassSummary         *tableClassSummary `json:",omitempty"`
		TableID                   string             `json:"TableId"`
		TableName                 string
		TableSizeBytes            int
		TableStatus               string
	}
	billingModeSummary struct {
		BillingMode string
	}
	tableClassSummary struct {
		TableClass string
	}
	throughputDescription struct {
		throughput
		NumberOfDecreasesToday int
	}
	localIndexDescription struct {
		IndexArn       string
		IndexName      string
		IndexSizeBytes int
		ItemCount      int
		KeySchema      []keySchemaElement
		Projection     indexProjection
	}
	indexDescription struct {
		localIndexDescription
		IndexStatus           string
		ProvisionedThroughput throughputDescription
	}
)

// epochSeconds is a time as the protocol spells it: seconds since 1970 with a fraction.
type epochSeconds time.Time

// MarshalJSON implements [json.Marshaler].
func (s epochSeconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", float64(time.Time(s).UnixMilli())/1000), nil
}

func (in *describeTableInput) subjects() []string { return nonNil(in.Table) }

func (in *describeTableInput) apply(c *call) (any, error) {
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	return map[string]tableDescription{"Table": t.describe("ACTIVE")}, nil
}

var errNoTableName = invalid("The parameter 'TableName' is required but was not present in the request")

// described finds the table for a request about the table itself, which names the table in its complaint.
func (c *call) described(name *string) (*table, error) {
	if name == nil {
		return nil, errNoTableName
	}
	var faults constraints
	checkTableName(&faults, name, "")
	if len(*name) < minTableNameSize || len(plainTableName(*name)) > maxNameSize {
		return nil, invalid("TableName must be at least 3 characters long and at most 255 characters long")
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	t, ok := c.lookUp(*name)
	if !ok {
		return nil, &apiError{
			status:  http.StatusBadRequest,
			typ:     dynamoDBErrors + "ResourceNotFoundException",
			message: "Requested resource not found: Table: " + plainTableName(*name) + " not found",
		}
	}
	return t, nil
}

// describe is the table as DescribeTable shows it, and as the reply to a change of it does.
func (t *table) describe(status string) tableDescription {
	d := tableDescription{
		AttributeDefinitions:      t.attributes,
		CreationDateTime:          epochSeconds(t.created),
		DeletionProtectionEnabled: t.protected,
		ItemCount:                 t.items.rows.Len(),
		KeySchema:                 t.keys.elements(),
		ProvisionedThroughput:     throughputDescription{throughput: t.throughput},
		SSEDescription:            t.encrypted.describe(),
		StreamSpecification:       t.stream.specification(),
		TableArn:                  t.arn(),
		TableID:                   t.id,
		TableName:                 t.name,
		TableSizeBytes:            t.items.bytes,
		TableStatus:               status,
	}
	if t.billingMode == billingOnDemand {
		d.BillingModeSummary = &billingModeSummary{t.billingMode}
	}
	if t.stream != nil {
		d.LatestStreamArn, d.LatestStreamLabel = t.stream.arn, t.stream.label
	}
	if t.class != "" {
		d.TableClassSummary = &tableClassSummary{t.class}
	}
	for _, x := range t.indexes {
		shared := x.describe(t)
		if x.local {
			d.LocalSecondaryIndexes = append(d.LocalSecondaryIndexes, shared)
			continue
		}
		d.GlobalSecondaryIndexes = append(d.GlobalSecondaryIndexes, indexDescription{
			localIndexDescription: shared,
			IndexStatus:           status,
			ProvisionedThroughput: throughputDescription{throughput: x.throughput},
		})
	}
	return d
}

// describe is the part of the description that all indexes have.
func (x *index) describe(t *table) localIndexDescription {
	return localIndexDescription{
		IndexArn:       t.arn() + "/index/" + x.name,
		IndexName:      x.name,
		IndexSizeBytes: x.bytes,
		ItemCount:      x.rows.Len(),
		KeySchema:      x.keys.elements(),
		Projection:     x.projection,
	}
}

func (k keySchema) elements() []keySchemaElement {
	elements := make([]keySchemaElement, len(k))
	for i, a := range k {
		elements[i] = keySchemaElement{a.name, roleHash}
		if a.sort {
			elements[i].Role = roleRange
		}
	}
	return elements
}
