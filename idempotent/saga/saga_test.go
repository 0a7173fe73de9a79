package saga_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
)

// trip is a saga of four bookings, each of which can be undone.
type trip struct {
	diary
	fails map[string]error // by what fails: "car", "undo car"
	steps map[string]*saga.Step[string]
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
		booking, err := tr.steps[name].Run(ctx, func(context.Context, saga.Call) (string, error) {
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

func newTrip(t *testing.T, store persistence.Store) (*trip, *lab.EventLog, func() (string, error)) {
	events := new(lab.EventLog)
	tr := &trip{fails: make(map[string]error), steps: make(map[string]*saga.Step[string])}
	for _, name := range bookings {
		tr.steps[name] = saga.NewStep(saga.Spec[string]{
			Name: name,
			Compensate: func(_ context.Context, _ saga.Call, booking string) error {
				tr.note("undo %s", booking)
				return tr.fails["undo "+name]
			},
		})
	}
	return tr, events, tr.calls(t, store, "trip", events)
}

// calls returns a call for the trip, under a guard of that operation.
func (tr *trip) calls(t *testing.T, store persistence.Store, operation string, events ...*lab.EventLog) func() (string, error) {
	config := idempotent.Config{Operation: strings.ReplaceAll(operation, " ", "-")}
	for _, e := range events {
		config.Observe = e.Observe
	}
	config.Steps = saga.Steps(tr.steps["flight"], tr.steps["hotel"], tr.steps["car"], tr.steps["mail"])
	guard := lab.NewKeylessGuard(t, store, config)
	return func() (string, error) {
		return idempotent.Do(t.Context(), guard, "trip-1", tr.book)
	}
}

func TestReport56StepsAreUndoneInReverse(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
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
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, events, call := newTrip(t, store)
		failure := idempotent.Permanent(errSoldOut)
		tr.fails["car"], tr.fails["undo hotel"] = failure, errBroken
		_, err := call()
		stuck, ok := errors.AsType[*saga.CompensationError](err)
		if !ok || !errors.Is(err, errSoldOut) || !errors.Is(err, errBroken) || !errors.Is(err, saga.ErrCompensation) ||
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
		if stuck, ok := errors.AsType[*saga.CompensationError](err); !ok || !slices.Equal(stuck.Left, []string{"flight"}) {
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
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
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
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, _, call := newTrip(t, store)
		tr.saga = func(ctx context.Context, fn func(context.Context) (string, error)) (string, error) {
			out, err := saga.Run(ctx, fn)
			if p, ok := errors.AsType[*idempotent.PermanentError](err); ok && !errors.Is(err, saga.ErrCompensation) {
				return "402 " + p.Message, nil
			}
			return out, err
		}
		tr.fails["car"], tr.fails["undo hotel"] = idempotent.Permanent(errSoldOut), errBroken
		if _, err := call(); !errors.Is(err, saga.ErrCompensation) {
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
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		tr, _, call := newTrip(t, store)
		tr.fails["car"] = errBroken
		if _, err := call(); !errors.Is(err, saga.ErrPartialSuccess) {
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

// What undoes a step is declared with it: an attempt that does not come to the step undoes it
// all the same.
func TestAnAttemptUndoesStepsThatItDoesNotComeTo(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		for name, later := range map[string]func(context.Context, func(context.Context) (string, error)) (string, error){
			"it changes its mind": func(context.Context, func(context.Context) (string, error)) (string, error) {
				return "changed its mind", nil
			},
			"it fails before": func(context.Context, func(context.Context) (string, error)) (string, error) { return "", errBroken },
			"a saga of others": func(ctx context.Context, _ func(context.Context) (string, error)) (string, error) {
				return saga.Run(ctx, func(context.Context) (string, error) { return "nothing to do", nil })
			},
		} {
			t.Run(name, func(t *testing.T) {
				store := elsewhere(store)
				tr, _, _ := newTrip(t, store)
				tr.fails["car"], tr.fails["undo hotel"] = idempotent.Permanent(errSoldOut), errBroken
				call := tr.calls(t, store, "trip of "+strings.ReplaceAll(name, " ", "-"))
				_, _ = call()
				tr.wants(t, "flight", "hotel", "car", "undo HOTEL")
				delete(tr.fails, "undo hotel")
				tr.saga = later
				_, err := call()
				if failed, ok := errors.AsType[*idempotent.PermanentError](err); !ok || errors.Is(err, saga.ErrCompensation) || failed.Message != "sold out" {
					t.Fatalf("error %v", err)
				}
				tr.wants(t, "undo HOTEL", "undo FLIGHT")
			})
		}
	})
}

// The output that a compensation gets is the recorded one, and where that could not be
// stored, what Reconcile finds.
func TestACompensationGetsTheRecordedOutputOfAStepThatIsNotReached(t *testing.T) {
	for name, test := range map[string]struct {
		reconcile func(context.Context, saga.Call) (any, bool, error)
		undone    []string
		err       error
	}{
		"recorded":       {nil, []string{"undo box 7"}, idempotent.ErrPermanent},
		"found again":    {func(context.Context, saga.Call) (any, bool, error) { return "box 8", true, nil }, []string{"undo box 8"}, idempotent.ErrPermanent},
		"not to be had":  {nil, nil, idempotent.ErrResultNotStored},
		"not found":      {func(context.Context, saga.Call) (any, bool, error) { return nil, false, errBroken }, nil, idempotent.ErrOutcomeUnknown},
		"never happened": {func(context.Context, saga.Call) (any, bool, error) { return nil, false, nil }, nil, idempotent.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			var did diary
			broken := true
			reserve := saga.NewStep(saga.Spec[any]{
				Name: "reserve",
				Compensate: func(_ context.Context, _ saga.Call, box any) error {
					if broken {
						return errBroken
					}
					did.note("undo %v", box)
					return nil
				},
				Reconcile: test.reconcile,
			})
			guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(reserve)})
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				_, err := reserve.Run(ctx, func(context.Context, saga.Call) (any, error) {
					if name == "recorded" {
						return "box 7", nil
					}
					return func() {}, nil // is not to be stored
				})
				return "", errors.Join(err, idempotent.Permanent(errSoldOut))
			})
			if !errors.Is(err, saga.ErrCompensation) {
				t.Fatal(err)
			}
			broken = false
			_, err = idempotent.Do(t.Context(), guard, "k", func(context.Context) (string, error) { return "", errBroken })
			if !errors.Is(err, test.err) || errors.Is(err, saga.ErrCompensation) != (test.err != idempotent.ErrPermanent) { //nolint:errorlint // which of them
				t.Errorf("error %v", err)
			}
			did.wants(t, test.undone...)
		})
	}
}

