package eventguard_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestShortFormOnlyLockDuplicateIsAcknowledged(t *testing.T) {
	db := dynamotest.New(t)
	c := dynamostore.Config{Table: "idem"}
	if err := dynamostore.CreateTable(t.Context(), db.Client(), c); err != nil {
		t.Fatal(err)
	}
	s, err := dynamostore.New(db.Client(), c)
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, s, idempotent.Config{Key: byOrderID, OnlyEnlists: true, OnlyLock: true})
	h := consumer(t, g, eventguard.Config{}, func(context.Context, order, events.SQSMessage) error { return nil })
	for i := range 3 {
		got, err := h(t.Context(), batch(message("m", body("o1"))))
		if err != nil || len(got.BatchItemFailures) > 0 {
			t.Errorf("delivery %d: %v %v", i, got, err)
		}
	}
}

func TestAPermanentFailureOfAnUnprotectedSagaIsAcknowledged(t *testing.T) {
	a := saga.NewStep(saga.Spec[string]{Name: "a"})
	for _, step := range []bool{false, true} {
		g := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID, Steps: saga.Steps(a), RunWithoutKey: true})
		h := consumer(t, g, eventguard.Config{OnPermanent: eventguard.AcknowledgePermanent}, func(ctx context.Context, _ order, _ events.SQSMessage) error {
			if step {
				if _, err := a.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil }); err != nil {
					t.Error(err)
				}
			}
			return idempotent.Permanent(errTryAgain)
		})
		got, err := h(t.Context(), batch(message("m", `{}`)))
		if err != nil || len(got.BatchItemFailures) > 0 {
			t.Errorf("step %t: %v %v", step, got, err)
		}
	}
}
