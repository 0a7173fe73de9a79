package rows

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Unique is a value that only one holder can have at a time. DynamoDB knows of no
// unique attributes but keys, so the value is the key of a row of its own: of
// "email#a@example.com", say, held by the user's ID.
//
// Taking and releasing may be repeated by the same holder; both then change nothing.
type Unique struct {
	// Table is the table's name or ARN. Required.
	Table string
	// Key of the row that stands for the value. Required.
	Key map[string]types.AttributeValue
	// Holder is who has the value, or wants it. Required: without one the writes are
	// refused before anything is sent.
	Holder string
	// HolderAttribute is where the row says so. Defaults to "holder".
	HolderAttribute string
}

// ErrNotUnique matches every [*NotUniqueError].
var ErrNotUnique = errors.New("rows: the value has another holder")

// NotUniqueError says that somebody else has the value.
type NotUniqueError struct {
	// Table of the value's row.
	Table string
	// Holder who has it; empty if that is not known.
	Holder string
	// Item is the value's row; nil if the endpoint does not tell.
	Item map[string]types.AttributeValue
}

func (e *NotUniqueError) Error() string {
	return fmt.Sprintf("rows: the value in %s is held by %q", e.Table, e.Holder)
}

// Is matches [ErrNotUnique].
func (e *NotUniqueError) Is(target error) bool { return target == ErrNotUnique }

// Take gives the value to its holder; a [*NotUniqueError] if somebody else has it.
func (u Unique) Take() dynamostore.Write {
	return dynamostore.Write{
		Update: &types.Update{
			TableName:                 aws.String(u.Table),
			Key:                       u.Key,
			UpdateExpression:          aws.String("SET #ikkai_holder = :ikkai_holder"),
			ConditionExpression:       free,
			ExpressionAttributeNames:  u.names(),
			ExpressionAttributeValues: item{":ikkai_holder": u.holder()},
		},
		OnRefused:  u.refused,
		Repeatable: true,
		Invalid:    u.invalid(),
	}
}

// Release gives the value up; a [*NotUniqueError] if somebody else has it. Nobody
// having it is fine.
func (u Unique) Release() dynamostore.Write {
	return dynamostore.Write{
		Delete: &types.Delete{
			TableName:                 aws.String(u.Table),
			Key:                       u.Key,
			ConditionExpression:       free,
			ExpressionAttributeNames:  u.names(),
			ExpressionAttributeValues: item{":ikkai_holder": u.holder()},
		},
		OnRefused:  u.refused,
		Repeatable: true,
		Invalid:    u.invalid(),
	}
}

// ChangeTo gives the value up and takes another one, in one transaction. Of a value
// that stays the same it only makes sure.
func (u Unique) ChangeTo(key map[string]types.AttributeValue) []dynamostore.Write {
	next := u
	next.Key = key
	if reflect.DeepEqual(u.Key, key) {
		return []dynamostore.Write{next.Take()}
	}
	return []dynamostore.Write{u.Release(), next.Take()}
}

// free is true of a value that nobody else has.
var free = aws.String("attribute_not_exists(#ikkai_key) OR #ikkai_holder = :ikkai_holder")

func (u Unique) names() map[string]string {
	names := map[string]string{"#ikkai_holder": u.attribute()}
	for _, name := range slices.Sorted(maps.Keys(u.Key)) {
		names["#ikkai_key"] = name // any attribute of the key will do
	}
	return names
}

func (u Unique) attribute() string {
	if u.HolderAttribute == "" {
		return "holder"
	}
	return u.HolderAttribute
}

// invalid is what is wrong with the value: all that have no holder would have the same.
func (u Unique) invalid() error {
	if u.Holder == "" {
		return errors.New("rows: the value has no holder")
	}
	return nil
}

func (u Unique) holder() types.AttributeValue { return &types.AttributeValueMemberS{Value: u.Holder} }

func (u Unique) refused(there map[string]types.AttributeValue) error {
	e := &NotUniqueError{Table: u.Table, Item: there}
	if holder, ok := there[u.attribute()].(*types.AttributeValueMemberS); ok {
		e.Holder = holder.Value
	}
	return e
}
