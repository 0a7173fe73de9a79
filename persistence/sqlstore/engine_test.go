package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
)

func newGuard(t *testing.T, store persistence.Store, config idempotent.Config) *idempotent.Guard {
	t.Helper()
	config.Operation, config.Logger = "transfer", slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func TestAnEffectInTheDatabaseHappensOnceWithItsRecord(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		for name, config := range map[string]idempotent.Config{"with a record": {}, "only enlisting": {OnlyEnlists: true}} {
			t.Run(name, func(t *testing.T) {
				books := newLedger(t, newLab(t, d, nil), "a", "b")
				guard := newGuard(t, books, config)
				amount, runs := 1000, 0
				pay := func() (string, error) {
					return idempotent.Do(t.Context(), guard, "order 1", func(ctx context.Context) (string, error) {
						runs++
						return "paid", sqlstore.Enlist(ctx, books.add("a", -amount), books.add("b", amount))
					})
				}
				// What is refused has not happened, and may be tried again.
				if _, err := pay(); err != errOverdrawn { //nolint:errorlint // unchanged
					t.Errorf("got %v", err)
				}
				amount = 7
				for range 2 {
					if result, err := pay(); result != "paid" || err != nil {
						t.Errorf("got %q, %v", result, err)
					}
				}
				books.wants(t, "a", 93)
				books.wants(t, "b", 107)
				if config.OnlyEnlists == (runs == 2) {
					t.Errorf("%d runs", runs)
				}
			})
		}
	})
}

func TestOfManyWhoOnlyEnlistOneCommits(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		books := newLedger(t, newLab(t, d, nil), "a", "b")
		guard := newGuard(t, books, idempotent.Config{OnlyEnlists: true})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				result, err := idempotent.Do(t.Context(), guard, "order 1", func(ctx context.Context) (string, error) {
					return "paid", sqlstore.Enlist(ctx, books.add("a", -7), books.add("b", 7))
				})
				if result != "paid" || err != nil {
					t.Errorf("got %q, %v", result, err)
				}
			})
		}
		all.Wait()
		books.wants(t, "a", 93)
	})
}

var errUnreachable = errors.New("the carrier can't be reached")

// orders pay in a step that commits with its row, and ship in another one.
type orders struct {
	books     ledger
	guard     *idempotent.Guard
	pay, ship *saga.Step[string]
	done      []string
}

func newOrders(t *testing.T, books ledger) *orders {
	o := &orders{books: books, ship: saga.NewStep(saga.Spec[string]{Name: "ship"})}
	o.pay = saga.NewStep(saga.Spec[string]{
		Name: "pay",
		Compensate: func(ctx context.Context, _ saga.Call, receipt string) error {
			o.done = append(o.done, "refund "+receipt)
			return sqlstore.Enlist(ctx, books.add("a", 7))
		},
	})
	o.guard = newGuard(t, books, idempotent.Config{Steps: saga.Steps(o.pay, o.ship)})
	return o
}

// order makes the call; shipping ends with that error.
func (o *orders) order(ctx context.Context, shipping error) (string, error) {
	return idempotent.Do(ctx, o.guard, "order 1", func(ctx context.Context) (string, error) {
		receipt, err := o.pay.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
			o.done = append(o.done, "pay")
			return "receipt 1", sqlstore.Enlist(ctx, o.books.add("a", -7))
		})
		if err != nil {
			return "", err
		}
		return o.ship.Run(ctx, func(context.Context, saga.Call) (string, error) {
			o.done = append(o.done, "ship")
			return receipt + ", shipped", shipping
		})
	})
}

func TestAFinishedStepIsNotRunAgain(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		books := newLedger(t, newLab(t, d, nil), "a")
		o := newOrders(t, books)
		_, err := o.order(t.Context(), errUnreachable)
		if !errors.Is(err, saga.ErrPartialSuccess) || !errors.Is(err, errUnreachable) {
			t.Fatalf("got %v", err)
		}
		books.wants(t, "a", 93)
		for range 2 {
			if result, err := o.order(t.Context(), nil); result != "receipt 1, shipped" || err != nil {
				t.Errorf("got %q, %v", result, err)
			}
		}
		books.wants(t, "a", 93)
		if want := []string{"pay", "ship", "ship"}; !slices.Equal(o.done, want) {
			t.Errorf("done: %q, want %q", o.done, want)
		}
	})
}

func TestASagaTakesItsRowsBack(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		books := newLedger(t, newLab(t, d, nil), "a")
		o := newOrders(t, books)
		for range 2 {
			if _, err := o.order(t.Context(), idempotent.Permanent(errUnreachable)); !errors.Is(err, idempotent.ErrPermanent) {
				t.Errorf("got %v", err)
			}
		}
		books.wants(t, "a", 100)
		if want := []string{"pay", "ship", "refund receipt 1"}; !slices.Equal(o.done, want) {
			t.Errorf("done: %q, want %q", o.done, want)
		}
	})
}

// A write that is carried out after its function has returned is its own call's, also
// where the guarded call is inside of another one.
func TestAWriteIsOfItsOwnCall(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		for name, config := range map[string]idempotent.Config{
			"with a record": {}, "only enlisting": {OnlyEnlists: true}, "without a record": {RunWithoutKey: true},
		} {
			t.Run(name, func(t *testing.T) {
				store := newLab(t, d, nil)
				inner := newGuard(t, store, config)
				outer, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "outer", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				key := "inner"
				if config.RunWithoutKey {
					key = ""
				}
				var in, at string
				_, err = idempotent.Do(t.Context(), outer, "outer", func(ctx context.Context) (string, error) {
					return idempotent.Do(ctx, inner, key, func(ctx context.Context) (string, error) {
						in = idempotent.DownstreamKey(ctx)
						return "", sqlstore.Enlist(ctx, func(ctx context.Context, _ *sql.Tx) error {
							at = idempotent.DownstreamKey(ctx)
							return nil
						})
					})
				})
				if err != nil || in == "" || at != in {
					t.Errorf("the function hands on %q, its write %q: %v", in, at, err)
				}
			})
		}
	})
}
