package dynamotest_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// load is a database with limits whose clock stands still unless told otherwise, and its table of orders.
type load struct {
	*testing.T
	db     *dynamotest.DB
	client *dynamodb.Client
	now    time.Time
}

const loaded = "orders"

func newLoad(t *testing.T, change func(*dynamodb.CreateTableInput), options ...dynamotest.Option) *load {
	t.Helper()
	l := &load{T: t, now: time.Unix(1_700_000_000, 0)}
	options = append([]dynamotest.Option{dynamotest.WithThroughputLimits(), dynamotest.WithClock(func() time.Time { return l.now })}, options...)
	l.db = dynamotest.New(t, options...)
	l.client = l.db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(loaded), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: "S"}, {AttributeName: aws.String("number"), AttributeType: "N"},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: "HASH"}, {AttributeName: aws.String("number"), KeyType: "RANGE"},
		},
	}
	if change != nil {
		change(in)
	}
	if _, err := l.client.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return l
}

func order(customer string, number int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"customer": &types.AttributeValueMemberS{Value: customer}, "number": &types.AttributeValueMemberN{Value: strconv.Itoa(number)},
	}
}

func (l *load) put(customer string, number int) error { return l.putItem(order(customer, number)) }

func (l *load) putItem(item map[string]types.AttributeValue) error {
	_, err := l.client.PutItem(l.Context(), &dynamodb.PutItemInput{TableName: aws.String(loaded), Item: item})
	return err
}

// big is an order of so many KB. One of 40 takes 40 units to write and 10 to read, which saves a test many requests.
func big(customer string, kilobytes int) map[string]types.AttributeValue {
	item := order(customer, 1)
	item["data"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", kilobytes<<10-100)}
	return item
}

func (l *load) get(customer string, consistent bool) error {
	_, err := l.client.GetItem(l.Context(), &dynamodb.GetItemInput{TableName: aws.String(loaded), Key: order(customer, 1), ConsistentRead: &consistent})
	return err
}

// accepted is how many of so many requests are let through at this moment; the others must be throttled for the reason.
func (l *load) accepted(requests int, reason string, send func(n int) error) int {
	l.Helper()
	accepted := 0
	for n := range requests {
		err := send(n)
		if err == nil {
			accepted++
			continue
		}
		if got := reasonOf(err); got != reason {
			l.Fatalf("request %d: got %q (%v), want %q", n, got, err, reason)
		}
	}
	return accepted
}

func reasonOf(err error) string {
	if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		return *e.ThrottlingReasons[0].Reason
	}
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		return *e.ThrottlingReasons[0].Reason
	}
	return ""
}

func TestAHotKeyThrottles(t *testing.T) {
	const hotWrite, hotRead = "TableWriteKeyRangeThroughputExceeded", "TableReadKeyRangeThroughputExceeded"
	for name, c := range map[string]struct {
		reason string
		send   func(l *load, n int) error
		limit  int // requests a second
	}{
		"writes":                      {hotWrite, func(l *load, _ int) error { return l.putItem(big("one", 40)) }, 25},
		"consistent reads":            {hotRead, func(l *load, _ int) error { return l.get("one", true) }, 300},
		"eventually consistent reads": {hotRead, func(l *load, _ int) error { return l.get("one", false) }, 600},
		"queries": {hotRead, func(l *load, _ int) error {
			_, err := l.client.Query(l.Context(), &dynamodb.QueryInput{
				TableName: aws.String(loaded), KeyConditionExpression: aws.String("customer = :c"), ConsistentRead: aws.Bool(true),
				ExpressionAttributeValues: map[string]types.AttributeValue{":c": &types.AttributeValueMemberS{Value: "one"}},
			})
			return err
		}, 300},
		"failed conditions": {hotWrite, func(l *load, _ int) error {
			_, err := l.client.DeleteItem(l.Context(), &dynamodb.DeleteItemInput{
				TableName: aws.String(loaded), Key: order("one", 1), ConditionExpression: aws.String("attribute_not_exists(customer)"),
			})
			if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); failed {
				return nil
			}
			return err
		}, 25},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLoad(t, nil)
			if err := l.db.Seed(loaded, big("one", 40)); err != nil {
				t.Fatal(err)
			}
			send := func(n int) error { return c.send(l, n) }
			if got := l.accepted(c.limit+20, c.reason, send); got != c.limit {
				t.Errorf("in the first second: %d, want %d", got, c.limit)
			}
			l.now = l.now.Add(200 * time.Millisecond)
			if got := l.accepted(c.limit/5+20, c.reason, send); got != c.limit/5 {
				t.Errorf("in a fifth of a second more: %d, want %d", got, c.limit/5)
			}
			l.now = l.now.Add(time.Hour)
			if got := l.accepted(c.limit+20, c.reason, send); got != c.limit {
				t.Errorf("after a pause: %d, want %d", got, c.limit)
			}
		})
	}
}