// A name that is only kept says nothing of how to undo the step.
func TestARetiredStepGoesForwardAndCannotBeUndone(t *testing.T) {
	for name, test := range map[string]struct {
		compensate func(context.Context, saga.Call, string) error
		failure    error
		want       error
	}{
		"forward":             {func(context.Context, saga.Call, string) error { return nil }, nil, nil},
		"nothing to undo":     {nil, idempotent.Permanent(errSoldOut), idempotent.ErrPermanent},
		"it had a Compensate": {func(context.Context, saga.Call, string) error { return nil }, idempotent.Permanent(errSoldOut), saga.ErrNotUndoable},
		"an ordinary failure": {func(context.Context, saga.Call, string) error { return nil }, errBroken, saga.ErrPartialSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			store := persistence.NewMemory()
			old := saga.NewStep(saga.Spec[string]{Name: "old", Compensate: test.compensate})
			before := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(old)})
			_, err := idempotent.Do(t.Context(), before, "k", func(ctx context.Context) (string, error) {
				return "", errors.Join(old.Do(ctx, func(context.Context, saga.Call) error { return nil }), errBroken)
			})
			if !errors.Is(err, saga.ErrPartialSuccess) {
				t.Fatal(err)
			}
			after := lab.NewKeylessGuard(t, elsewhere(store), idempotent.Config{Steps: saga.Steps(saga.Retired("old"))})
			_, err = idempotent.Do(t.Context(), after, "k", func(context.Context) (string, error) { return "", test.failure })
			if !errors.Is(err, test.want) || (test.want == nil) != (err == nil) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

// A step that is not the one which is declared under its name would be undone by the other.
func TestAStepOfTheSameNameIsAnother(t *testing.T) {
	declared := saga.NewStep(saga.Spec[string]{Name: "charge"})
	other := saga.NewStep(saga.Spec[string]{Name: "charge"})
	guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(declared)})
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
		return other.Run(ctx, func(context.Context, saga.Call) (string, error) { t.Error("it ran"); return "", nil })
	})
	if !errors.Is(err, saga.ErrStepMisuse) {
		t.Errorf("error %v", err)
	}
}

