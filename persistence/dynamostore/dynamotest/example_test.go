package dynamotest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The examples are programs, hence Open; a test writes dynamotest.New(t), and needs no Close.

// payment is an item of the examples, and pays puts it into their table.
func payment(id, amount string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}, "amount": &types.AttributeValueMemberN{Value: amount}}
}

func pay(client *dynamodb.Client, id, amount string) error {
	_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("payments"), Item: payment(id, amount)})
	return err
}

// once is a client that does not repeat what failed.
func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// The reply to a write is lost: the caller can't tell, the database has it.
func Example() {
	db := dynamotest.Open() // in a test: dynamotest.New(t)
	db.MustCreateTable("payments", "id")

	db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.LoseReply()})
	err := pay(db.Client(once), "order-17", "9.90")
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

func ExampleOpen() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	fmt.Println(pay(db.Client(), "order-17", "9.90"), len(db.Items("payments")))
	// Output: <nil> 1
}

// Other processes, and other languages, use the URL as their endpoint.
func ExampleDB_Serve() {
	db := dynamotest.Open()
	defer db.Close()
	db.MustCreateTable("payments", "id")
	url, err := db.Serve()
	if err != nil {
		fmt.Println(err)
		return
	}
	client := db.Client(func(o *dynamodb.Options) { o.BaseEndpoint, o.HTTPClient = aws.String(url), http.DefaultClient })
	fmt.Println(pay(client, "order-17", "9.90"), len(db.Items("payments")))
	// Output: <nil> 1
}

func ExampleDB_MustCreateTable() {
	db := dynamotest.Open()
	db.MustCreateTable("orders", "customer", "number:N")
	described, err := db.Client().DescribeTable(context.Background(), &dynamodb.DescribeTableInput{TableName: aws.String("orders")})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range described.Table.KeySchema {
		fmt.Println(*key.AttributeName, key.KeyType)
	}
	// Output:
	// customer HASH
	// number RANGE
}

func ExampleDB_Seed() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	fmt.Println(db.Seed("payments", payment("a", "1"), payment("b", "2")))
	fmt.Println(len(db.Items("payments")), len(db.Requests()))
	// Output:
	// <nil>
	// 2 0
}

func ExampleDB_SeedJSON() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	fmt.Println(db.SeedJSON([]byte(`{"payments": [{"id": {"S": "a"}}, {"PutRequest": {"Item": {"id": {"S": "b"}}}}]}`)))
	fmt.Println(db.SeedJSON([]byte(`{"payments": [{"id": {"S": "c"}}, {"amount": {"N": "1"}}]}`)))
	fmt.Println(len(db.Items("payments")))
	// Output:
	// 2 <nil>
	// 2 item 2 for table payments: ValidationException: One or more parameter values were invalid: Missing the key id in the item
	// 2
}

func ExampleDB_Dump() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	_ = db.Seed("payments", payment("a", "1.50"))
	_ = db.Dump(os.Stdout)
	// Output:
	// payments (1 items)
	//   amount=1.5 id=a
}

// What a failed condition costs is in no reply of DynamoDB; the log has it.
func ExampleDB_Capacity() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	client := db.Client(once)
	for range 2 {
		_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{
			TableName: aws.String("payments"), Item: payment("a", "1"), ConditionExpression: aws.String("attribute_not_exists(id)"),
		})
		fmt.Println("paid:", err == nil)
	}
	fmt.Println("write units:", db.Capacity().Write)
	db.ResetLog()
	fmt.Println("write units:", db.Capacity().Write)
	// Output:
	// paid: true
	// paid: false
	// write units: 2
	// write units: 0
}

func ExampleWithClock() {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	db := dynamotest.Open(dynamotest.WithClock(func() time.Time { return now }))
	db.MustCreateTable("payments", "id")
	add := func() string {
		_, err := db.Client().TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: aws.String("one"),
			TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: aws.String("payments"), Key: map[string]types.AttributeValue{"id": payment("a", "")["id"]},
				UpdateExpression: aws.String("ADD amount :one"), ExpressionAttributeValues: map[string]types.AttributeValue{":one": payment("", "1")["amount"]},
			}}},
		})
		if err != nil {
			return err.Error()
		}
		return db.Items("payments")[0]["amount"].(*types.AttributeValueMemberN).Value
	}
	fmt.Println(add(), add()) // the token is known
	now = now.Add(10 * time.Minute)
	fmt.Println(add()) // no longer
	// Output:
	// 1 1
	// 2
}

