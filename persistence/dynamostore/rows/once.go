package rows

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// ErrProcessed matches every [*ProcessedError].
var ErrProcessed = errors.New("rows: the row was updated for this processing ID before")

// ProcessedError says that a row has taken the update of a processing ID before. A
// caller whose own try was applied and whose reply was lost gets it too, so in most
// places it means success.
type ProcessedError struct {
	// Table of the row.
	Table string
	// ID is the processing ID.
	ID string
	// Item that is there; nil if the endpoint does not tell.
	Item map[string]types.AttributeValue
}

func (e *ProcessedError) Error() string {
	return fmt.Sprintf("rows: the row of %s was updated for %s before", e.Table, e.ID)
}

// Is matches [ErrProcessed].
func (e *ProcessedError) Is(target error) bool { return target == ErrProcessed }

// OncePer lets the row take the update once for each processing ID, such as the key
// of the guarded call or the token of its step. The IDs are kept in a string set in
// that attribute of the row. An ID that is there is a [*ProcessedError]. If the row has
// something else in that attribute, DynamoDB refuses the update for its type. The ID
// must not be empty.
//
// The set is not bounded: each ID makes the row larger by its own length, and each
// KB more makes every write of the row dearer by a unit. For rows that are updated
// more than some dozens of times, let a row of its own stand for each ID instead
// ([Unique]), in one transaction with the update.
func (u Update) OncePer(attribute, id string) Update {
	g := guard{
		add: "#ikkai_processed :ikkai_ids",
		// Contains is also true of a text that has the ID in it. The condition lets such a
		// one through, to what ADD says of it: a condition that fails means processed, also
		// where the endpoint does not tell what is there.
		condition:   "NOT (attribute_type(#ikkai_processed, :ikkai_set) AND contains(#ikkai_processed, :ikkai_id))",
		placeholder: "#ikkai_processed",
		attribute:   attribute,
		values: item{
			":ikkai_id":  &types.AttributeValueMemberS{Value: id},
			":ikkai_ids": &types.AttributeValueMemberSS{Value: []string{id}},
			":ikkai_set": &types.AttributeValueMemberS{Value: "SS"},
		},
		holds: func(there item) bool {
			processed, ok := there[attribute].(*types.AttributeValueMemberSS)
			return !ok || !slices.Contains(processed.Value, id)
		},
		refused:    func(there item) error { return &ProcessedError{Table: u.Table, ID: id, Item: there} },
		repeatable: true,
	}
	if id == "" {
		g.invalid = errors.New("rows: the processing ID is empty")
	}
	return u.with(g)
}

// InsertOnce makes a row unless it is there: an upsert that does nothing to a row that
// has all of the attributes, and cancels no transaction. Attributes that the row is
// without are added to it, also where it was there before; it is therefore not for
// rows that lose attributes in the course of their lives. There must be at least one
// attribute besides the key.
func InsertOnce(table string, key, attributes map[string]types.AttributeValue) dynamostore.Write {
	var clauses []string
	names := make(map[string]string, len(attributes))
	values := make(item, len(attributes))
	for i, name := range slices.Sorted(maps.Keys(attributes)) {
		n := strconv.Itoa(i)
		names["#"+n], values[":"+n] = name, attributes[name]
		clauses = append(clauses, "#"+n+" = if_not_exists(#"+n+", :"+n+")")
	}
	expression := ""
	if len(clauses) > 0 {
		expression = "SET " + strings.Join(clauses, ", ")
	}
	return dynamostore.Write{
		Update: &types.Update{
			TableName:                 aws.String(table),
			Key:                       key,
			UpdateExpression:          optional(expression),
			ExpressionAttributeNames:  names,
			ExpressionAttributeValues: values,
		},
		Repeatable: true,
	}
}
