package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
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
		"guarded":     {"", []idempotent.EventKind{idempotent.EventAcquired, idempotent.EventExecuted, idempotent.EventReplayed}},
		"unprotected": {"1", []idempotent.EventKind{idempotent.EventUnprotected, idempotent.EventUnprotected}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("IDEMPOTENCY_DISABLED", test.disabled)
			var seen []idempotent.EventKind
			observed := outer.Observing(func(_ context.Context, e idempotent.Event) {
				if e.Operation != "outer" {
					t.Errorf("sees an event of %s", e.Operation)
				}
				seen = append(seen, e.Kind)
			})
			for range 2 {
				_, err := idempotent.Do(t.Context(), observed, "o1", func(ctx context.Context) (int, error) {
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

func ExampleGuard_Observing() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "observed"})
	if err != nil {
		panic(err)
	}
	recorded := false
	observed := guard.Observing(func(_ context.Context, e idempotent.Event) {
		recorded = e.Kind == idempotent.EventExecuted || e.Kind == idempotent.EventReplayed
	})
	_, err = idempotent.Do(context.Background(), observed, "o1", func(context.Context) (string, error) {
		return "", idempotent.Permanent(errors.New("card declined"))
	})
	fmt.Println(err, recorded)
	// Output: card declined true
}

// Events tell until when an outcome answers duplicates, where there is one.
func TestEventsTellUntilWhenAnOutcomeIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Hour)
		for name, run := range map[string]struct {
			config idempotent.Config
			fn     func(context.Context) (int, error)
			want   []time.Time
		}{
			"a result":              {fn: func(context.Context) (int, error) { return 1, nil }, want: []time.Time{until, until}},
			"a failure for good":    {fn: func(context.Context) (int, error) { return 0, idempotent.Permanent(errors.New("declined")) }, want: []time.Time{until, until}},
			"a result not kept":     {config: idempotent.Config{OnlyLock: true}, fn: func(context.Context) (int, error) { return 1, nil }, want: []time.Time{until, until}},
			"a failure for the day": {fn: func(context.Context) (int, error) { return 0, errors.New("down") }, want: []time.Time{{}, {}}},
		} {
			run.config.Operation, run.config.TTL = "payment", time.Hour
			guard, err := idempotent.New(persistence.NewMemory(), run.config)
			if err != nil {
				t.Fatal(err)
			}
			var told []time.Time
			observed := guard.Observing(func(_ context.Context, e idempotent.Event) {
				if e.Kind != idempotent.EventAcquired {
					told = append(told, e.ExpiresAt)
				}
			})
			for range 2 {
				_, _ = idempotent.Do(t.Context(), observed, "o1", run.fn)
			}
			if !slices.EqualFunc(told, run.want, time.Time.Equal) {
				t.Errorf("%s: told %v, want %v", name, told, run.want)
			}
		}
	})
}

// Every run has an event when it begins, and one when it has ended.
func TestEveryRunHasAStart(t *testing.T) {
	var seen []idempotent.EventKind
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{
		Steps:   saga.Steps(lab.Named[int]("a")),
		Observe: func(_ context.Context, e idempotent.Event) { seen = append(seen, e.Kind) },
	})
	down := errors.New("down")
	for _, answer := range []error{down, nil, nil} {
		_, _ = idempotent.Do(t.Context(), guard, "o1", func(ctx context.Context) (int, error) {
			_, err := lab.Named[int]("a").Run(ctx, func(context.Context, saga.Call) (int, error) { return 1, nil })
			return 0, errors.Join(err, answer)
		})
	}
	want := []idempotent.EventKind{
		idempotent.EventAcquired, idempotent.EventStepExecuted, idempotent.EventPartialSuccess,
		idempotent.EventResumed, idempotent.EventStepReplayed, idempotent.EventExecuted,
		idempotent.EventReplayed,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("saw %q, want %q", seen, want)
	}
}
