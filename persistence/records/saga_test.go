package records_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// checkout is a saga of two steps, and what it does to the world.
type checkout struct {
	guard           *idempotent.Guard
	reserve, charge *saga.Step[string]
	did             []string
	charging        func() error // what becomes of a charge
	undoing         error        // why the reservation can't be put back
	after           error        // the function's own, behind its steps
}

func newCheckout(t *testing.T, store persistence.Store) *checkout {
	t.Helper()
	c := &checkout{charging: func() error { return nil }}
	c.reserve = saga.NewStep(saga.Spec[string]{Name: "reserve", Compensate: func(context.Context, saga.Call, string) error {
		if c.undoing == nil {
			c.did = append(c.did, "put back")
		}
		return c.undoing
	}})
	c.charge = saga.NewStep(saga.Spec[string]{Name: "charge", AtMostOnce: true})
	guard, err := idempotent.New(store, idempotent.Config{
		Operation: "payment", Key: idempotency.MustJMESPath("id"), Steps: saga.Steps(c.reserve, c.charge), KeepEvent: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c.guard = guard
	return c
}

func (c *checkout) run(ctx context.Context, _ map[string]string) (string, error) {
	box, err := c.reserve.Run(ctx, func(context.Context, saga.Call) (string, error) {
		c.did = append(c.did, "reserved")
		return "box", nil
	})
	if err != nil {
		return "", err
	}
	paid, err := c.charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
		if err := c.charging(); err != nil {
			return "", err
		}
		c.did = append(c.did, "charged")
		return "c-1", nil
	})
	if err != nil {
		return "", err
	}
	return box + " " + paid, c.after
}

func (c *checkout) invoke(ctx context.Context, event []byte) error {
	_, err := c.guard.Handler(c.run).Invoke(ctx, event)
	return err
}

// TestAStuckSagaIsSettledAndResumed tells what an operator does about a saga that only a person
// can mend.
func TestAStuckSagaIsSettledAndResumed(t *testing.T) {
	declined := idempotent.Permanent(errors.New("sold out"))
	for _, c := range []struct {
		name   string
		begin  func(*checkout)
		reason records.Reason
		settle records.Settlement
		mended func(*checkout)
		state  records.State
		did    []string
	}{
		{"the charge has happened", func(c *checkout) { c.charging = func() error { return errors.New("no answer") } },
			records.StuckUnknown, records.FinishStep("charge", []byte(`"c-9"`)), func(*checkout) {},
			records.StateCompleted, []string{"reserved"}},
		{"the charge has happened, and nobody says with what", func(c *checkout) { c.charging = func() error { return errors.New("no answer") } },
			records.StuckUnknown, records.FinishStep("charge", nil), func(*checkout) {},
			records.StatePartial, []string{"reserved"}},
		{"the charge has not happened", func(c *checkout) { c.charging = func() error { return errors.New("no answer") } },
			records.StuckUnknown, records.DeclineStep("charge"), func(c *checkout) { c.charging = func() error { return nil } },
			records.StateCompleted, []string{"reserved", "charged"}},
		{"the reservation was put back by hand", func(c *checkout) { c.after, c.undoing = declined, errors.New("no such box") },
			records.StuckUndoing, records.UndoStep("reserve"), func(*checkout) {},
			records.StateFailed, []string{"reserved", "charged"}},
	} {
		kinds := maps.Clone(stores)
		kinds["sealed"] = func(t *testing.T) persistence.Store { return sealedStore(t, persistence.NewMemory()) }
		for name, newStore := range kinds {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(now))
					store := newStore(t)
					shop := newCheckout(t, store)
					c.begin(shop)
					if err := shop.invoke(t.Context(), []byte(`{"id":"1"}`)); err == nil {
						t.Fatal("it has not failed")
					}
					time.Sleep(time.Hour)
					desk := newDesk(t, store, records.Config{Now: time.Now})
					stuck := onlyStuck(t, desk)
					if stuck.Stuck != c.reason {
						t.Fatalf("it is stuck as %q: %+v", stuck.Stuck, stuck)
					}
					if plan, err := desk.Settle(t.Context(), stuck, c.settle); err != nil || strings.Contains(plan.String(), "without a Reconcile no try") != (c.state == records.StatePartial) {
						t.Errorf("it is to be settled by\n%v (%v)", plan, err)
					}
					if got := outcomeOf(t, desk, stuck, settle(c.settle)); got != "done" {
						t.Fatal(got)
					}
					c.mended(shop)
					shown, err := desk.Show(t.Context(), stuck.Key)
					if err != nil {
						t.Fatal(err)
					}
					plan, err := desk.Resume(t.Context(), shown, records.Resumption{Invoke: shop.invoke, RecordKey: shop.guard.RecordKey})
					if err != nil {
						t.Fatal(err)
					}
					if strings.Contains(plan.String(), "is not recorded") != (c.state == records.StatePartial && name != "sealed") {
						t.Errorf("it is to be resumed by\n%v", plan)
					}
					after, err := plan.Do(t.Context())
					if after.State != c.state || (err == nil) != (c.state == records.StateCompleted) {
						t.Errorf("it is %+v (%v)", after, err)
					}
					if !slices.Equal(shop.did, c.did) {
						t.Errorf("it did %q, want %q", shop.did, c.did)
					}
				})
			})
		}
	}
}

func sealedStore(t *testing.T, behind persistence.Store) persistence.Store {
	t.Helper()
	aes, err := sealed.NewAES(sealed.Key{ID: "1", Secret: bytes.Repeat([]byte("k"), 32)})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sealed.New(behind, aes, sealed.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func onlyStuck(t *testing.T, desk *records.Desk) records.Record {
	t.Helper()
	var all []records.Record
	for r, err := range desk.List(t.Context(), records.Filter{Stuck: true}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) != 1 {
		t.Fatalf("%d records are stuck", len(all))
	}
	return all[0]
}
