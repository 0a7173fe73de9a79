package redisstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
)

// orders is an operation of two steps, the first of which can be undone.
type orders struct {
	guard           *idempotent.Guard
	reserve, charge *saga.Step[string]
	fails           error // of the second step
	did             []string
}

func (o *orders) place(ctx context.Context) (string, error) {
	return idempotent.Do(ctx, o.guard, "order-1", func(ctx context.Context) (string, error) {
		box, err := o.reserve.Run(ctx, func(context.Context, saga.Call) (string, error) {
			o.did = append(o.did, "reserve")
			return "box 7", nil
		})
		if err != nil {
			return "", err
		}
		paid, err := o.charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
			o.did = append(o.did, "charge")
			return "12.50", o.fails
		})
		return box + ", " + paid, err
	})
}

func newOrders(t *testing.T) *orders {
	t.Helper()
	o := new(orders)
	o.reserve = saga.NewStep(saga.Spec[string]{
		Name: "reserve",
		Compensate: func(_ context.Context, _ saga.Call, box string) error {
			o.did = append(o.did, "free "+box)
			return nil
		},
	})
	o.charge = saga.NewStep(saga.Spec[string]{Name: "charge"})
	var err error
	o.guard, err = idempotent.New(newLab(t).Store, idempotent.Config{Operation: "order", Steps: saga.Steps(o.reserve, o.charge)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAnOrderResumesAtTheStepThatFailed(t *testing.T) {
	o := newOrders(t)
	o.fails = errors.New("the bank is down")
	if _, err := o.place(t.Context()); !errors.Is(err, o.fails) {
		t.Fatal(err)
	}
	o.fails = nil
	for range 2 {
		if out, err := o.place(t.Context()); out != "box 7, 12.50" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
	}
	if want := []string{"reserve", "charge", "charge"}; !slices.Equal(o.did, want) {
		t.Errorf("did %q, want %q", o.did, want)
	}
}

func TestAnOrderThatFailsForGoodIsUndoneOnce(t *testing.T) {
	o := newOrders(t)
	o.fails = idempotent.Permanent(errors.New("declined"))
	for range 2 {
		if _, err := o.place(t.Context()); !errors.Is(err, idempotent.ErrPermanent) {
			t.Errorf("%v", err)
		}
	}
	if want := []string{"reserve", "charge", "free box 7"}; !slices.Equal(o.did, want) {
		t.Errorf("did %q, want %q", o.did, want)
	}
}