// What is provisioned is the limit over all partitions; what is not used of it is saved for five minutes.
func TestProvisionedCapacityIsALimit(t *testing.T) {
	l := newLoad(t, func(in *dynamodb.CreateTableInput) {
		in.BillingMode = types.BillingModeProvisioned
		in.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(20), WriteCapacityUnits: aws.Int64(2)}
	})
	put := func(n int) error { return l.put(fmt.Sprint(n), 1) }
	get := func(int) error { return l.get("one", true) }
	if err := l.db.Seed(loaded, big("one", 40)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after         time.Duration
		writes, reads int
	}{{0, 2, 2}, {time.Second, 2, 2}, {10 * time.Second, 20, 20}, {time.Hour, 600, 300}} {
		l.now = l.now.Add(c.after)
		if got := l.accepted(c.writes+50, "TableWriteProvisionedThroughputExceeded", put); got != c.writes {
			t.Errorf("after %v: %d writes, want %d", c.after, got, c.writes)
		}
		reason := "TableReadProvisionedThroughputExceeded"
		if c.reads == 300 { // of the one partition; what is saved would be twice as much
			reason = "TableReadKeyRangeThroughputExceeded"
		}
		if got := l.accepted(c.reads+50, reason, get); got != c.reads {
			t.Errorf("after %v: %d reads, want %d", c.after, got, c.reads)
		}
	}
}

// Writes that are spread over a table but not over its index are held up by the index.
func TestAHotKeyOfAnIndexThrottlesWrites(t *testing.T) {
	l := newLoad(t, func(in *dynamodb.CreateTableInput) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("state"), AttributeType: "S"})
		in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
			IndexName: aws.String("states"), Projection: &types.Projection{ProjectionType: "ALL"},
			KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("state"), KeyType: "HASH"}},
		}}
	})
	put := func(state string) func(n int) error {
		return func(n int) error {
			item := big(fmt.Sprint(state, n), 40)
			item["state"] = &types.AttributeValueMemberS{Value: state}
			return l.putItem(item)
		}
	}
	if got := l.accepted(40, "IndexWriteKeyRangeThroughputExceeded", put("new")); got != 25 {
		t.Errorf("%d writes of one state", got)
	}
	if got := len(l.db.Items(loaded)); got != 25 {
		t.Errorf("%d are stored", got)
	}
	if got := l.accepted(100, "", func(n int) error { return l.put(fmt.Sprint("without", n), 1) }); got != 100 {
		t.Errorf("%d writes beside the index", got)
	}
	l.now = l.now.Add(time.Second)
	if got := l.accepted(100, "", func(int) error {
		_, err := l.client.Query(l.Context(), &dynamodb.QueryInput{
			TableName: aws.String(loaded), IndexName: aws.String("states"), KeyConditionExpression: aws.String("#s = :s"), Limit: aws.Int32(1),
			ExpressionAttributeNames:  map[string]string{"#s": "state"},
			ExpressionAttributeValues: map[string]types.AttributeValue{":s": &types.AttributeValueMemberS{Value: "new"}},
		})
		return err
	}); got != 100 {
		t.Errorf("%d queries of the index", got)
	}
}

