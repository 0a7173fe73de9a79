package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// TestACheckoutGoesOnWithoutItsClient is what functions/resume does: the goods were reserved, the
// provider could not be reached, and the client does not come back, or later than that.
func TestACheckoutGoesOnWithoutItsClient(t *testing.T) {
	db := newDatabase(t)
	first := newEnvironment(t, db, "flaky", "")
	if _, err := first.Invoke(event(t, "httpapi-checkout")); err == nil {
		t.Fatal("the provider is not flaky")
	}
	wantRecord(t, db, "PARTIAL_SUCCESS", "reserve-stock")
	store, err := dynamostore.New(db.Client(), dynamostore.Config{Table: lambdatest.IdempotencyTable})
	if err != nil {
		t.Fatal(err)
	}
	desk, err := records.New(store, records.Config{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	another := newEnvironment(t, db, "", "")
	swept, err := desk.Sweep(t.Context(), records.Sweep{
		Send: func(_ context.Context, _ records.Record, event []byte) error {
			if strings.Contains(strings.ToLower(string(event)), "authorization") {
				t.Errorf("it keeps who the client is: %s", event)
			}
			another.Respond(event, 201)
			return nil
		},
		Abandon: func(_ context.Context, c records.Case) error { t.Errorf("abandoned: %s", c.Why); return nil },
	})
	if err != nil || swept.Ended != 1 {
		t.Fatalf("it comes to %+v, %v", swept, err)
	}
	wantBooks(t, db, sold)
	answer := first.Respond(event(t, "httpapi-checkout-retry"), 201)
	if answer.Headers["Idempotent-Replayed"] != "true" {
		t.Errorf("the client's own retry is answered %v", answer.Headers)
	}
	wantBooks(t, db, sold)
}
