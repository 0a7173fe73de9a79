package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// foreign is a dialect with keys of its own.
type foreign struct{}

func (foreign) Identify(payload []byte) (key, fingerprint string, err error) {
	switch string(payload) {
	case `"none"`:
		return "", "", fmt.Errorf("foreign: %w", idempotency.ErrMissing)
	case `"bad"`:
		return "", "", errors.New("foreign: bad")
	}
	return "foreign:" + string(payload), "print", nil
}

func (foreign) Key(value string) (string, error) {
	if value == "" {
		return "", idempotency.ErrMissing
	}
	return "foreign:" + fmt.Sprintf("%q", value), nil
}

func (foreign) Expiry(until time.Time) time.Time { return until.Truncate(time.Second) }

func newForeignGuard(t *testing.T, store persistence.Store, config idempotent.Config) *idempotent.Guard {
	t.Helper()
	guard, err := idempotent.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

func TestADialectTakesThePlaceOfTheExpressions(t *testing.T) {
	done := func(context.Context, string) (string, error) { return "done", nil }
	calls := map[string]func(context.Context, *idempotent.Guard, string) error{
		"Func": func(ctx context.Context, g *idempotent.Guard, event string) error {
			_, err := idempotent.Func(g, done)(ctx, event)
			return err
		},
		"Handler": func(ctx context.Context, g *idempotent.Guard, event string) error {
			_, err := g.Handler(done).Invoke(ctx, fmt.Appendf(nil, "%q", event))
			return err
		},
		"Do": func(ctx context.Context, g *idempotent.Guard, event string) error {
			_, err := idempotent.Do(ctx, g, event, func(ctx context.Context) (string, error) { return done(ctx, event) })
			return err
		},
		"Identify": func(ctx context.Context, g *idempotent.Guard, event string) error {
			_, err := idempotent.DoAs(ctx, g, g.Identify(fmt.Appendf(nil, "%q", event)), func(ctx context.Context) (string, error) { return done(ctx, event) })
			return err
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(999 * time.Millisecond) // virtual: a rounded second would be the next
				store := persistence.NewMemory()
				guard := newForeignGuard(t, store, idempotent.Config{Operation: "payment", Dialect: foreign{}, TTL: time.Hour})
				if err := call(t.Context(), guard, "e-1"); err != nil {
					t.Fatal(err)
				}
				record, found, _ := store.Read(t.Context(), `foreign:"e-1"`)
				if !found {
					t.Fatal("the record has another key than the dialect's")
				}
				if want := time.Now().Add(time.Hour).Truncate(time.Second); !record.ExpiresAt.Equal(want) {
					t.Errorf("expires at %v, want %v", record.ExpiresAt, want)
				}
				if want := "print"; name != "Do" && record.Fingerprint != want {
					t.Errorf("fingerprint %q, want %q", record.Fingerprint, want)
				}
			})
		})
	}
}

func TestADialectWithoutAKeyIsAPayloadWithoutAKey(t *testing.T) {
	for policy, runs := range map[bool]bool{false: false, true: true} {
		guard := newForeignGuard(t, persistence.NewMemory(), idempotent.Config{Operation: "payment", Dialect: foreign{}, RunWithoutKey: policy})
		handler := guard.Handler(func(context.Context, string) error { return nil })
		if _, err := handler.Invoke(t.Context(), []byte(`"none"`)); runs != (err == nil) {
			t.Errorf("without a key and with the policy %v: %v", policy, err)
		}
		if _, err := handler.Invoke(t.Context(), []byte(`"bad"`)); !errors.Is(err, idempotent.ErrKey) {
			t.Errorf("a payload that the dialect refuses: %v", err)
		}
	}
}

func TestADialectIsShownNoBytesThatAreNotText(t *testing.T) {
	guard := newForeignGuard(t, persistence.NewMemory(), idempotent.Config{Operation: "payment", Dialect: foreign{}})
	_, err := idempotent.Func(guard, func(context.Context, string) (string, error) { return "", nil })(t.Context(), "\xff")
	if !errors.Is(err, idempotent.ErrKey) {
		t.Errorf("an event that is not UTF-8: %v, want it refused", err)
	}
}

func TestADialectIsCheckedAtConstruction(t *testing.T) {
	for name, config := range map[string]idempotent.Config{
		"nil pointer":        {Dialect: (*foreign)(nil)},
		"beside Key":         {Dialect: foreign{}, Key: idempotency.MustJMESPath("id")},
		"beside Fingerprint": {Dialect: foreign{}, Fingerprint: idempotency.MustJMESPath("id")},
	} {
		config.Operation = "payment"
		if _, err := idempotent.New(persistence.NewMemory(), config); !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}
