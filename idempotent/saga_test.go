package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// trip is a saga of four bookings, each of which can be undone.
type trip struct {
	diary
	fails map[string]error // by what fails: "car", "undo car"
	saga  func(context.Context, func(context.Context) (string, error)) (string, error)
}

var bookings = []string{"flight", "hotel", "car", "mail"}

func (tr *trip) book(ctx context.Context) (string, error) {
	if tr.saga != nil {
		return tr.saga(ctx, tr.bookAll)
	}
	return tr.bookAll(ctx)
}

func (tr *trip) bookAll(ctx context.Context) (string, error) {
	var all []string
	for _, name := range bookings {
		booking, err := idempotent.StepAs(ctx, idempotent.StepSpec[string]{
			Name: name,
			Compensate: func(_ context.Context, booking string) error {
				tr.note("undo %s", booking)
				return tr.fails["undo "+name]
			},
		}, func(context.Context) (string, error) {
			tr.note("%s", name)
			return strings.ToUpper(name), tr.fails[name]
		})
		if err != nil {
			return "", err
		}
		all = append(all, booking)
	}
	return strings.Join(all, " "), nil
}

var errSoldOut = errors.New("sold out")

func newTrip(t *testing.T, store persistence.Store) (*trip, *eventLog, func() (string, error)) {
	events := new(eventLog)
	guard := newKeylessGuard(t, store, idempotent.Config{Operation: "trip", Steps: bookings, Observe: events.observe})
	tr := &trip{fails: make(map[string]error)}
	return tr, events, func() (string, error) {
		return idempotent.Do(t.Context(), guard, "trip-1", tr.book)
	}
}

func TestReport56StepsAreUndoneInReverse(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, events, call := newTrip(t, store)
		failure := idempotent.Permanent(errSoldOut)
		tr.fails["car"] = failure
		if _, err := call(); err != failure { //nolint:errorlint // unchanged
			t.Fatalf("error %v of %T", err, err)
		}
		tr.wants(t, "flight", "hotel", "car", "undo HOTEL", "undo FLIGHT")
		wantKinds(t, events, idempotent.EventStepExecuted, idempotent.EventStepExecuted, idempotent.EventCompensated, idempotent.EventCompensated, idempotent.EventExecuted)
		_, err := call()
		if p, ok := errors.AsType[*idempotent.PermanentError](err); !ok || p.Message != "sold out" {
			t.Errorf("the duplicate: %v", err)
		}
		tr.wants(t)
	})
}

func TestReport56AFailedCompensationIsVisibleAndResumed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, events, call := newTrip(t, store)
		failure := idempotent.Permanent(errSoldOut)
		tr.fails["car"], tr.fails["undo hotel"] = failure, errBroken
		_, err := call()
		stuck, ok := errors.AsType[*idempotent.CompensationError](err)
		if !ok || !errors.Is(err, errSoldOut) || !errors.Is(err, errBroken) || !errors.Is(err, idempotent.ErrCompensation) ||
			!slices.Equal(stuck.Left, []string{"hotel", "flight"}) || !strings.Contains(err.Error(), "sold out") || !strings.Contains(err.Error(), "broken") {
			t.Fatalf("error %v of %T", err, err)
		}
		tr.wants(t, "flight", "hotel", "car", "undo HOTEL")
		wantKinds(t, events, idempotent.EventStepExecuted, idempotent.EventStepExecuted, idempotent.EventCompensationFailed, idempotent.EventPartialSuccess)
		if memory, ok := store.(*persistence.Memory); ok {
			r := memory.Records()[0]
			if r.Status != persistence.StatusPartial ||
				string(r.Steps[":unwinding"]) != `{"errorType":"errorString","errorMessage":"sold out"}` ||
				string(r.Steps[":compensation"]) != `{"step":"hotel","errorType":"errorString","errorMessage":"broken"}` {
				t.Errorf("the record: %q %q", r.Status, r.Steps)
			}
		}
		// The next one fails at the other compensation, and what would have been sold
		// out is available again: the decision stands.
		delete(tr.fails, "undo hotel")
		delete(tr.fails, "car")
		tr.fails["undo flight"] = errBroken
		_, err = call()
		if stuck, ok := errors.AsType[*idempotent.CompensationError](err); !ok || !slices.Equal(stuck.Left, []string{"flight"}) {
			t.Fatalf("error %v", err)
		}
		tr.wants(t, "undo HOTEL", "undo FLIGHT")
		delete(tr.fails, "undo flight")
		_, err = call()
		if p, ok := errors.AsType[*idempotent.PermanentError](err); !ok || p.Message != "sold out" || p.Type != "errorString" {
			t.Fatalf("error %v", err)
		}
		tr.wants(t, "undo FLIGHT")
		if _, err = call(); !errors.Is(err, idempotent.ErrPermanent) || err.Error() != "sold out" {
			t.Errorf("the duplicate: %v", err)
		}
		tr.wants(t)
	})
}

