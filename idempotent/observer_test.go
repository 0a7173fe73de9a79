package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestAnObserverSeesOneCallAndNoneInside(t *testing.T) {
	store := persistence.NewMemory()
	outer, err := idempotent.New(store, idempotent.Config{Operation: "outer"})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := idempotent.New(store, idempotent.Config{Operation: "inner"})
	if err != nil {
		t.Fatal(err)
	}
	declined := errors.New("declined")
	for name, test := range map[string]struct {
		disabled string
		want     []idempotent.EventKind
	}{
		"guarded":     {"", []idempotent.EventKind{idempotent.Executed, idempotent.Replayed}},
		"unprotected": {"1", []idempotent.EventKind{idempotent.Unprotected, idempotent.Unprotected}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("IDEMPOTENCY_DISABLED", test.disabled)
			var seen []idempotent.EventKind
			ctx := idempotent.WithObserver(t.Context(), func(_ context.Context, e idempotent.Event) {
				if e.Operation != "outer" {
					t.Errorf("sees an event of %s", e.Operation)
				}
				seen = append(seen, e.Kind)
			})
			for range 2 {
				_, err := idempotent.Do(ctx, outer, "o1", func(ctx context.Context) (int, error) {
					_, err := idempotent.Do(ctx, inner, "i1", func(context.Context) (int, error) { return 1, nil })
					return 0, errors.Join(err, idempotent.Permanent(declined))
				})
				if !errors.Is(err, idempotent.ErrPermanent) {
					t.Error(err)
				}
			}
			if !slices.Equal(seen, test.want) {
				t.Errorf("saw %q, want %q", seen, test.want)
			}
		})
	}
}

func ExampleWithObserver() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "observed"})
	if err != nil {
		panic(err)
	}
	recorded := false
	ctx := idempotent.WithObserver(context.Background(), func(_ context.Context, e idempotent.Event) {
		recorded = e.Kind == idempotent.Executed || e.Kind == idempotent.Replayed
	})
	_, err = idempotent.Do(ctx, guard, "o1", func(context.Context) (string, error) {
		return "", idempotent.Permanent(errors.New("card declined"))
	})
	fmt.Println(err, recorded)
	// Output: card declined true
}
