package dynamotest

import (
	"fmt"
	"maps"
	"slices"
)

type (
	deleteTableInput struct {
		Table *string `json:"TableName"`
	}
	listTablesInput struct {
		Start *string `json:"ExclusiveStartTableName"`
		Limit *int
	}
	listTablesOutput struct {
		TableNames             []string
		LastEvaluatedTableName string `json:",omitempty"`
	}
)

const maxListedTables = 100

func (in *deleteTableInput) subjects() []string { return nonNil(in.Table) }
func (in *listTablesInput) subjects() []string  { return nil }

func (in *deleteTableInput) apply(c *call) (any, error) {
	t, err := c.described(in.Table)
	if err != nil {
		return nil, err
	}
	if t.protected {
		return nil, invalid("Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.")
	}
	c.closeStream(t)
	delete(c.tables, t.name)
	return map[string]tableDescription{"TableDescription": t.describe("DELETING")}, nil
}

func (in *listTablesInput) apply(c *call) (any, error) {
	limit := maxListedTables
	if in.Limit != nil {
		limit = *in.Limit
	}
	var faults constraints
	if in.Start != nil {
		checkTableNameAs(&faults, *in.Start, "exclusiveStartTableName")
	}
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
