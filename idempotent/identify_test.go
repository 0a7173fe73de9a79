package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// An adapter's request has the record that the guard's own expressions give its
// payload; without a Key, the one of the id that the adapter knows.
func TestIdentifyFindsTheRecordOfFuncAndOfDo(t *testing.T) {
	tests := map[string]struct {
		config idempotent.Config
		same   func(*idempotent.Guard) error // the same request by other means
	}{
		"by the expression": {
			idempotent.Config{Key: idempotency.MustJMESPath("id"), Fingerprint: idempotency.MustJMESPath("amount")},
			func(g *idempotent.Guard) error {
				_, err := idempotent.Func(g, func(context.Context, order) (string, error) { return "", errors.New("ran") })(t.Context(), order{ID: "o-1", Amount: 5})
				return err
			},
		},
		"by a verbatim expression": {
			idempotent.Config{Key: idempotency.MustJMESPath("id").Verbatim()},
			func(g *idempotent.Guard) error {
				_, err := idempotent.Func(g, func(context.Context, order) (string, error) { return "", errors.New("ran") })(t.Context(), order{ID: "o-1"})
				return err
			},
		},
		"by the id without an expression": {
			idempotent.Config{},
			func(g *idempotent.Guard) error {
				_, err := idempotent.Do(t.Context(), g, "m-1", func(context.Context) (string, error) { return "", errors.New("ran") })
				return err
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.config.Operation = "payment"
			guard, err := idempotent.New(persistence.NewMemory(), test.config)
			if err != nil {
				t.Fatal(err)
			}
			id := guard.IdentifyOr([]byte(`{"id": "o-1", "amount": 5}`), "m-1")
			if _, err := idempotent.DoAs(t.Context(), guard, id, func(context.Context) (string, error) { return "done", nil }); err != nil {
				t.Fatal(err)
			}
			if err := test.same(guard); err != nil {
				t.Errorf("the same request by other means: %v, want a replay", err)
			}
		})
	}
}

func TestIdentifyRefusesWhatGivesNoKey(t *testing.T) {
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{Fingerprint: idempotency.MustJMESPath("amount")})
	for _, payload := range []string{`{"amount": 1}`, `{"id": "o-1"}`, `not JSON`, ``} {
		_, err := idempotent.DoAs(t.Context(), guard, guard.Identify([]byte(payload)), func(context.Context) (string, error) {
			t.Errorf("ran for %q", payload)
			return "", nil
		})
		if !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("%q: %v, want a KeyError", payload, err)
		}
	}
}

func TestIdentifyComparesTheFingerprintUnderTheEventsId(t *testing.T) {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment", Fingerprint: idempotency.MustJMESPath("amount")})
	if err != nil {
		t.Fatal(err)
	}
	run := func(payload string) error {
		_, err := idempotent.DoAs(t.Context(), guard, guard.IdentifyOr([]byte(payload), "m-1"), func(context.Context) (string, error) { return "", nil })
		return err
	}
	if err := run(`{"amount": 1}`); err != nil {
		t.Fatal(err)
	}
	if err := run(`{"amount": 2}`); !errors.Is(err, idempotent.ErrMismatch) {
		t.Errorf("another amount: %v, want a MismatchError", err)
	}
}

// What one guard has found says nothing to another: the records are of other operations.
func TestAnIdentityOfAnotherGuardIsRefused(t *testing.T) {
	store := persistence.NewMemory()
	found := newTestGuard(t, store, idempotent.Config{Operation: "payment"}).Identify([]byte(`{"id": "o-1"}`))
	other := newTestGuard(t, store, idempotent.Config{Operation: "refund"})
	_, err := idempotent.DoAs(t.Context(), other, found, func(context.Context) (string, error) {
		t.Error("it ran")
		return "", nil
	})
	if !errors.Is(err, idempotent.ErrConfig) || len(store.Records()) > 0 {
		t.Errorf("got %v, and the records %v", err, store.Records())
	}
}

// What an adapter does with the payload inside of an event.
func ExampleGuard_IdentifyOr() {
	guard := newGuard(idempotent.Config{Operation: "order", Key: idempotency.MustJMESPath("order_id")})
	for _, id := range []string{"message-1", "message-2"} {
		order := guard.IdentifyOr([]byte(`{"order_id": "o-1"}`), id)
		_, err := idempotent.DoAs(context.Background(), guard, order, func(context.Context) (string, error) {
			fmt.Println("placing an order")
			return "placed", nil
		})
		fmt.Println(id, err)
	}
	// Output:
	// placing an order
	// message-1 <nil>
	// message-2 <nil>
}

// Copies of a guard, as adapters make them, find the same identities.
func TestIdentitiesOfAGuardsCopiesAreEqual(t *testing.T) {
	guard := newTestGuard(t, persistence.NewMemory(), idempotent.Config{KeepEvent: true})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	payload := []byte(`{"id":"o-1"}`)
	want := guard.Identify(payload)
	for name, of := range map[string]*idempotent.Guard{
		"Observing":    guard.Observing(func(context.Context, idempotent.Event) {}),
		"Keeping":      guard.Keeping(1000 * time.Hour),
		"Batch":        guard.Batch(ctx, 0),
		"KeepingEvent": guard.KeepingEvent(func() []byte { return payload }),
	} {
		if got := of.Identify(payload); of == guard || got != want {
			t.Errorf("%s: got another identity", name)
		}
	}
}
