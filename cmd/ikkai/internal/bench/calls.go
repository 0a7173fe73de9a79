package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/figures"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// Call is how long one kind of call takes.
type Call struct {
	Name string `json:"name"`
	// Requests are what one call sends to DynamoDB.
	Requests int           `json:"requests"`
	P50      time.Duration `json:"p50_ns"`
	P99      time.Duration `json:"p99_ns"`
	// AgainstBare, AgainstSame and AgainstHand are how many times as long it takes at p50 as
	// the bare calls, as the same requests and nothing else, and as the same written by hand,
	// with a key from the event and deadlines; 0 where there is nothing to measure against.
	AgainstBare float64 `json:"against_bare,omitempty"`
	AgainstSame float64 `json:"against_same,omitempty"`
	AgainstHand float64 `json:"against_hand,omitempty"`
}

const (
	resultBytes = 1 << 10
	eventBytes  = 1 << 10
	// warmUp rounds are not counted: they open connections and grow heaps.
	warmUp = 200
	// lambdaTimeout is Lambda's longest.
	lambdaTimeout = 15 * time.Minute
)

// measureCalls measures the calls by turns and returns the endpoint's name too.
func measureCalls(ctx context.Context, options Options) (endpoint string, calls []Call, err error) {
	client, endpoint, stop, err := connect(ctx, options.Endpoint)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
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
	same, err := recordRequests(ctx, client, table)
	if err != nil {
		return "", nil, err
	}
	// Lambda's contexts have a deadline, which costs every request a little.
	ctx, cancel := context.WithTimeout(ctx, lambdaTimeout)
	defer cancel()
	c := contest{bare: bareCalls{client, table}, same: same, hand: byHand{same}, toolkit: kit}
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
	same    *sameRequests
	hand    byHand
	toolkit toolkit

	barePutUpdate, samePutUpdate, handPutUpdate, firstRun figures.Durations
	bareFailing, sameFailing, handFailing, replay         figures.Durations
	cached                                                figures.Durations
}

func (c *contest) reset() {
	*c = contest{bare: c.bare, same: c.same, hand: c.hand, toolkit: c.toolkit}
}

// round measures each call once, under keys of its own. Who begins changes from
// round to round, because the first of several like calls finds colder caches.
func (c *contest) round(ctx context.Context, n int) error {
	id := strconv.Itoa(n)
	event := payment(id, eventBytes)
	stored := func() error { return c.toolkit.call(ctx, c.toolkit.stored, event) }
	cached := func() error { return c.toolkit.call(ctx, c.toolkit.cached, event) }
	err := byTurns(n,
		turn{&c.barePutUpdate, func() error { return c.bare.putUpdate(ctx, id) }},
		turn{&c.samePutUpdate, func() error { return c.same.putUpdate(ctx, id) }},
		turn{&c.handPutUpdate, func() error { return c.hand.putUpdate(ctx, event) }},
		turn{&c.firstRun, stored})
	if err != nil {
		return err
	}
	err = byTurns(n,
		turn{&c.bareFailing, func() error { return c.bare.failingPut(ctx, id) }},
		turn{&c.sameFailing, func() error { return c.same.failingPut(ctx, id) }},
		turn{&c.handFailing, func() error { return c.hand.failingPut(ctx, event) }},
		turn{&c.replay, stored})
	if err != nil {
		return err
	}
	if err := cached(); err != nil { // fills the cache
		return err
	}
	return byTurns(n, turn{&c.cached, cached})
}

// turn is one call and where its duration goes.
type turn struct {
	to   *figures.Durations
	call func() error
}

// byTurns measures calls one after another, beginning with the n-th.
func byTurns(n int, turns ...turn) error {
	for i := range turns {
		t := turns[(n+i)%len(turns)]
		started := time.Now()
		if err := t.call(); err != nil {
			return err
		}
		*t.to = append(*t.to, time.Since(started))
	}
	return nil
}

func (c *contest) calls() []Call {
	call := func(name string, requests int, l figures.Durations) Call {
		return Call{Name: name, Requests: requests, P50: l.Quantile(0.50), P99: l.Quantile(0.99)}
	}
	bare, failing := call("bare PutItem + UpdateItem", 2, c.barePutUpdate), call("bare PutItem that fails", 1, c.bareFailing)
	same, sameFailing := call("the toolkit's requests, and nothing else", 2, c.samePutUpdate), call("the toolkit's request, and nothing else", 1, c.sameFailing)
	hand, handFailing := call("the same by hand: key, deadlines, requests", 2, c.handPutUpdate), call("the same by hand: key, deadlines, request", 1, c.handFailing)
	first, replay := call("toolkit, first run", 2, c.firstRun), call("toolkit, replay", 1, c.replay)
	same.AgainstBare, sameFailing.AgainstBare = ratio(same, bare), ratio(sameFailing, failing)
	hand.AgainstBare, handFailing.AgainstBare = ratio(hand, bare), ratio(handFailing, failing)
	first.AgainstBare, replay.AgainstBare = ratio(first, bare), ratio(replay, failing)
	first.AgainstSame, replay.AgainstSame = ratio(first, same), ratio(replay, sameFailing)
	first.AgainstHand, replay.AgainstHand = ratio(first, hand), ratio(replay, handFailing)
	return []Call{bare, same, hand, first, failing, sameFailing, handFailing, replay, call("toolkit, replay from the cache", 0, c.cached)}
}

func ratio(measured, against Call) float64 {
	return float64(measured.P50) / float64(max(1, against.P50))
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
	return storedResult(b.put(ctx, id))
}

// storedResult makes sure that a PutItem failed and brought the result back.
func storedResult(err error) error {
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return errors.New("a second PutItem did not fail")
	case !errors.As(err, &failed):
		return err
	}
	if stored, ok := failed.Item["result"].(*types.AttributeValueMemberS); !ok || stored.Value != string(result) {
		return errors.New("a failed PutItem brought back something else than the result")
	}
	return nil
}

// toolkit is the same through the library, as a Lambda function uses it.
type toolkit struct {
	stored lambda.Handler
	cached lambda.Handler
}

func newToolkit(store persistence.Store) (toolkit, error) {
	stored, err := newHandler(store)
	if err != nil {
		return toolkit{}, err
	}
	cached, err := newHandler(cached.New(store, cached.Limits{}))
	return toolkit{stored: stored, cached: cached}, err
}

func newHandler(store persistence.Store) (lambda.Handler, error) {
	guard, err := idempotent.New(store, idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id"),
	})
	if err != nil {
		return nil, err
	}
	return guard.Handler(receipts{}), nil
}

// receipts is a handler that does nothing but answer, so that what is measured is
// the toolkit. It takes raw bytes: decoding events is every function's own.
type receipts struct{}

// Invoke implements [lambda.Handler].
func (receipts) Invoke(context.Context, []byte) ([]byte, error) { return result, nil }

func (t toolkit) call(ctx context.Context, handler lambda.Handler, event []byte) error {
	answer, err := handler.Invoke(ctx, event)
	if err == nil && !bytes.Equal(answer, result) {
		err = errors.New("the toolkit answered something else than the result")
	}
	return err
}
