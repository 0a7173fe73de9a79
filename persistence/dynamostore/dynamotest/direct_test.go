package dynamotest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

// The suite with the calls on one item taken off the wire, but for those with what Direct leaves out.
func TestTheEmbeddedDatabaseBehavesWithoutAWire(t *testing.T) {
	db := New(t)
	client := db.Client(func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Direct", db.Direct().handle), middleware.After)
		})
	})
	runSuite(t, client, behaviours)
}

// beyondDirect reports whether a request has what Direct refuses or does not answer.
func beyondDirect(in any) bool {
	for _, member := range []string{
		"Expected", "ConditionalOperator", "AttributeUpdates", "AttributesToGet", "ReturnConsumedCapacity", "ReturnItemCollectionMetrics",
	} {
		if v := reflect.ValueOf(in).Elem().FieldByName(member); v.IsValid() && !v.IsZero() {
			return true
		}
	}
	return false
}

func TestLegacyParametersAreRefusedWithoutAWire(t *testing.T) {
	d, ctx := New(t).Direct(), t.Context()
	expected, name := map[string]types.ExpectedAttributeValue{"v": {Exists: aws.Bool(false)}}, aws.String("tab")
	_, put := d.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: attrs{"id": S("a")}, Expected: expected})
	_, update := d.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: name, Key: attrs{"id": S("a")}, AttributeUpdates: map[string]types.AttributeValueUpdate{"v": {Value: S("x")}}})
	_, remove := d.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: attrs{"id": S("a")}, Expected: expected})
	_, get := d.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: attrs{"id": S("a")}, AttributesToGet: []string{"v"}})
	for call, err := range map[string]error{"put": put, "update": update, "delete": remove, "get": get} {
		if failed, ok := errors.AsType[smithy.APIError](err); !ok || failed.ErrorCode() != invalidRequest {
			t.Errorf("%s: got %v", call, err)
		}
	}
}

// The suite's calls, taken off the wire.
func (d Direct) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	if beyondDirect(in.Parameters) {
		return next.HandleInitialize(ctx, in)
	}
	switch in := in.Parameters.(type) {
	case *dynamodb.PutItemInput:
		out.Result, err = d.PutItem(ctx, in)
	case *dynamodb.UpdateItemInput:
		out.Result, err = d.UpdateItem(ctx, in)
	case *dynamodb.DeleteItemInput:
		out.Result, err = d.DeleteItem(ctx, in)
	case *dynamodb.GetItemInput:
		out.Result, err = d.GetItem(ctx, in)
	case *dynamodb.TransactWriteItemsInput:
		out.Result, err = d.TransactWriteItems(ctx, in)
	default:
		return next.HandleInitialize(ctx, middleware.InitializeInput{Parameters: in})
	}
	return out, metadata, err
}
