package dynamotest_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A request that reads a little takes no longer where there is a thousand times as much to read. (One that looked at all of
// it would take hundreds of times as long; the margin is for machines that are busy with something else.)
func TestRequestsCostWhatTheyRead(t *testing.T) {
	ctx := context.Background()
	type item = map[string]types.AttributeValue
	str := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	const small, large = 20, 20_000
	fill := func(items int) *dynamodb.Client {
		db := dynamotest.New(t)
		createOrders(t, db, "orders")
		all := make([]item, items)
		for n := range all {
			all[n] = item{"id": str(strconv.Itoa(n)), "shop": str("shop " + strconv.Itoa(n))}
		}
		if err := db.Seed("orders", all...); err != nil {
			t.Fatal(err)
		}
		return db.Client()
	}
	few, many := fill(small), fill(large)
	table, key := aws.String("orders"), item{"id": str("7")}
	for name, send := range map[string]func(*dynamodb.Client) error{
		"GetItem": func(client *dynamodb.Client) error {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})
			return err
		},
		"PutItem": func(client *dynamodb.Client) error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: item{"id": str("7"), "shop": str("another")}})
			return err
		},
		"Query": func(client *dynamodb.Client) error {
			_, err := client.Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: aws.String("id = :k"), ExpressionAttributeValues: item{":k": str("8")}})
			return err
		},
		"Query of an index": func(client *dynamodb.Client) error {
			_, err := client.Query(ctx, &dynamodb.QueryInput{
				TableName: table, IndexName: aws.String("shops"), KeyConditionExpression: aws.String("shop = :k"), ExpressionAttributeValues: item{":k": str("shop 8")},
			})
			return err
		},
		"Scan of a page": func(client *dynamodb.Client) error {
			_, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: table, Limit: aws.Int32(10)})
			return err
		},
		"Scan of a page behind another": func(client *dynamodb.Client) error {
			_, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: table, Limit: aws.Int32(10), ExclusiveStartKey: key})
			return err
		},
		"DescribeTable": func(client *dynamodb.Client) error {
			_, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			quickest := func(client *dynamodb.Client) time.Duration {
				best := time.Hour
				for range 30 {
					start := time.Now()
					if err := send(client); err != nil {
						t.Fatal(err)
					}
					best = min(best, time.Since(start))
				}
				return best
			}
			if slow, quick := quickest(many), quickest(few); slow > 10*quick {
				t.Errorf("%v with %d items, %v with %d", slow, large, quick, small)
			}
		})
	}
}
