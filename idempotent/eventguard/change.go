package eventguard

import (
	"context"
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Change is a change of a table's item, with its images decoded.
type Change[T any] struct {
	// Kind says what has happened to the item.
	Kind ChangeKind
	// Keys has the attributes of the item's key, and no others.
	Keys T
	// Old and New are the item before and after. They are nil where there was none, or
	// is none any more, and where the stream's view type leaves them out.
	Old, New *T
	// Record is the change as Lambda delivers it.
	Record events.DynamoDBEventRecord
}

// ChangeKind says what has happened to an item.
type ChangeKind int

const (
	// Inserted says that there is a new item.
	Inserted ChangeKind = iota + 1
	// Modified says that an item has changed.
	Modified
	// Removed says that somebody has deleted an item.
	Removed
	// Expired says that DynamoDB has deleted an item whose time to live was over. In the
	// replicas of a global table such a deletion arrives as Removed.
	Expired
)

// String returns the kind in lower case.
func (k ChangeKind) String() string {
	switch k {
	case Inserted:
		return "inserted"
	case Modified:
		return "modified"
	case Removed:
		return "removed"
	case Expired:
		return "expired"
	default:
		return fmt.Sprintf("ChangeKind(%d)", int(k))
	}
}

// ChangeKindOf tells what a record of a table's stream says has happened; zero if it
// says nothing known.
func ChangeKindOf(record events.DynamoDBEventRecord) ChangeKind {
	switch events.DynamoDBOperationType(record.EventName) {
	case events.DynamoDBOperationTypeInsert:
		return Inserted
	case events.DynamoDBOperationTypeModify:
		return Modified
	case events.DynamoDBOperationTypeRemove:
		by := record.UserIdentity
		if by != nil && by.Type == "Service" && by.PrincipalID == "dynamodb.amazonaws.com" {
			return Expired
		}
		return Removed
	}
	return 0
}

// Unmarshal decodes the attributes of an item into what out points to, such as
// streamimage.Unmarshal, by the tags that the AWS SDK goes by.
type Unmarshal func(image map[string]events.DynamoDBAttributeValue, out any) error

// Changes is [DynamoDB] for a function that takes the items decoded into T. A record that
// says of no known kind of change, or whose images do not fit T, fails with *PayloadError; so does an item with two
// attributes for one field of T, in different case. Other attributes and keys of maps may
// differ in case only.
// The guard's Key sees the record as Lambda delivers it, as it does there.
func Changes[T any](guard *idempotent.Guard, config Config, unmarshal Unmarshal, fn func(context.Context, Change[T]) error) (func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error), error) {
	return ofTable(guard, config, fn == nil || unmarshal == nil, func(ctx context.Context, _ []byte, record events.DynamoDBEventRecord) error {
		change, err := changeOf[T](record, unmarshal)
		if err != nil {
			return err
		}
		return fn(ctx, change)
	})
}

func changeOf[T any](record events.DynamoDBEventRecord, unmarshal Unmarshal) (Change[T], error) {
	change := Change[T]{Kind: ChangeKindOf(record), Record: record}
	if change.Kind == 0 {
		return change, &PayloadError{Problem: "the record says of no known kind of change"}
	}
	decode := func(what string, image map[string]events.DynamoDBAttributeValue, out *T) error {
		if ambiguousItem(image, targetOf(reflect.TypeFor[T]())) { // attributevalue matches names in any case, too
			return errAmbiguous
		}
		if err := unmarshal(image, out); err != nil {
			return misfit(fmt.Sprintf("the %s does not fit %v", what, reflect.TypeFor[T]()), err)
		}
		return nil
	}
	if err := decode("key", record.Change.Keys, &change.Keys); err != nil {
		return change, err
	}
	if image := record.Change.OldImage; image != nil {
		change.Old = new(T)
		if err := decode("old image", image, change.Old); err != nil {
			return change, err
		}
	}
	if image := record.Change.NewImage; image != nil {
		change.New = new(T)
		if err := decode("new image", image, change.New); err != nil {
			return change, err
		}
	}
	return change, nil
}
