// Command bare charges a payment once, with idempotency written by hand: the least
// that one would write with the SDK, without an owner or a lease.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	f := function{client: dynamodb.NewFromConfig(cfg), table: os.Getenv("IDEMPOTENCY_TABLE")}
	lambda.Start(f.charge)
}

type function struct {
	client *dynamodb.Client
	table  string
}

// kept is how long a record answers for its request.
const kept = time.Hour

// charge answers a repeated order from its record.
func (f function) charge(ctx context.Context, o payment.Order) (payment.Receipt, error) {
	key := "payment#" + o.PaymentID
	switch stored, err := f.begin(ctx, key); {
	case err != nil:
		return payment.Receipt{}, err
	case stored != nil:
		return replay(stored)
	}
	receipt, err := payment.Charge(ctx, o)
	if err != nil {
		return payment.Receipt{}, err
	}
	return receipt, f.finish(ctx, key, receipt)
}

// begin returns the record of an earlier run, or nil if there is none.
func (f function) begin(ctx context.Context, key string) (map[string]types.AttributeValue, error) {
	_, err := f.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &f.table,
		Item: map[string]types.AttributeValue{
			"idempotency_key": &types.AttributeValueMemberS{Value: key},
			"status":          &types.AttributeValueMemberS{Value: "INPROGRESS"},
			"expire_at":       &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(kept).Unix(), 10)},
		},
		ConditionExpression:                 aws.String("attribute_not_exists(idempotency_key)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if exists, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return exists.Item, nil
	}
	return nil, err
}

// finish stores the result.
func (f function) finish(ctx context.Context, key string, receipt payment.Receipt) error {
	result, err := json.Marshal(receipt)
	if err != nil {
		return err
	}
	_, err = f.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &f.table,
		Key:                      map[string]types.AttributeValue{"idempotency_key": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression:         aws.String("SET #status = :status, #result = :result"),
		ExpressionAttributeNames: map[string]string{"#status": "status", "#result": "result"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":status": &types.AttributeValueMemberS{Value: "COMPLETED"},
			":result": &types.AttributeValueMemberS{Value: string(result)},
		},
	})
	return err
}

// replay returns the stored result, if the earlier run has come to one.
func replay(stored map[string]types.AttributeValue) (receipt payment.Receipt, err error) {
	result, finished := stored["result"].(*types.AttributeValueMemberS)
	if !finished {
		return payment.Receipt{}, errors.New("the payment is in progress")
	}
	return receipt, json.Unmarshal([]byte(result.Value), &receipt)
}
