// Package streamimage decodes the items in the records of a DynamoDB stream, as Lambda
// delivers them, by the rules of the AWS SDK's attributevalue: a struct's tags are the
// same for items that are read from the table and for those that come through its
// stream.
//
//	handler, err := eventguard.Changes(guard, eventguard.Config{}, streamimage.Unmarshal,
//		func(ctx context.Context, change eventguard.Change[order]) error { ... })
//
// It is a package of its own because it needs the SDK, which eventguard does without.
package streamimage

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Unmarshal decodes the attributes of an item into what out points to. The error is that
// of attributevalue, or an [*AttributeError].
func Unmarshal(image map[string]events.DynamoDBAttributeValue, out any) error {
	item, err := Item(image)
	if err != nil {
		return err
	}
	return attributevalue.UnmarshalMap(item, out)
}

// Item returns the attributes of an item as the AWS SDK has them, for the SDK's own
// functions: to write the item to another table, or to decode it with options. The error
// is an [*AttributeError].
func Item(image map[string]events.DynamoDBAttributeValue) (map[string]types.AttributeValue, error) {
	item := make(map[string]types.AttributeValue, len(image))
	for name, value := range image {
		converted, err := convert(value)
		if err != nil {
			return nil, &AttributeError{Name: name, Err: err}
		}
		item[name] = converted
	}
	return item, nil
}

// AttributeError says that an attribute has none of DynamoDB's types.
type AttributeError struct {
	Name string // of the attribute, at the top of the item
	Err  error  // what is wrong with it
}

func (e *AttributeError) Error() string {
	return fmt.Sprintf("streamimage: attribute %q: %v", e.Name, e.Err)
}

// Unwrap returns the cause.
func (e *AttributeError) Unwrap() error { return e.Err }

func convert(value events.DynamoDBAttributeValue) (types.AttributeValue, error) {
	if reflect.ValueOf(value).IsZero() { // which says that it is binary
		return nil, errors.New("it has no value")
	}
	switch kind := value.DataType(); kind {
	case events.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: value.Binary()}, nil
	case events.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: value.Boolean()}, nil
	case events.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: value.BinarySet()}, nil
	case events.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: value.Number()}, nil
	case events.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: value.NumberSet()}, nil
	case events.DataTypeNull:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case events.DataTypeString:
		return &types.AttributeValueMemberS{Value: value.String()}, nil
	case events.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: value.StringSet()}, nil
	case events.DataTypeMap:
		members, err := Item(value.Map())
		return &types.AttributeValueMemberM{Value: members}, err
	case events.DataTypeList:
		list := make([]types.AttributeValue, len(value.List()))
		for i, element := range value.List() {
			converted, err := convert(element)
			if err != nil {
				return nil, err
			}
			list[i] = converted
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	default:
		return nil, fmt.Errorf("it has the unknown type %d", kind)
	}
}
