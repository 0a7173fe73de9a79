package rows

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

type item = map[string]types.AttributeValue

// Update changes one row. It holds the update expression in parts, so that
// [Update.IfVersion] and [Update.OncePer] can add theirs without reading it.
type Update struct {
	// Table is the table's name or ARN. Required.
	Table string
	// Key of the row. Required. A row that is not there is made.
	Key map[string]types.AttributeValue

	// Set, Remove, Add and Delete are the clauses of the sections of the update
	// expression, each as DynamoDB takes it: "quantity = quantity - :n" is one of
	// Set.
	Set, Remove, Add, Delete []string
	// Condition that the row must meet. Defaults to none.
	Condition string
	// Names and Values are those of the placeholders in the clauses and the
	// condition. Placeholders that begin with "#ikkai_" or ":ikkai_" are taken.
	Names  map[string]string
	Values map[string]types.AttributeValue

	// OnRefused says what it means that Condition does not hold, as
	// [dynamostore.Write.OnRefused] does.
	OnRefused func(there map[string]types.AttributeValue) error

	guards []guard
}

// guard is what a helper adds to an update.
type guard struct {
	set, add    string // a clause of that section
	condition   string
	placeholder string // of the attribute
	attribute   string
	values      item
	holds       func(there item) bool
	refused     func(there item) error // the error where it does not hold
	repeatable  bool                   // it recognises its own effect
	invalid     error                  // why it can never be carried out
}

// with returns the update with one more guard. The guards that recognise their own
// effect come first: where that is there, nothing else about the row means anything.
func (u Update) with(g guard) Update {
	if g.repeatable {
		u.guards = slices.Concat([]guard{g}, u.guards)
	} else {
		u.guards = slices.Concat(u.guards, []guard{g})
	}
	return u
}

// Write returns the update as a write, to be enlisted or applied.
func (u Update) Write() dynamostore.Write {
	sections := []struct {
		word    string
		clauses []string
	}{
		{"SET", slices.Clone(u.Set)}, {"REMOVE", u.Remove}, {"ADD", slices.Clone(u.Add)}, {"DELETE", u.Delete},
	}
	names, values := maps.Clone(u.Names), maps.Clone(u.Values)
	if len(u.guards) > 0 && names == nil {
		names = make(map[string]string)
	}
	if len(u.guards) > 0 && values == nil {
		values = make(item)
	}
	var conditions []string
	if u.Condition != "" {
		conditions = append(conditions, "("+u.Condition+")")
	}
	var invalid error
	repeatable := false
	for _, g := range u.guards {
		if g.set != "" {
			sections[0].clauses = append(sections[0].clauses, g.set)
		}
		if g.add != "" {
			sections[2].clauses = append(sections[2].clauses, g.add)
		}
		conditions = append(conditions, g.condition)
		names[g.placeholder] = g.attribute
		maps.Copy(values, g.values)
		repeatable = repeatable || g.repeatable
		invalid = errors.Join(invalid, g.invalid)
	}
	var expression []string
	for _, s := range sections {
		if len(s.clauses) > 0 {
			expression = append(expression, s.word+" "+strings.Join(s.clauses, ", "))
		}
	}
	return dynamostore.Write{
		Update: &types.Update{
			TableName:                 &u.Table,
			Key:                       u.Key,
			UpdateExpression:          aws.String(strings.Join(expression, " ")),
			ConditionExpression:       optional(strings.Join(conditions, " AND ")),
			ExpressionAttributeNames:  names,
			ExpressionAttributeValues: values,
		},
		OnRefused:  u.refused,
		Repeatable: repeatable,
		Invalid:    invalid,
	}
}

func optional(expression string) *string {
	if expression == "" {
		return nil
	}
	return &expression
}

// refused says which of the conditions does not hold of the row that is there.
func (u Update) refused(there map[string]types.AttributeValue) error {
	for _, g := range u.guards {
		if !g.holds(there) {
			return g.refused(there)
		}
	}
	if u.Condition == "" && len(u.guards) > 0 {
		return u.guards[0].refused(there) // the endpoint does not tell what is there
	}
	if u.OnRefused == nil {
		return nil
	}
	return u.OnRefused(there)
}
