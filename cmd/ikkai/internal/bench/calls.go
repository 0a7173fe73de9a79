package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Call is how long one kind of call takes.
type Call struct {
	Name string `json:"name"`
	// Requests are what one call sends to DynamoDB.
	Requests int           `json:"requests"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	// Bare names the bare call this one is measured against, and Ratio is how
	// many times as long it takes at p50. Empty and 0 for the bare calls.
	Bare  string  `json:"bare,omitempty"`
	Ratio float64 `json:"ratio,omitempty"`
}

const (
	resultBytes = 1 << 10
	eventBytes  = 1 << 10
	// warmUp rounds are not counted: they open connections and grow heaps.
	warmUp = 200
)

// measureCalls measures the calls by turns and returns the endpoint's name too.
func measureCalls(ctx context.Context, options Options) (endpoint string, calls []Call, err error) {
	client, endpoint, stop, err := connect(options.Endpoint)
	if err != nil {
		return "", nil, err
	}
	defer stop()
	table := "ikkai-bench-" + rand.Text()
	store, err := newStore(ctx, client, table)
	if err != nil {
		return "", nil, err
	}
	defer func() {
		_, dropped := client.DeleteTable(context.WithoutCancel(ctx), &dynamodb.DeleteTableInput{TableName: &table})
		err = errors.Join(err, dropped)
	}()
	kit, err := newToolkit(store)
	if err != nil {
		return "", nil, err
	}
	c := contest{bare: bareCalls{client, table}, toolkit: kit}
	for n := range warmUp + options.Rounds {
		if n == warmUp {
			c.reset()
		}
		if err := c.round(ctx, n); err != nil {
			return "", nil, fmt.Errorf("round %d: %w", n, err)
		}
	}
	return endpoint, c.calls(), nil
}

func newStore(ctx context.Context, client *dynamodb.Client, table string) (*dynamostore.Store, error) {
	config := dynamostore.Config{Table: table}
	if err := dynamostore.CreateTable(ctx, client, config); err != nil {
		return nil, err
	}
	return dynamostore.New(client, config)
}

// contest holds what was measured so far.
type contest struct {
	bare    bareCalls
	toolkit toolkit

	putUpdate, firstRun, failingPut, replay, cached latencies
}

func (c *contest) reset() {
	*c = contest{bare: c.bare, toolkit: c.toolkit}
}

// round measures each call once, under keys of its own. Who begins changes from
// round to round, because the first of two like calls finds colder caches.
func (c *contest) round(ctx context.Context, n int) error {
	id := strconv.Itoa(n)
	event := payment(id, eventBytes)
	first := []func() error{
		func() error {
			return c.putUpdate.time(func() error { return c.bare.putUpdate(ctx, id) })
		},
		func() error {
			return c.firstRun.time(func() error { return c.toolkit.call(ctx, c.toolkit.stored, event) })
		},
	}
	again := []func() error{
		func() error {
			return c.failingPut.time(func() error { return c.bare.failingPut(ctx, id) })
		},
		func() error {
			return c.replay.time(func() error { return c.toolkit.call(ctx, c.toolkit.stored, event) })
		},
	}
	for _, pair := range [][]func() error{first, again} {
		for i := range pair {
			if err := pair[(n+i)%len(pair)](); err != nil {
				return err
			}
		}
	}
	if err := c.toolkit.call(ctx, c.toolkit.cached, event); err != nil {
		return err
	}
	return c.cached.time(func() error { return c.toolkit.call(ctx, c.toolkit.cached, event) })
}

func (l *latencies) time(call func() error) error {
	started := time.Now()
	err := call()
	*l = append(*l, time.Since(started))
	return err
}

func (c *contest) calls() []Call {
	const putUpdate, failingPut = "bare PutItem + UpdateItem", "bare PutItem that fails, ALL_OLD"
	bare := map[string]latencies{putUpdate: c.putUpdate, failingPut: c.failingPut}
	call := func(name string, requests int, l latencies, against string) Call {
		measured := Call{Name: name, Requests: requests, P50: l.quantile(0.50), P99: l.quantile(0.99), Bare: against}
		if against != "" {
			measured.Ratio = float64(measured.P50) / float64(bare[against].quantile(0.50))
		}
		return measured
	}
	return []Call{
		call(putUpdate, 2, c.putUpdate, ""),
		call("toolkit, first run", 2, c.firstRun, putUpdate),
		call(failingPut, 1, c.failingPut, ""),
		call("toolkit, replay", 1, c.replay, failingPut),
		call("toolkit, replay from the cache", 0, c.cached, ""),
	}
}

// result is what every call stores or replays.
var result = fmt.Appendf(nil, `{"receipt":%q}`, bytes.Repeat([]byte("r"), resultBytes-len(`{"receipt":""}`)))

// bareCalls are the least that one could write by hand with the SDK: no owner,
// no lease, no key to find in the payload.
type bareCalls struct {
	client *dynamodb.Client
	table  string
}

func (b bareCalls) put(ctx context.Context, id string) error {
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &b.table,
		Item: map[string]types.AttributeValue{
			"idempotency_key": &types.AttributeValueMemberS{Value: id},
			"status":          &types.AttributeValueMemberS{Value: "INPROGRESS"},
			"expire_at":       &types.AttributeValueMemberN{Value: "4102444800"},
		},
		ConditionExpression:                 aws.String("attribute_not_exists(idempotency_key)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	return err
}

func (b bareCalls) putUpdate(ctx context.Context, id string) error {
	if err := b.put(ctx, id); err != nil {
		return err
	}
	_, err := b.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                &b.table,
		Key:                      map[string]types.AttributeValue{"idempotency_key": &types.AttributeValueMemberS{Value: id}},
		UpdateExpression:         aws.String("SET #s = :s, #r = :r"),
		ExpressionAttributeNames: map[string]string{"#s": "status", "#r": "result"},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":s": &types.AttributeValueMemberS{Value: "COMPLETED"},
			":r": &types.AttributeValueMemberS{Value: string(result)},
		},
	})
	return err
}

func (b bareCalls) failingPut(ctx context.Context, id string) error {
	var failed *types.ConditionalCheckFailedException
	switch err := b.put(ctx, id); {
	case err == nil:
		return errors.New("a bare PutItem found no item of the first one")
	case !errors.As(err, &failed):
		return err
	}
	if stored, ok := failed.Item["result"].(*types.AttributeValueMemberS); !ok || stored.Value != string(result) {
		return errors.New("a bare PutItem got another item than the one stored")
	}
	return nil
}

// toolkit is the same through the library, as a Lambda function uses it.
type toolkit struct {
	stored lambda.Handler
	cached lambda.Handler
}

func newToolkit(store persistence.Store) (toolkit, error) {
	handler := func(store persistence.Store) (lambda.Handler, error) {
		guard, err := idempotent.New(store, idempotent.Config{
			Operation: "payment",
			Key:       idempotency.MustJMESPath("payment_id"),
		})
		if err != nil {
			return nil, err
		}
		return guard.Handler(func(context.Context, json.RawMessage) (json.RawMessage, error) { return result, nil }), nil
	}
	stored, err := handler(store)
	if err != nil {
		return toolkit{}, err
	}
	cached, err := handler(persistence.NewCached(store, persistence.CacheLimits{}))
	if err != nil {
		return toolkit{}, err
	}
	return toolkit{stored: stored, cached: cached}, nil
}

func (t toolkit) call(ctx context.Context, handler lambda.Handler, event []byte) error {
	answer, err := handler.Invoke(ctx, event)
	if err == nil && !bytes.Equal(answer, result) {
		err = errors.New("the toolkit answered something else than the result")
	}
	return err
}
