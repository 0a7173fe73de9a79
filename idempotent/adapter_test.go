package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestIdentitiesOfOneKeyAreOneRequest(t *testing.T) {
	payload := []byte(`{"id": "a", "amount": 1}`)
	for name, test := range map[string]struct {
		config        idempotent.Config
		first, second *given // where the guard has not found them
		payload       string // of the second
		same, none    bool
	}{
		"equal":               {config: idempotent.Config{Key: idempotency.MustJMESPath("id")}, payload: `{"id": "a"}`, same: true},
		"another fingerprint": {config: idempotent.Config{Key: idempotency.MustJMESPath("id"), Fingerprint: idempotency.MustJMESPath("amount")}, payload: `{"id": "a", "amount": 2}`, same: true},
		"another key":         {config: idempotent.Config{Key: idempotency.MustJMESPath("id")}, payload: `{"id": "b", "amount": 1}`},
		"no key":              {config: idempotent.Config{Key: idempotency.MustJMESPath("id")}, payload: `{"amount": 1}`, none: true},
		"no fingerprint":      {config: idempotent.Config{Key: idempotency.MustJMESPath("id"), Fingerprint: idempotency.MustJMESPath("amount")}, payload: `{"id": "a"}`, none: true},
		"given":               {first: &given{key: "a", fingerprint: "1"}, second: &given{key: "a", fingerprint: "2"}, same: true},
		"given another":       {first: &given{key: "a"}, second: &given{key: "b"}},
		"given none":          {first: &given{key: "a"}, second: &given{fingerprint: "2"}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			guard := lab.NewKeylessGuard(t, persistence.NewMemory(), test.config)
			first, second := guard.IdentifyOr(payload, "1"), guard.IdentifyOr([]byte(test.payload), "2")
			if test.first != nil {
				first, second = guard.Identity(test.first.key, test.first.fingerprint), guard.Identity(test.second.key, test.second.fingerprint)
			}
			if same := first.Request() == second.Request(); same != test.same {
				t.Errorf("%q and %q", first.Request(), second.Request())
			}
			if none := second.Request() == ""; none != test.none {
				t.Errorf("a request %q", second.Request())
			}
		})
	}
}

// given is what an identity is made of by hand.
type given struct{ key, fingerprint string }

func TestAGuardCanKeepOutcomesForLonger(t *testing.T) {
	for least, want := range map[time.Duration]time.Duration{0: time.Hour, time.Minute: time.Hour, 48 * time.Hour: 48 * time.Hour} {
		t.Run(fmt.Sprint(least), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := persistence.NewMemory()
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{TTL: time.Hour})
				done := func(context.Context) (string, error) { return "", nil }
				if _, err := idempotent.Do(t.Context(), guard.Keeping(least), "a", done); err != nil {
					t.Fatal(err)
				}
				if kept := time.Until(store.Records()[0].ExpiresAt); kept != want {
					t.Errorf("kept for %v, want %v", kept, want)
				}
				if _, err := idempotent.Do(t.Context(), guard, "b", done); err != nil {
					t.Fatal(err)
				}
				for _, r := range store.Records() {
					if kept := time.Until(r.ExpiresAt); kept != time.Hour && kept != want {
						t.Errorf("kept for %v by the guard itself", kept)
					}
				}
			})
		})
	}
}

func TestWhatIsSkippedHasAnEventOfItsOwn(t *testing.T) {
	for name, skip := range map[string]error{"bare": idempotent.ErrSkip, "wrapped": fmt.Errorf("a test event: %w", idempotent.ErrSkip)} {
		t.Run(name, func(t *testing.T) {
			store := persistence.NewMemory()
			var kinds []idempotent.EventKind
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{Observe: func(_ context.Context, e idempotent.Event) { kinds = append(kinds, e.Kind) }})
			_, err := idempotent.Do(t.Context(), guard, "a", func(context.Context) (string, error) { return "", skip })
			if !errors.Is(err, idempotent.ErrSkip) || len(store.Records()) > 0 {
				t.Errorf("%v, and %v are left", err, store.Records())
			}
			guard.Report(t.Context(), idempotent.Event{Kind: idempotent.EventSkipped})
			skipped := slices.DeleteFunc(slices.Clone(kinds), func(k idempotent.EventKind) bool { return k != idempotent.EventSkipped })
			if len(skipped) != 2 || slices.Contains(kinds, "released") {
				t.Errorf("events %q", kinds)
			}
		})
	}
}

// The time of a batch is divided once, for its calls and not for those that they make.
func TestTheCallsOfABatchShareItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		ctx := within(t, timeout)
		kill, _ := ctx.Deadline()
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
		end := func(ctx context.Context) (time.Duration, error) {
			end, _ := ctx.Deadline()
			return kill.Sub(end), nil
		}
		shared := guard.Batch(ctx, 2*time.Second)
		for _, test := range []struct {
			at           time.Duration
			alone, batch bool // starts
			reserve      time.Duration
		}{
			{0, true, true, time.Second},
			{7 * time.Second, true, true, time.Second},
			{7*time.Second + time.Millisecond, true, false, 0},
		} {
			time.Sleep(time.Until(kill.Add(test.at - timeout))) // virtual
			_, err := idempotent.Do(ctx, guard, fmt.Sprint("alone ", test.at), end)
			if (err == nil) != test.alone {
				t.Errorf("%v, alone: %v", test.at, err)
			}
			got, err := idempotent.Do(ctx, shared, fmt.Sprint("batch ", test.at), end)
			if (err == nil) != test.batch || err != nil && !errors.Is(err, idempotent.ErrNotStarted) || got != test.reserve {
				t.Errorf("%v, in the batch: %v before the end, %v; want %v", test.at, got, err, test.reserve)
			}
		}
	})
}

func TestACallInsideACallOfABatchHasATimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{})
		timed := within(t, 10*time.Second)
		_, err := idempotent.Do(timed, guard.Batch(timed, 2*time.Second), "outer", func(ctx context.Context) (string, error) {
			time.Sleep(8 * time.Second) // virtual; too late for another call of the batch
			return idempotent.Do(ctx, guard, "inner", func(context.Context) (string, error) { return "", nil })
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTheVerdictOnNothingToDo(t *testing.T) {
	skipped := idempotent.Verdict{Done: idempotent.DoneNothing, Code: idempotent.CodeSkipped}
	for name, test := range map[string]struct {
		err  error
		want idempotent.Code
	}{
		"bare":                {idempotent.ErrSkip, idempotent.CodeSkipped},
		"wrapped":             {fmt.Errorf("a test event: %w", idempotent.ErrSkip), idempotent.CodeSkipped},
		"failed for good":     {idempotent.Permanent(idempotent.ErrSkip), idempotent.CodeFailed},
		"failed, and wrapped": {fmt.Errorf("bank: %w", idempotent.Permanent(idempotent.ErrSkip)), idempotent.CodeFailed},
		"after a part of it":  {&saga.PartialSuccessError{Key: "a", Err: idempotent.ErrSkip}, idempotent.CodePartialSuccess},
		"an error of its own": {errors.New("bank"), idempotent.CodeFunctionFailed},
		"a step that says so": {&saga.StepError{Key: "a", Err: idempotent.ErrSkip}, idempotent.CodeStepFailed},
	} {
		t.Run(name, func(t *testing.T) {
			v := idempotent.VerdictOf(test.err)
			if v.Code != test.want || test.want == idempotent.CodeSkipped && v != skipped {
				t.Errorf("%+v, want %s", v, test.want)
			}
		})
	}
}