func TestReport56AFailureOfTheFirstStepHasNothingToUndo(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, events, call := newTrip(t, store)
		tr.fails["flight"] = idempotent.Permanent(errSoldOut)
		if _, err := call(); !errors.Is(err, errSoldOut) {
			t.Fatal(err)
		}
		tr.wants(t, "flight")
		wantKinds(t, events, idempotent.EventExecuted)
		if _, err := call(); !errors.Is(err, idempotent.ErrPermanent) {
			t.Error(err)
		}
		tr.wants(t)
	})
}

func TestASagaCanAnswerWithAResult(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, _, call := newTrip(t, store)
		tr.saga = func(ctx context.Context, fn func(context.Context) (string, error)) (string, error) {
			out, err := idempotent.Saga(ctx, fn)
			if p, ok := errors.AsType[*idempotent.PermanentError](err); ok && !errors.Is(err, idempotent.ErrCompensation) {
				return "402 " + p.Message, nil
			}
			return out, err
		}
		tr.fails["car"], tr.fails["undo hotel"] = idempotent.Permanent(errSoldOut), errBroken
		if _, err := call(); !errors.Is(err, idempotent.ErrCompensation) {
			t.Fatal(err)
		}
		tr.wants(t, "flight", "hotel", "car", "undo HOTEL")
		delete(tr.fails, "undo hotel")
		for _, done := range [][]string{{"undo HOTEL", "undo FLIGHT"}, nil} {
			out, err := call()
			if err != nil || out != "402 sold out" {
				t.Fatalf("got %q, %v", out, err)
			}
			tr.wants(t, done...)
		}
	})
}

func TestAnOrdinaryErrorUndoesNothing(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, _, call := newTrip(t, store)
		tr.fails["car"] = errBroken
		if _, err := call(); !errors.Is(err, idempotent.ErrPartialSuccess) {
			t.Fatal(err)
		}
		tr.wants(t, "flight", "hotel", "car")
		delete(tr.fails, "car")
		if out, err := call(); err != nil || out != "FLIGHT HOTEL CAR MAIL" {
			t.Fatalf("got %q, %v", out, err)
		}
		tr.wants(t, "car", "mail")
	})
}

// The code that would undo a step has to be reached; until it is, everything stays as
// it is.
func TestAStepThatIsNotReachedCannotBeUndone(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, _, call := newTrip(t, store)
		tr.fails["car"], tr.fails["undo hotel"] = idempotent.Permanent(errSoldOut), errBroken
		_, _ = call()
		tr.wants(t, "flight", "hotel", "car", "undo HOTEL")
		delete(tr.fails, "undo hotel")
		tr.saga = func(context.Context, func(context.Context) (string, error)) (string, error) {
			return "changed its mind", nil
		}
		_, err := call()
		if stuck, ok := errors.AsType[*idempotent.CompensationError](err); !ok || len(stuck.Left) != 2 || !errors.Is(err, idempotent.ErrNotUndoable) {
			t.Fatalf("error %v", err)
		}
		tr.wants(t)
		tr.saga = nil
		if _, err := call(); !errors.Is(err, idempotent.ErrPermanent) || errors.Is(err, idempotent.ErrCompensation) {
			t.Fatal(err)
		}
		tr.wants(t, "undo HOTEL", "undo FLIGHT")
	})
}

