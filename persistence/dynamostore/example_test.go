package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// In a function, client is dynamodb.NewFromConfig(cfg).
func ExampleNew() {
	client := dynamotest.Open().Client()
	ctx := context.Background()
	if err := dynamostore.CreateTable(ctx, client, dynamostore.Config{Table: "idempotency"}); err != nil {
		panic(err)
	}
	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		panic(err)
	}
	now := time.Now()
	record, err := store.Acquire(ctx, persistence.Claim{
		Key: "payment#1", Owner: "me",
		Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour),
	})
	fmt.Println(record.Status, record.Owner, err)
	// Output: PROCESSING me <nil>
}

// What the main of a Lambda function does before lambda.Start. The variables are those that
// Lambda sets, and the template; here they lead to an embedded DynamoDB.
func ExampleFromEnvironment() {
	db := dynamotest.Open()
	defer db.Close()
	db.MustCreateTable("records", "idempotency_key")
	url, err := db.Serve()
	if err != nil {
		panic(err)
	}
	for name, value := range map[string]string{
		"IDEMPOTENCY_TABLE": "records", "IDEMPOTENCY_WARM": "true",
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local",
		"AWS_ENDPOINT_URL_DYNAMODB": url,
	} {
		os.Setenv(name, value)
		defer os.Unsetenv(name)
	}

	ctx := context.Background()
	store, client, err := dynamostore.FromEnvironment(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println("the table is read once:", len(db.Requests()) == 1, db.Requests()[0].Operation)

	_, found, err := store.Read(ctx, "payment#1")
	fmt.Println("a record:", found, err)
	fmt.Println("the function's own tables are reached by way of", client.Options().Region)
	// Output:
	// the table is read once: true GetItem
	// a record: false <nil>
	// the function's own tables are reached by way of eu-central-1
}

// In the init phase, with a main that can do without: the first call is slower then, and
// told what is wrong.
func ExampleStore_Warm() {
	db := dynamotest.Open()
	defer db.Close()
	store, err := dynamostore.New(db.Client(), dynamostore.Config{Table: "records"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if err := store.Warm(ctx); err != nil {
		fmt.Println("no table yet, retryable:", persistence.Retryable(err))
	}
	db.MustCreateTable("records", "idempotency_key")
	fmt.Println(store.Warm(ctx))
	// Output:
	// no table yet, retryable: false
	// <nil>
}

// Outside a guarded call, writes are applied all together or not at all.
func ExampleApply() {
	client := dynamotest.Open().Client()
	ctx := context.Background()
	if err := dynamostore.CreateTable(ctx, client, dynamostore.Config{Table: "accounts", Attributes: dynamostore.Attributes{Key: "id"}}); err != nil {
		panic(err)
	}
	add := func(account, amount string) dynamostore.Write {
		return dynamostore.Write{
			Update: &types.Update{
				TableName:                 aws.String("accounts"),
				Key:                       map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: account}},
				UpdateExpression:          aws.String("ADD balance :amount"),
				ConditionExpression:       aws.String("attribute_not_exists(closed)"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":amount": &types.AttributeValueMemberN{Value: amount}},
			},
			OnRefused: func(map[string]types.AttributeValue) error { return fmt.Errorf("%s's account is closed", account) },
		}
	}
	shut := dynamostore.Write{Put: &types.Put{
		TableName: aws.String("accounts"),
		Item:      map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "carl"}, "closed": &types.AttributeValueMemberBOOL{Value: true}},
	}}
	fmt.Println(dynamostore.Apply(ctx, client, add("ann", "-5"), add("bob", "5"), shut))

	err := dynamostore.Apply(ctx, client, add("ann", "-5"), add("carl", "5"))
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		fmt.Println(refused.Index, refused.Err)
	}
	// Output:
	// <nil>
	// 1 carl's account is closed
}

// A table with a sort key can hold the records of several applications.
func ExampleConfig() {
	config := dynamostore.Config{
		Table:          "shared",
		PartitionValue: "shop",
		Attributes:     dynamostore.Attributes{Key: "pk", SortKey: "sk", ExpireAt: "ttl"},
	}
	client := dynamotest.Open().Client()
	fmt.Println(dynamostore.CreateTable(context.Background(), client, config))
	_, err := dynamostore.New(client, config)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

// CreateTable may be called at every start of a local run.
func ExampleCreateTable() {
	client := dynamotest.Open().Client()
	for range 2 {
		fmt.Println(dynamostore.CreateTable(context.Background(), client, dynamostore.Config{Table: "idempotency"}))
	}
	// Output:
	// <nil>
	// <nil>
}
