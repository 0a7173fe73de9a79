package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A replay allocates hardly more than the request that it sends, whatever the size of
// the event: counted against requests written by hand, with the SDK's own client and
// DynamoDB's own answer.
func TestReplayAllocatesLittleBesidesItsRequest(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), lambdaTimeout)
	defer cancel()
	db := dynamotest.New(t)
	store, err := newStore(ctx, db.Client(), "bench")
	if err != nil {
		t.Fatal(err)
	}
	firstRun, err := newHandler(store)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := firstRun.Invoke(ctx, payment("p-1", eventBytes)); err != nil {
		t.Fatal(err)
	}
	client := db.Client(func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: &cannedAnswer{endpoint: db}}
	})
	if store, err = dynamostore.New(client, dynamostore.Config{Table: "bench"}); err != nil {
		t.Fatal(err)
	}
	handler, err := newHandler(store)
	if err != nil {
		t.Fatal(err)
	}
	key, err := idempotency.Key("payment", "p-1")
	if err != nil {
		t.Fatal(err)
	}
	replay := func(size int) int {
		event := payment("p-1", size)
		return allocations(t, func() error { _, err := handler.Invoke(ctx, event); return err })
	}
	small, large := replay(1<<10), replay(64<<10)
	for name, byHand := range map[string]struct {
		failingPut func() error
		most       int
	}{
		"the same request with the same two deadlines": {most: 3, failingPut: func() error {
			asking, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			trying, cancel := context.WithTimeout(asking, time.Second)
			defer cancel()
			return storedResult(putByHand(trying, client, key))
		}},
		"the same request": {most: 15, failingPut: func() error { return storedResult(putByHand(ctx, client, key)) }},
		"the barest put":   {most: 32, failingPut: func() error { return bareCalls{client, "bench"}.failingPut(ctx, key) }},
	} {
		hand := allocations(t, byHand.failingPut)
		t.Logf("a replay allocates %d times, %s by hand %d times", small, name, hand)
		if more := small - hand; more > byHand.most {
			t.Errorf("a replay allocates %d times, %d more than %s by hand, want at most %d", small, more, name, byHand.most)
		}
	}
	if more := large - small; more > 2 { // the race detector empties the pool of what is read into
		t.Errorf("a replay of a larger event allocates %d times more", more)
	}
}

// A first run allocates no more than a twentieth more than its two requests by hand.
func TestAFirstRunAllocatesLittleBesidesItsRequests(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), lambdaTimeout)
	defer cancel()
	db := dynamotest.New(t)
	client := db.Client(func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: writtenAnswer{}}
	})
	store, err := dynamostore.New(client, dynamostore.Config{Table: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := newHandler(store)
	if err != nil {
		t.Fatal(err)
	}
	key, err := idempotency.Key("payment", "p-1")
	if err != nil {
		t.Fatal(err)
	}
	event := payment("p-1", eventBytes)
	run := allocations(t, func() error { _, err := handler.Invoke(ctx, event); return err })
	hand := allocations(t, func() error {
		if err := putByHand(ctx, client, key); err != nil {
			return err
		}
		return updateByHand(ctx, client, key)
	})
	t.Logf("a first run allocates %d times, its requests by hand %d times", run, hand)
	if most := hand + hand/20; run > most {
		t.Errorf("a first run allocates %d times, its requests by hand %d times: want at most %d", run, hand, most)
	}
}

// writtenAnswer answers every write with success.
type writtenAnswer struct{}

func (writtenAnswer) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {"2745614147"}},
		Body:   io.NopCloser(strings.NewReader("{}")), ContentLength: 2,
	}, nil
}

// allocations returns how often a call allocates: in the run with the fewest, since now
// and then a pool is emptied, by the race detector also on purpose.
func allocations(t *testing.T, call func() error) int {
	t.Helper()
	least := math.MaxInt
	for range 400 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := call(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		least = min(least, int(after.Mallocs-before.Mallocs))
	}
	return least
}

// cannedAnswer answers all requests as the endpoint has answered the first.
type cannedAnswer struct {
	endpoint http.RoundTripper
	first    *http.Response
	body     []byte
}

func (c *cannedAnswer) RoundTrip(request *http.Request) (*http.Response, error) {
	if c.first == nil {
		response, err := c.endpoint.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		if c.body, err = io.ReadAll(response.Body); err != nil {
			return nil, err
		}
		c.first = response
	}
	response := *c.first
	response.Request, response.Body = request, io.NopCloser(bytes.NewReader(c.body))
	return &response, nil
}

// putByHand sends the request of the toolkit's acquire as one would write it down.
func putByHand(ctx context.Context, client *dynamodb.Client, key string) error {
	now := time.Now()
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("bench"),
		Item: map[string]types.AttributeValue{
			"idempotency_key": &types.AttributeValueMemberS{Value: key},
			"status":          &types.AttributeValueMemberS{Value: "PROCESSING"},
			"owner":           &types.AttributeValueMemberS{Value: rand.Text()},
			"lease_until":     &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(time.Minute).UnixMilli(), 10)},
			"expire_at":       &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(time.Hour).Unix(), 10)},
			"started_at":      &types.AttributeValueMemberN{Value: strconv.FormatInt(now.UnixMilli(), 10)},
			"attempt":         &types.AttributeValueMemberN{Value: "1"},
			"version":         &types.AttributeValueMemberN{Value: "1"},
		},
		ConditionExpression: aws.String("attribute_not_exists(#k) OR #x < :now AND NOT #l >= :nowms"),
		ExpressionAttributeNames: map[string]string{
			"#k": "idempotency_key", "#x": "expire_at", "#l": "lease_until",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now":   &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Unix(), 10)},
			":nowms": &types.AttributeValueMemberN{Value: strconv.FormatInt(now.UnixMilli(), 10)},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

// updateByHand sends the request of the toolkit's complete as one would write it down.
func updateByHand(ctx context.Context, client *dynamodb.Client, key string) error {
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:           aws.String("bench"),
		Key:                 map[string]types.AttributeValue{"idempotency_key": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression:    aws.String("SET #s = :status, #x = :expire, #r = :result REMOVE #l"),
		ConditionExpression: aws.String("#o = :owner AND #s = :processing"),
		ExpressionAttributeNames: map[string]string{
			"#s": "status", "#x": "expire_at", "#r": "result", "#l": "lease_until", "#o": "owner",
		},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":status":     &types.AttributeValueMemberS{Value: "COMPLETED"},
			":expire":     &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)},
			":result":     &types.AttributeValueMemberS{Value: string(result)},
			":owner":      &types.AttributeValueMemberS{Value: rand.Text()},
			":processing": &types.AttributeValueMemberS{Value: "PROCESSING"},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}
