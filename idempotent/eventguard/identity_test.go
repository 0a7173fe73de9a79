package eventguard_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// A member that has the key's name in another case is no missing key, and no other one:
// the function may take it for the key's.
func TestAKeyInAnotherCaseIsUnusable(t *testing.T) {
	for name, text := range map[string]string{
		"beside the key":     `{"order_id": "o1", "Order_ID": "o7", "amount": 5}`,
		"before the key":     `{"ORDER_ID": "o666", "order_id": "o1", "amount": 5}`,
		"instead of the key": `{"Order_Id": "o7", "amount": 5}`,
		"among other names":  "{\"order_id\": \"o1\", \"order_\u0131d\": \"x\", \"\u017for\": 1, \"OR\u0044ER_ID\": \"o7\", \"amount\": 5}",
		"as an escape":       `{"order_id": "o1", "\u004frder_id": "o7", "amount": 5}`,
	} {
		t.Run(name, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				store := persistence.NewMemory()
				ran := 0
				guard := newGuard(t, store, idempotent.Config{Key: d.key, RunWithoutKey: true})
				handle := d.open(t, guard, eventguard.Config{}, func(context.Context, order) error { ran++; return nil })
				failed, err := handle(t.Context(), letters(text)...)
				if err != nil || !slices.Equal(failed, []int{0}) || ran > 0 || len(store.Records()) > 0 {
					t.Errorf("%v failed after %d runs, %v, with %d records; want it refused", failed, ran, err, len(store.Records()))
				}
			})
		})
	}
}

// Where Lambda isolates tenants, the tenant is in the context and not in the event.
func TestTenantsDoNotShareARecord(t *testing.T) {
	for name, test := range map[string]struct {
		shared bool
		runs   int
	}{"separate": {false, 2}, "shared": {true, 1}} {
		t.Run(name, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				for _, key := range []bool{true, false} {
					config := idempotent.Config{TenantsShareRecords: test.shared}
					if key {
						config.Key = d.key
					}
					runs := 0
					handle := d.open(t, newGuard(t, persistence.NewMemory(), config), eventguard.Config{}, func(context.Context, order) error { runs++; return nil })
					for _, tenant := range []string{"blue", "green", "blue"} {
						ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenant})
						if failed, err := handle(ctx, letters(body("o1"))...); err != nil || len(failed) > 0 {
							t.Errorf("%v failed, %v", failed, err)
						}
					}
					if runs != test.runs {
						t.Errorf("with a key %t: %d runs, want %d", key, runs, test.runs)
					}
				}
			})
		})
	}
}

// What a downstream service is handed is the same in every delivery, also where nothing
// could be recorded.
func TestTheKeyIsKnownWhereverItCanBe(t *testing.T) {
	for name, test := range map[string]struct {
		store    *troubled
		disabled string
		recorded bool
	}{
		"guarded":           {recorded: true},
		"the store is down": {store: &troubled{acquire: errors.New("down")}},
		"switched off":      {disabled: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("IDEMPOTENCY_DISABLED", test.disabled)
			at(t, func(t *testing.T, d door) {
				var store persistence.Store = persistence.NewMemory()
				if test.store != nil {
					wrapped := *test.store
					wrapped.Store, store = store, &wrapped
				}
				var keys []string
				guard := newGuard(t, store, idempotent.Config{Key: d.key, FailOpen: true})
				handle := d.open(t, guard, eventguard.Config{}, func(ctx context.Context, _ order) error {
					call, ok := idempotent.CallFrom(ctx)
					if !ok || call.Unrecorded == test.recorded {
						t.Errorf("%+v, %t", call, ok)
					}
					keys = append(keys, call.Key)
					return errTryAgain // so that it comes again
				})
				for range 2 {
					if failed, err := handle(t.Context(), letters(body("o1"))...); err != nil || len(failed) != 1 {
						t.Errorf("%v failed, %v", failed, err)
					}
				}
				if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
					t.Errorf("the keys %q, want one", keys)
				}
			})
		})
	}
}
