package dynamostore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// capacity asks DynamoDB what a request is charged, where somebody counts. The answer is a
// few bytes longer for it, and costs nothing.
func capacity(ctx context.Context) types.ReturnConsumedCapacity {
	if storekit.UnitsAsked(ctx) {
		return types.ReturnConsumedCapacityTotal
	}
	return ""
}

// charge passes on what DynamoDB says that it has charged.
func charge(ctx context.Context, consumed *types.ConsumedCapacity) {
	if consumed != nil {
		storekit.Consumed(ctx, aws.ToFloat64(consumed.CapacityUnits))
	}
}
