package sqlstore_test

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
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
