package dynamostore_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// In a function, client is dynamodb.NewFromConfig(cfg).
func ExampleNew() {
	client := dynamolocal.New().Client()
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

// A table with a sort key can hold the records of several applications.
func ExampleConfig() {
	config := dynamostore.Config{
		Table:          "shared",
		PartitionValue: "shop",
		Attributes:     dynamostore.Attributes{Key: "pk", SortKey: "sk", ExpireAt: "ttl"},
	}
	client := dynamolocal.New().Client()
	fmt.Println(dynamostore.CreateTable(context.Background(), client, config))
	_, err := dynamostore.New(client, config)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
}

// CreateTable may be called at every start of a local run.
func ExampleCreateTable() {
	client := dynamolocal.New().Client()
	for range 2 {
		fmt.Println(dynamostore.CreateTable(context.Background(), client, dynamostore.Config{Table: "idempotency"}))
	}
	// Output:
	// <nil>
	// <nil>
}
