package dynamotest_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The reply to a write is lost: the caller can't tell, the database has it.
func Example() {
	ctx := context.Background()
	db := dynamotest.Open()
	client := db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            aws.String("payments"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	db.ResetLog()

	db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.LoseReply()})
	_, err = client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("payments"),
		Item: map[string]types.AttributeValue{
			"id":     &types.AttributeValueMemberS{Value: "order-17"},
			"amount": &types.AttributeValueMemberN{Value: "9.90"},
		},
	})
	fmt.Println("the caller got an error:", err != nil)
	for _, r := range db.Requests() {
		fmt.Println(r.Operation, r.Keys, "applied:", r.Applied, "write units:", r.Capacity.Write, r.Faults)
	}
	for _, i := range db.Items("payments") {
		fmt.Println("stored amount:", i["amount"].(*types.AttributeValueMemberN).Value)
	}
	// Output:
	// the caller got an error: true
	// PutItem [id=order-17] applied: true write units: 1 [reply lost]
	// stored amount: 9.9
}
