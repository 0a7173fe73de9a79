package dynamotest_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Each way to write several items, given a put that is fine and one that is not, stores neither.
func TestAllOrNothing(t *testing.T) {
	ctx := context.Background()
	const table = "orders"
	type item = map[string]types.AttributeValue
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	ways := map[string]func(db *dynamotest.DB, items ...item) error{
		"BatchWriteItem": func(db *dynamotest.DB, items ...item) error {
			var writes []types.WriteRequest
			for _, i := range items {
				writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
			}
			_, err := db.Client().BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes}})
			return err
		},
		"TransactWriteItems": func(db *dynamotest.DB, items ...item) error {
			var writes []types.TransactWriteItem
			for _, i := range items {
				writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table), Item: i}})
			}
			_, err := db.Client().TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
			return err
		},
		"TransactWriteItems, directly": func(db *dynamotest.DB, items ...item) error {
			var writes []types.TransactWriteItem
			for _, i := range items {
				writes = append(writes, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(table), Item: i}})
			}
			_, err := db.Direct().TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: writes})
			return err
		},
		"Seed": func(db *dynamotest.DB, items ...item) error { return db.Seed(table, items...) },
	}
	unfit := map[string]item{
		"no key":                    {"shop": str("s")},
		"a mistyped key":            {"id": &types.AttributeValueMemberN{Value: "1"}},
		"an empty key":              {"id": str("")},
		"a mistyped index key":      {"id": str("b"), "shop": &types.AttributeValueMemberN{Value: "1"}},
		"an empty index key":        {"id": str("b"), "shop": str("")},
		"more than 400 KB":          {"id": str("b"), "data": str(strings.Repeat("x", 400<<10))},
		"a set with a value twice":  {"id": str("b"), "set": &types.AttributeValueMemberSS{Value: []string{"x", "x"}}},
		"a number that is too long": {"id": str("b"), "n": &types.AttributeValueMemberN{Value: strings.Repeat("1", 39)}},
	}
	for way, write := range ways {
		for fault, bad := range unfit {
			for _, order := range []string{"first", "last"} {
				t.Run(way+"/"+fault+" "+order, func(t *testing.T) {
					db := dynamotest.New(t)
					createOrders(t, db, table)
					if err := db.Seed(table, item{"id": str("a"), "shop": str("old")}); err != nil {
						t.Fatal(err)
					}
					stored := db.Items(table)
					items := []item{{"id": str("a"), "shop": str("new")}, {"id": str("c"), "shop": str("new")}, bad}
					if order == "first" {
						items[0], items[2] = items[2], items[0]
					}
					if err := write(db, items...); err == nil {
						t.Fatal("no error")
					}
					if got := db.Items(table); !reflect.DeepEqual(got, stored) {
						t.Errorf("stored %v", got)
					}
					if err := write(db, items[1]); err != nil {
						t.Errorf("the item that is fine, alone: %v", err)
					}
				})
			}
		}
	}
}

// createOrders makes a table of orders with an index by shop.
func createOrders(t testing.TB, db *dynamotest.DB, name string) {
	t.Helper()
	_, err := db.Client().CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("id"), AttributeType: "S"}, {AttributeName: aws.String("shop"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("shops"), Projection: &types.Projection{ProjectionType: "KEYS_ONLY"},
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("shop"), KeyType: "HASH"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}
