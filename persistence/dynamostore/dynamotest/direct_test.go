package dynamotest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// The suite with the calls on one item taken off the wire, but for what Direct leaves out.
func TestTheEmbeddedDatabaseBehavesWithoutAWire(t *testing.T) {
	db := New(t)
	client := db.Client(func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Direct", db.Direct().handle), middleware.After)
		})
	})
	served := slices.DeleteFunc(slices.Clone(behaviours), func(b behaviour) bool {
		return strings.HasPrefix(b.name, "capacity of ") || b.name == "legacy parameters are refused beside expressions"
	})
	runSuite(t, client, served)
}

func (d Direct) handle(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
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
		if in.ReturnConsumedCapacity != "" {
			return next.HandleInitialize(ctx, middleware.InitializeInput{Parameters: in})
		}
		out.Result, err = d.TransactWriteItems(ctx, in)
	default:
		return next.HandleInitialize(ctx, middleware.InitializeInput{Parameters: in})
	}
	return out, metadata, err
}