// A key that everybody asks for throttles at what one partition bears.
func ExampleWithThroughputLimits() {
	now := time.Now()
	db := dynamotest.Open(dynamotest.WithThroughputLimits(), dynamotest.WithClock(func() time.Time { return now }))
	db.MustCreateTable("payments", "id")
	direct := db.Direct() // for very many requests
	attempts := func() (accepted int) {
		for range 1500 {
			_, err := direct.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("payments"), Item: payment("hot", "1")})
			if throttled, ok := errors.AsType[*types.ThrottlingException](err); ok {
				if accepted == 1000 {
					fmt.Println(*throttled.ThrottlingReasons[0].Reason)
				}
				return accepted
			}
			accepted++
		}
		return accepted
	}
	fmt.Println(attempts(), "in one moment")
	now = now.Add(100 * time.Millisecond)
	fmt.Println(attempts(), "a tenth of a second later")
	// Output:
	// TableWriteKeyRangeThroughputExceeded
	// 1000 in one moment
	// 100 a tenth of a second later
}

// DynamoDB removes expired items within days, if ever; here a test says when.
func ExampleDB_RemoveExpired() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	_, err := db.Client().UpdateTimeToLive(context.Background(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String("payments"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("amount"), Enabled: aws.Bool(true)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Unix(1_800_000_000, 0)
	_ = db.Seed("payments", payment("over", "1799999999"), payment("not yet", "1800000001"))
	fmt.Println(db.RemoveExpired(now), "removed,", len(db.Items("payments")), "left")
	// Output: 1 removed, 1 left
}

// A transaction that comes twice is carried out once, for as long as its token is known.
func ExampleDB_ForgetTokens() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	direct, key := db.Direct(), map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a"}}
	add := func() {
		_, _ = direct.TransactWriteItems(context.Background(), &dynamodb.TransactWriteItemsInput{
			ClientRequestToken: aws.String("one"),
			TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: aws.String("payments"), Key: key,
				UpdateExpression: aws.String("ADD amount :one"), ExpressionAttributeValues: map[string]types.AttributeValue{":one": payment("", "1")["amount"]},
			}}},
		})
		fmt.Println(db.Items("payments")[0]["amount"].(*types.AttributeValueMemberN).Value)
	}
	add()
	add()
	db.ForgetTokens()
	add()
	// Output:
	// 1
	// 1
	// 2
}

// For very many requests, there is a way past the wire.
func ExampleDB_Direct() {
	db := dynamotest.Open()
	db.MustCreateTable("payments", "id")
	ctx, table, direct := context.Background(), aws.String("payments"), db.Direct()
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "a"}}
	_, err := direct.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: table, Key: key, UpdateExpression: aws.String("SET amount = :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	})
	got, _ := direct.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})
	fmt.Println(len(got.Item), err)
	_, err = direct.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key})
	fmt.Println(len(db.Items("payments")), err)
	// Output:
	// 2 <nil>
	// 0 <nil>
}

// What a story costs is the sum of what its parts cost.
func ExampleCapacity() {
	var sum dynamotest.Capacity
	for _, part := range []dynamotest.Capacity{{Write: 1}, {Write: 2}, {Read: 0.5}} {
		sum = sum.Plus(part)
	}
	fmt.Printf("%+v\n", sum)
	// Output: {Read:0.5 Write:3}
}

// A tenth of a load shows on a tenth of a partition what the whole shows on a whole one.
func ExampleWithThroughputShare() {
	now := time.Now()
	db := dynamotest.Open(dynamotest.WithThroughputShare(0.1), dynamotest.WithClock(func() time.Time { return now }))
	db.MustCreateTable("payments", "id")
	accepted := 0
	for range 150 {
		if _, err := db.Direct().PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("payments"), Item: payment("hot", "1")}); err == nil {
			accepted++
		}
	}
	fmt.Println(accepted, "in one moment")
	// Output: 100 in one moment
}
