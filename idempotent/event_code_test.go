package idempotent_test

import (
	"context"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// Why a run is unprotected is not that its function has failed.
func TestAnUnprotectedRunSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		off    string
		store  persistence.Store
		config idempotent.Config
		want   idempotent.Code
	}{
		"switched off":    {"1", persistence.NewMemory(), idempotent.Config{}, idempotent.CodeSwitchedOff},
		"without a key":   {"", persistence.NewMemory(), idempotent.Config{RunWithoutKey: true}, idempotent.CodeKeyMissing},
		"without a store": {"", lab.Down(errDown), idempotent.Config{FailOpen: true}, idempotent.CodeStoreFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("IDEMPOTENCY_DISABLED", test.off)
			var got []idempotent.Code
			test.config.Key = idempotency.MustJMESPath("id")
			test.config.Observe = func(_ context.Context, e idempotent.Event) {
				if e.Kind == idempotent.EventUnprotected {
					got = append(got, e.Code())
				}
			}
			payload := `{"id": "a"}`
			if test.want == idempotent.CodeKeyMissing {
				payload = `{}`
			}
			handler := newTestGuard(t, test.store, test.config).Handler(func(context.Context) error { return nil })
			if _, err := handler.Invoke(t.Context(), []byte(payload)); err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0] != test.want {
				t.Errorf("told %q, want %q", got, test.want)
			}
		})
	}
}