func TestAPanicInACompensationIsResumed(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"a"}})
		var did diary
		panics := true
		call := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			_, err = idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				_, err := idempotent.StepAs(ctx, idempotent.StepSpec[int]{Name: "a", Compensate: func(context.Context, int) error {
					did.note("undo a")
					if panics {
						panic("in the compensation")
					}
					return nil
				}}, func(context.Context) (int, error) { did.note("a"); return 0, nil })
				return "", errors.Join(err, idempotent.Permanent(errSoldOut))
			})
			return err
		}
		if err := call(); err == nil || err.Error() != "panic: in the compensation" {
			t.Fatal(err)
		}
		panics = false
		if err := call(); !errors.Is(err, idempotent.ErrPermanent) {
			t.Fatal(err)
		}
		did.wants(t, "a", "undo a", "undo a")
	})
}

// bank is a step that must run at most once, and what can be found out about it.
type bank struct {
	diary
	interrupted bool
	happened    bool
	unknown     error
	blind       bool          // it has no way to find out
	finds       time.Duration // how long that takes
}

func (b *bank) pay(ctx context.Context) (string, error) {
	spec := idempotent.StepSpec[string]{Name: "pay", AtMostOnce: true}
	if !b.blind {
		spec.Reconcile = func(ctx context.Context) (string, bool, error) {
			if _, ok := idempotent.StepFrom(ctx); !ok {
				return "", false, errors.New("no token to ask with")
			}
			b.note("reconcile")
			time.Sleep(b.finds) // virtual, where it is any time at all
			return "found", b.happened, b.unknown
		}
	}
	return idempotent.StepAs(ctx, spec, func(context.Context) (string, error) {
		b.note("pay")
		if b.interrupted {
			return "", errBroken
		}
		return "paid", nil
	})
}

func TestAStepThatMustRunAtMostOnceIsReconciled(t *testing.T) {
	onEveryStore(t, func(t *testing.T, store persistence.Store) {
		for name, test := range map[string]struct {
			later *bank
			want  string
			err   error
			done  []string
		}{
			"it has happened":     {&bank{happened: true}, "found", nil, []string{"reconcile"}},
			"it has not happened": {&bank{}, "paid", nil, []string{"reconcile", "pay"}},
			"it stays unknown":    {&bank{unknown: errBroken}, "", idempotent.ErrOutcomeUnknown, []string{"reconcile"}},
			"nobody can find out": {&bank{blind: true}, "", idempotent.ErrOutcomeUnknown, nil},
		} {
			t.Run(name, func(t *testing.T) {
				guard := newKeylessGuard(t, store, idempotent.Config{Operation: strings.ReplaceAll(name, " ", "-"), Steps: []string{"pay"}})
				first := bank{interrupted: true, blind: test.later.blind}
				if _, err := idempotent.Do(t.Context(), guard, "k", first.pay); !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				first.wants(t, "pay")
				out, err := idempotent.Do(t.Context(), guard, "k", test.later.pay)
				if out != test.want || !errors.Is(err, test.err) {
					t.Errorf("got %q, %v", out, err)
				}
				test.later.wants(t, test.done...)
			})
		}
	})
}

// Meanwhile the next owner may have found out the same, and have run the step.
func TestAnAnswerThatOutlastsTheLeaseStartsNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, store persistence.Store) {
		guard := newKeylessGuard(t, store, idempotent.Config{Steps: []string{"pay"}, Renewal: idempotent.LeaseWholeRuns, Lease: 30 * time.Second})
		first := bank{interrupted: true}
		if _, err := idempotent.Do(t.Context(), guard, "k", first.pay); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		late := bank{finds: time.Minute}
		if _, err := idempotent.Do(t.Context(), guard, "k", late.pay); !errors.Is(err, idempotent.ErrNotStarted) {
			t.Errorf("error %v", err)
		}
		late.wants(t, "reconcile")
	})
}
