package dynamotest_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// benchItems is how many items the table of BenchmarkLargeTable holds, ten to a partition and to a partition of its index.
const benchItems = 50_000

// BenchmarkLargeTable measures single requests to a table of 50,000 items: over HTTP against the embedded database, and in
// the same run against the endpoint in DYNAMODB_ENDPOINT if there is one, so that both pay for the same client and sockets.
func BenchmarkLargeTable(b *testing.B) {
	db := dynamotest.New(b)
	url, err := db.Serve()
	if err != nil {
		b.Fatal(err)
	}
	embedded := db.Client(func(o *dynamodb.Options) {
		o.HTTPClient, o.BaseEndpoint = awshttp.NewBuildableClient(), aws.String(url)
	})
	b.Run("embedded", func(b *testing.B) { benchmarkLargeTable(b, embedded) })
	if external, ok := endpoint.Client(); ok {
		b.Run("endpoint", func(b *testing.B) { benchmarkLargeTable(b, external) })
	}
}

func benchmarkLargeTable(b *testing.B, client *dynamodb.Client) {
	ctx := context.Background()
	name := aws.String("large-" + strconv.Itoa(b.N))
	fillLargeTable(b, client, name)
	defer client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: name})
	n := 0
	for _, request := range []struct {
		name string
		send func() error
	}{
		{"GetItem", func() error {
			_, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: benchKey(n % benchItems)})
			return err
		}},
		{"PutItem", func() error {
			_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: benchItem(n * 7919 % benchItems)})
			return err
		}},
		{"Query", func() error {
			out, err := client.Query(ctx, &dynamodb.QueryInput{
				TableName: name, KeyConditionExpression: aws.String("customer = :c"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":c": benchItem(n % benchItems)["customer"]},
			})
			return wantCount(10, out, err)
		}},
		{"QueryIndex", func() error {
			out, err := client.Query(ctx, &dynamodb.QueryInput{
				TableName: name, IndexName: aws.String("shops"), KeyConditionExpression: aws.String("shop = :s"),
				ExpressionAttributeValues: map[string]types.AttributeValue{":s": benchItem(n % benchItems)["shop"]},
			})
			return wantCount(10, out, err)
		}},
		{"ScanLimit10", func() error {
			_, err := client.Scan(ctx, &dynamodb.ScanInput{TableName: name, Limit: aws.Int32(10)})
			return err
		}},
		{"DescribeTable", func() error {
			_, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
			return err
		}},
	} {
		b.Run(request.name, func(b *testing.B) {
			for b.Loop() {
				n++
				if err := request.send(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func wantCount(want int32, out *dynamodb.QueryOutput, err error) error {
	if err == nil && out.Count != want {
		return fmt.Errorf("%d items, want %d", out.Count, want)
	}
	return err
}

func benchKey(n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"customer": &types.AttributeValueMemberS{Value: "customer-" + strconv.Itoa(n/10)},
		"at":       &types.AttributeValueMemberN{Value: strconv.Itoa(n)},
	}
}

func benchItem(n int) map[string]types.AttributeValue {
	item := benchKey(n)
	item["shop"] = &types.AttributeValueMemberS{Value: "shop-" + strconv.Itoa(n%(benchItems/10))}
	item["note"] = &types.AttributeValueMemberS{Value: "a note of some forty bytes, as notes are"}
	return item
}

func fillLargeTable(b *testing.B, client *dynamodb.Client, name *string) {
	ctx := context.Background()
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: "S"},
			{AttributeName: aws.String("at"), AttributeType: "N"},
			{AttributeName: aws.String("shop"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("at"), KeyType: "RANGE"},
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("shops"), Projection: &types.Projection{ProjectionType: "ALL"},
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("shop"), KeyType: "HASH"}},
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < benchItems; n += 25 {
		var writes []types.WriteRequest
		for i := range 25 {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: benchItem(n + i)}})
		}
		if _, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: writes}}); err != nil {
			b.Fatal(err)
		}
	}
}
