package dynamostore_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// now is the clock of these tests: data, like everything a store knows of time.
// Far in the future, so that no endpoint's TTL deletes what they write.
var now = time.Date(2100, 1, 1, 0, 0, 0, 250_000_000, time.UTC)

type attributes = map[string]types.AttributeValue

// newTable returns a store on a new table of a client.
func newTable(t testing.TB, client *dynamodb.Client, config dynamostore.Config) planter {
	t.Helper()
	if err := dynamostore.CreateTable(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	store, err := dynamostore.New(client, config)
	if err != nil {
		t.Fatal(err)
	}
	return planter{store, client, config}
}

// newStore returns a store on an embedded database's table "idempotency".
func newStore(t testing.TB) (*dynamotest.DB, planter) {
	t.Helper()
	return newStoreWith(t, dynamostore.Config{})
}

func newStoreWith(t testing.TB, config dynamostore.Config) (*dynamotest.DB, planter) {
	t.Helper()
	db := dynamotest.New(t)
	config.Table = "idempotency"
	store := newTable(t, db.Client(impatient), config)
	db.ResetLog()
	return db, store
}

// impatient makes the SDK's retries come without the pauses between them, and
// practically without an end.
func impatient(o *dynamodb.Options) {
	o.RetryMaxAttempts = 100
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

func claim(owner string) persistence.Claim {
	return persistence.Claim{
		Key:        "payment#1",
		Owner:      owner,
		Now:        now,
		LeaseUntil: now.Add(30500 * time.Millisecond),
		ExpiresAt:  now.Add(time.Hour).Truncate(time.Second).Add(time.Second),
	}
}

func completed(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: now.Add(time.Hour)}
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