// A batch leaves unprocessed what exceeds a limit, and fails only if that is all; a transaction is cancelled for it.
func TestLimitsOfRequestsAboutSeveralItems(t *testing.T) {
	l := newLoad(t, nil)
	ctx := t.Context()
	cold := func() map[string]types.AttributeValue { return order("customer that nobody else asks for", 1) }
	hot := order("one", 1)
	l.accepted(30, "TableWriteKeyRangeThroughputExceeded", func(int) error { return l.putItem(big("one", 40)) })
	l.accepted(310, "TableReadKeyRangeThroughputExceeded", func(int) error { return l.get("one", true) })
	write := func(items ...map[string]types.AttributeValue) (map[string][]types.WriteRequest, error) {
		var writes []types.WriteRequest
		for _, i := range items {
			writes = append(writes, types.WriteRequest{PutRequest: &types.PutRequest{Item: i}})
		}
		out, err := l.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{loaded: writes}})
		if err != nil {
			return nil, err
		}
		return out.UnprocessedItems, nil
	}
	read := func(items ...map[string]types.AttributeValue) (map[string]types.KeysAndAttributes, error) {
		out, err := l.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{loaded: {Keys: items, ConsistentRead: aws.Bool(true)}}})
		if err != nil {
			return nil, err
		}
		return out.UnprocessedKeys, nil
	}
	if left, err := write(hot, cold()); err != nil || len(left[loaded]) != 1 || left[loaded][0].PutRequest.Item["customer"].(*types.AttributeValueMemberS).Value != "one" {
		t.Errorf("a batch that writes: %v, %v", left, err)
	}
	if _, err := write(hot, order("one", 2)); reasonOf(err) != "TableWriteKeyRangeThroughputExceeded" {
		t.Errorf("a batch that writes nothing: %v", err)
	}
	if left, err := read(cold(), hot); err != nil || len(left[loaded].Keys) != 1 || !*left[loaded].ConsistentRead {
		t.Errorf("a batch that reads: %v, %v", left, err)
	}
	if _, err := read(hot, order("one", 2)); reasonOf(err) != "TableReadKeyRangeThroughputExceeded" {
		t.Errorf("a batch that reads nothing: %v", err)
	}
	table := aws.String(loaded)
	_, err := l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: table, Item: order("somebody", 7)}}, {Delete: &types.Delete{TableName: table, Key: hot}},
	}})
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); !ok || *cancelled.CancellationReasons[0].Code != "None" || *cancelled.CancellationReasons[1].Code != "ThrottlingError" {
		t.Errorf("a transaction that writes: %v", err)
	}
	_, err = l.client.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
		{Get: &types.Get{TableName: table, Key: hot}}, {Get: &types.Get{TableName: table, Key: cold()}},
	}})
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); !ok || *cancelled.CancellationReasons[0].Code != "ThrottlingError" || *cancelled.CancellationReasons[1].Code != "None" {
		t.Errorf("a transaction that reads: %v", err)
	}
	for _, i := range l.db.Items(loaded) {
		if i["customer"].(*types.AttributeValueMemberS).Value == "somebody" {
			t.Error("half a transaction is stored")
		}
	}
	l.now = l.now.Add(time.Second)
	if left, err := write(hot, cold()); err != nil || len(left) != 0 {
		t.Errorf("a second later: %v, %v", left, err)
	}
}

// The test's own hands are not bound, and without the option nothing is.
func TestLimitsAreForClients(t *testing.T) {
	l := newLoad(t, nil)
	huge := big("one", 300)
	for range 20 {
		if err := l.db.Seed(loaded, huge); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.put("one", 2); err != nil {
		t.Errorf("Seed has used up what is for clients: %v", err)
	}
	free := dynamotest.New(t)
	createOrders(t, free, "free")
	client := free.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	for range 5 {
		huge["id"] = &types.AttributeValueMemberS{Value: "one"}
		if _, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("free"), Item: huge}); err != nil {
			t.Fatal(err)
		}
	}
}