func TestAPanicInACompensationIsResumed(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		var did diary
		panics := true
		aStep := saga.NewStep(saga.Spec[int]{Name: "a", Compensate: func(context.Context, saga.Call, int) error {
			did.note("undo a")
			if panics {
				panic("in the compensation")
			}
			return nil
		}})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(aStep)})
		call := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("panic: %v", p)
				}
			}()
			_, err = idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
				_, err := aStep.Run(ctx, func(context.Context, saga.Call) (int, error) { did.note("a"); return 0, nil })
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

// step is the step of a bank that may be another one in each attempt.
func (b *bank) step(now **bank) *saga.Step[string] {
	spec := saga.Spec[string]{Name: "pay", AtMostOnce: true}
	if !b.blind {
		spec.Reconcile = func(ctx context.Context, call saga.Call) (string, bool, error) {
			if known, ok := saga.CallFrom(ctx); !ok || known != call {
				return "", false, errors.New("no token to ask with")
			}
			(*now).note("reconcile")
			time.Sleep((*now).finds) // virtual, where it is any time at all
			return "found", (*now).happened, (*now).unknown
		}
	}
	return saga.NewStep(spec)
}

// pay pays at the bank.
func (b *bank) pay(ctx context.Context, step *saga.Step[string]) (string, error) {
	return step.Run(ctx, func(context.Context, saga.Call) (string, error) {
		b.note("pay")
		if b.interrupted {
			return "", errBroken
		}
		return "paid", nil
	})
}

// payingAt returns a call that pays at a bank.
func payingAt(t *testing.T, store persistence.Store, first *bank, config idempotent.Config) func(*bank) (string, error) {
	now := new(*bank)
	step := first.step(now)
	config.Steps = saga.Steps(step)
	guard := lab.NewKeylessGuard(t, store, config)
	return func(b *bank) (string, error) {
		*now = b
		return idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) { return b.pay(ctx, step) })
	}
}

func TestAStepThatMustRunAtMostOnceIsReconciled(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
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
				first := bank{interrupted: true, blind: test.later.blind}
				pay := payingAt(t, store, &first, idempotent.Config{Operation: strings.ReplaceAll(name, " ", "-")})
				if _, err := pay(&first); !errors.Is(err, errBroken) {
					t.Fatal(err)
				}
				first.wants(t, "pay")
				out, err := pay(test.later)
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
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		first := bank{interrupted: true}
		pay := payingAt(t, store, &first, idempotent.Config{LeaseWholeRuns: true, Lease: 30 * time.Second})
		if _, err := pay(&first); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		late := bank{finds: time.Minute}
		if _, err := pay(&late); !errors.Is(err, idempotent.ErrNotStarted) {
			t.Errorf("error %v", err)
		}
		late.wants(t, "reconcile")
	})
}
