package dynamotest

import (
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Direct is the database without a wire: the calls on one item, and transactions that write, with the SDK's types, carried
// out in the caller's goroutine. It is for programs that send very many requests, such as a search through all interleavings of some
// callers. There are no retries, no faults and no log; consumed capacity and the sizes of item collections are not told, and
// legacy parameters are refused.
type Direct struct{ db *DB }

// Direct returns the database without a wire.
func (db *DB) Direct() Direct { return Direct{db} }

var errLegacyDirect = invalidParameter("dynamotest takes legacy parameters by its wire only").sdk()

// PutItem carries out a PutItem.
func (d Direct) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if in.Expected != nil || in.ConditionalOperator != "" {
		return nil, errLegacyDirect
	}
	reply, err := d.carryOut(&putItemInput{
		putRequest: putRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Item:        wireItemOf(in.Item),
		},
		returnOptions: returnOptions{ReturnValues: string(in.ReturnValues)},
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.PutItemOutput{Attributes: reply.(writeItemOutput).Attributes.sdk()}, nil
}

// UpdateItem carries out an UpdateItem.
func (d Direct) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if in.AttributeUpdates != nil || in.Expected != nil || in.ConditionalOperator != "" {
		return nil, errLegacyDirect
	}
	reply, err := d.carryOut(&updateItemInput{
		updateRequest: updateRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Key:         wireItemOf(in.Key),
			Update:      in.UpdateExpression,
		},
		returnOptions: returnOptions{ReturnValues: string(in.ReturnValues)},
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.UpdateItemOutput{Attributes: reply.(writeItemOutput).Attributes.sdk()}, nil
}

// DeleteItem carries out a DeleteItem.
func (d Direct) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if in.Expected != nil || in.ConditionalOperator != "" {
		return nil, errLegacyDirect
	}
	reply, err := d.carryOut(&deleteItemInput{
		deleteRequest: deleteRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Key:         wireItemOf(in.Key),
		},
		returnOptions: returnOptions{ReturnValues: string(in.ReturnValues)},
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.DeleteItemOutput{Attributes: reply.(writeItemOutput).Attributes.sdk()}, nil
}

// GetItem carries out a GetItem.
func (d Direct) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if in.AttributesToGet != nil {
		return nil, errLegacyDirect
	}
	reply, err := d.carryOut(&getItemInput{
		getRequest: getRequest{
			Table:                in.TableName,
			Key:                  wireItemOf(in.Key),
			Projection:           in.ProjectionExpression,
			expressionAttributes: attributesOf(in.ExpressionAttributeNames, nil),
		},
		ConsistentRead: consistentRead(aws.ToBool(in.ConsistentRead)),
	})
	if err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{Item: reply.(getItemOutput).Item.sdk()}, nil
}

// TransactWriteItems carries out a TransactWriteItems.
func (d Direct) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	wired := transactWriteInput{Token: in.ClientRequestToken}
	for _, action := range in.TransactItems {
		wired.Items = append(wired.Items, actionOf(action))
	}
	if _, err := d.carryOut(&wired); err != nil {
		return nil, err
	}
	return new(dynamodb.TransactWriteItemsOutput), nil
}

func actionOf(given types.TransactWriteItem) (a transactWriteAction) {
	if in := given.Put; in != nil {
		a.Put = &putRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Item:        wireItemOf(in.Item),
		}
	}
	if in := given.Update; in != nil {
		a.Update = &updateRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Key:         wireItemOf(in.Key),
			Update:      in.UpdateExpression,
		}
	}
	if in := given.Delete; in != nil {
		a.Delete = &deleteRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Key:         wireItemOf(in.Key),
		}
	}
	if in := given.ConditionCheck; in != nil {
		a.ConditionCheck = &checkRequest{
			conditional: conditionalOf(in.TableName, in.ConditionExpression, in.ReturnValuesOnConditionCheckFailure, attributesOf(in.ExpressionAttributeNames, in.ExpressionAttributeValues)),
			Key:         wireItemOf(in.Key),
		}
	}
	return a
}

func conditionalOf(table, condition *string, onFailure types.ReturnValuesOnConditionCheckFailure, attributes expressionAttributes) conditional {
	return conditional{Table: table, Condition: condition, expressionAttributes: attributes, OnFailure: string(onFailure)}
}

func attributesOf(names map[string]string, values map[string]types.AttributeValue) expressionAttributes {
	attributes := expressionAttributes{Names: names}
	if values != nil {
		attributes.Values = wireItemOf(values)
	}
	return attributes
}

// carryOut applies an input and words its error as the SDK does.
func (d Direct) carryOut(in input) (any, error) {
	d.db.mu.Lock()
	defer d.db.mu.Unlock()
	reply, err := in.apply(&call{DB: d.db, at: d.db.now(), consumed: make(consumption)})
	if err != nil {
		return nil, asAPIError(err).sdk()
	}
	return reply, nil
}

// sdk is the error in the SDK's types, as far as its callers tell them apart.
func (e *apiError) sdk() error {
	switch code := e.code(); {
	case code == "ConditionalCheckFailedException":
		return &types.ConditionalCheckFailedException{Message: &e.message, Item: e.item.wire().sdk()}
	case code == "ThrottlingException":
		return &types.ThrottlingException{Message: &e.message, ThrottlingReasons: e.sdkThrottling()}
	case code == "ProvisionedThroughputExceededException":
		return &types.ProvisionedThroughputExceededException{Message: &e.message, ThrottlingReasons: e.sdkThrottling()}
	case code == "TransactionCanceledException":
		return &types.TransactionCanceledException{Message: &e.message, CancellationReasons: e.sdkReasons()}
	case e.status >= http.StatusInternalServerError:
		return &smithy.GenericAPIError{Code: code, Message: e.message, Fault: smithy.FaultServer}
	default:
		return &smithy.GenericAPIError{Code: code, Message: e.message, Fault: smithy.FaultClient}
	}
}

func (e *apiError) sdkThrottling() []types.ThrottlingReason {
	reasons := make([]types.ThrottlingReason, len(e.throttling))
	for i, r := range e.throttling {
		reasons[i] = types.ThrottlingReason{Reason: aws.String(r.Reason), Resource: aws.String(r.Resource)}
	}
	return reasons
}

func (e *apiError) sdkReasons() []types.CancellationReason {
	reasons := make([]types.CancellationReason, len(e.reasons))
	for i, r := range e.reasons {
		reasons[i] = types.CancellationReason{Code: aws.String(r.Code), Item: r.Item.sdk()}
		if r.Message != "" {
			reasons[i].Message = aws.String(r.Message)
		}
	}
	return reasons
}

// sdk is the item in the SDK's types; nil for no item.
func (w wireItem) sdk() map[string]types.AttributeValue {
	if w == nil {
		return nil
	}
	converted := make(map[string]types.AttributeValue, len(w))
	for name, v := range w {
		converted[name] = v.sdk()
	}
	return converted
}
