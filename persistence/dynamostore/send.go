package dynamostore

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// wire is the way to DynamoDB.
type wire struct {
	api     API
	limited []func(*dynamodb.Options) // the request timeout, and whose pauses
}

func newWire(api API, timeout time.Duration) wire {
	return wire{api, []func(*dynamodb.Options){limitRequests(timeout), ownPauses()}}
}

// alone sends a write by itself, with a patience, and returns the item that was asked for.
func (w wire) alone(ctx context.Context, write Write, returned types.ReturnValue, repeat patience) (item, error) {
	switch {
	case write.Put != nil:
		return repeat(w.putting(write.Put), ctx)
	case write.Update != nil:
		return repeat(w.updating(write.Update, returned), ctx)
	default:
		return repeat(w.deleting(write.Delete), ctx)
	}
}

func (w wire) putting(put *types.Put) request {
	input := &dynamodb.PutItemInput{
		TableName:                           put.TableName,
		Item:                                put.Item,
		ConditionExpression:                 put.ConditionExpression,
		ExpressionAttributeNames:            put.ExpressionAttributeNames,
		ExpressionAttributeValues:           put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	}
	return func(ctx context.Context) (item, error) {
		input.ReturnConsumedCapacity = capacity(ctx)
		output, err := w.api.PutItem(ctx, input, w.limited...)
		if err == nil && output != nil {
			charge(ctx, output.ConsumedCapacity)
		}
		return nil, err
	}
}

func (w wire) updating(update *types.Update, returned types.ReturnValue) request {
	input := &dynamodb.UpdateItemInput{
		TableName:                           update.TableName,
		Key:                                 update.Key,
		UpdateExpression:                    update.UpdateExpression,
		ConditionExpression:                 update.ConditionExpression,
		ExpressionAttributeNames:            update.ExpressionAttributeNames,
		ExpressionAttributeValues:           update.ExpressionAttributeValues,
		ReturnValues:                        returned,
		ReturnValuesOnConditionCheckFailure: update.ReturnValuesOnConditionCheckFailure,
	}
	return func(ctx context.Context) (item, error) {
		input.ReturnConsumedCapacity = capacity(ctx)
		output, err := w.api.UpdateItem(ctx, input, w.limited...)
		if err != nil {
			return nil, err
		}
		charge(ctx, output.ConsumedCapacity)
		return output.Attributes, nil
	}
}

func (w wire) deleting(remove *types.Delete) request {
	input := &dynamodb.DeleteItemInput{
		TableName:                           remove.TableName,
		Key:                                 remove.Key,
		ConditionExpression:                 remove.ConditionExpression,
		ExpressionAttributeNames:            remove.ExpressionAttributeNames,
		ExpressionAttributeValues:           remove.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: remove.ReturnValuesOnConditionCheckFailure,
	}
	return func(ctx context.Context) (item, error) {
		input.ReturnConsumedCapacity = capacity(ctx)
		output, err := w.api.DeleteItem(ctx, input, w.limited...)
		if err == nil && output != nil {
			charge(ctx, output.ConsumedCapacity)
		}
		return nil, err
	}
}

// tokenKept is for how long a transaction is sent again, less than the ten minutes
// for which DynamoDB remembers a ClientRequestToken (its API reference,
// "TransactWriteItems").
const tokenKept = 9 * time.Minute

// together sends writes as one transaction.
//
// Its token is random, and the same in every try of this call: the SDK's, after a
// reply that was lost, and those of persist. DynamoDB answers a try with success
// if an earlier one was applied, and with TransactionInProgressException, which is
// tried again, while one is under way. A cancelled transaction leaves its token
// free: a try that is stuck in the network may then still be applied while its
// conditions hold, which the owner's next write of the record ends.
//
// Another call has another token, also for the same writes, so there is nothing for
// an IdempotentParameterMismatchException to compare: a completion may be asked again
// without its result, and what was applied before is then told by the record.
//
// After ten minutes a token is forgotten, and a try that comes later (from an
// environment that was frozen in between) would count as new. The record's condition
// refuses that one; transactions without a record have only their own conditions,
// hence the limit.
func (w wire) together(ctx context.Context, writes ...Write) error {
	_, limited := ctx.Deadline()
	ctx, cancel := context.WithTimeout(ctx, tokenKept)
	defer cancel()
	input := &dynamodb.TransactWriteItemsInput{
		ReturnConsumedCapacity: capacity(ctx),
		TransactItems:          make([]types.TransactWriteItem, len(writes)),
		ClientRequestToken:     aws.String(rand.Text()),
	}
	for i, write := range writes {
		input.TransactItems[i] = write.action()
	}
	_, err := request(func(ctx context.Context) (item, error) {
		output, err := w.api.TransactWriteItems(ctx, input, w.limited...)
		if err == nil && output != nil {
			for i := range output.ConsumedCapacity {
				charge(ctx, &output.ConsumedCapacity[i])
			}
		}
		return nil, err
	}).persistFor(ctx, limited)
	return err
}
