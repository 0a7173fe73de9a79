package dynamostore_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// asDeployed is the SDK's own retryer, with the quota of retries that all calls of an
// environment share.
func asDeployed(o *dynamodb.Options) { o.Retryer = retry.NewStandard() }

// unreliable answers a share of the requests with a 500, half of these after they were
// applied.
type unreliable struct {
	db    *dynamotest.DB
	share float64
	dice  *rand.Rand
}

// RoundTrip implements [http.RoundTripper].
func (u *unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(time.Duration(1+u.dice.IntN(9)) * time.Millisecond)
	u.db.ClearFaults()
	if u.dice.Float64() < u.share {
		effect := dynamotest.FailBefore()
		if u.dice.IntN(2) == 0 {
			effect = dynamotest.FailAfter()
		}
		u.db.Inject(dynamotest.Fault{Do: effect})
	}
	return u.db.RoundTrip(r)
}

// deployed returns a store as it is deployed, on a way to DynamoDB that is unreliable.
func deployed(t *testing.T, share float64) (*unreliable, *dynamostore.Store) {
	t.Helper()
	db := dynamotest.New(t)
	config := dynamostore.Config{Table: "idempotency"}
	if err := dynamostore.CreateTable(t.Context(), db.Client(), config); err != nil {
		t.Fatal(err)
	}
	way := &unreliable{db, share, rand.New(rand.NewPCG(1, 2))}
	store, err := dynamostore.New(db.Client(asDeployed, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: way} }), config)
	if err != nil {
		t.Fatal(err)
	}
	return way, store
}

// An outage of DynamoDB in which requests fail by chance, and one environment in which a
// thousand payments are made. The SDK's quota of retries is soon empty. A payment that was
// charged must be recorded all the same, or it is charged again when its lease is over.
func TestInAnOutageWhatWasChargedIsRecorded(t *testing.T) {
	const payments = 1000
	for _, share := range []float64{0, 0.4, 0.6} {
		t.Run(fmt.Sprintf("%.0f percent", 100*share), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				way, store := deployed(t, share)
				guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				charged, recorded, longest := 0, 0, time.Duration(0)
				for id := range payments {
					ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
					began := time.Now()
					_, _ = idempotent.Do(ctx, guard, strconv.Itoa(id), func(context.Context) (string, error) {
						charged++
						return "paid", nil
					})
					longest = max(longest, time.Since(began))
					cancel()
				}
				for _, item := range way.db.Items("idempotency") {
					if status, ok := item["status"].(*types.AttributeValueMemberS); ok && status.Value == string(persistence.StatusCompleted) {
						recorded++
					}
				}
				t.Logf("%d of %d payments charged, %d of them not recorded; %d requests, the longest call took %v",
					charged, payments, charged-recorded, len(way.db.Requests()), longest.Round(time.Millisecond))
				if charged != recorded {
					t.Errorf("%d payments were charged, and %d are recorded", charged, recorded)
				}
				if charged < payments*99/100 {
					t.Errorf("%d of %d payments were made", charged, payments)
				}
			})
		})
	}
}
