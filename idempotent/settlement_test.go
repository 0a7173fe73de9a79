package idempotent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// What is undone does not commit: the writes of an undone saga are dropped, in both forms,
// and those of the answer that the function then gives are not.
func TestTheWritesOfAnUndoneSagaAreDropped(t *testing.T) {
	declined := idempotent.Permanent(errors.New("declined"))
	for name, test := range map[string]struct {
		run  func(context.Context) (string, error)
		left int
	}{
		"a saga, and an answer": {func(ctx context.Context) (string, error) {
			_, err := saga.Run(ctx, func(ctx context.Context) (string, error) {
				return "", errors.Join(lab.Take(ctx, 3, lab.ErrOutOfStock), declined)
			})
			if errors.Is(err, idempotent.ErrPermanent) {
				return "declined", nil
			}
			return "", err
		}, 10},
		"a saga, and an answer with a write": {func(ctx context.Context) (string, error) {
			_, err := saga.Run(ctx, func(ctx context.Context) (string, error) {
				return "", errors.Join(lab.Take(ctx, 3, lab.ErrOutOfStock), declined)
			})
			if errors.Is(err, idempotent.ErrPermanent) {
				return "declined", lab.Take(ctx, 1, lab.ErrOutOfStock)
			}
			return "", err
		}, 9},
		"a saga, and another that is undone": {func(ctx context.Context) (string, error) {
			if _, err := saga.Run(ctx, func(ctx context.Context) (string, error) { return "", lab.Take(ctx, 3, lab.ErrOutOfStock) }); err != nil {
				return "", err
			}
			_, err := saga.Run(ctx, func(context.Context) (string, error) { return "", declined })
			if errors.Is(err, idempotent.ErrPermanent) {
				return "declined", nil
			}
			return "", err
		}, 10},
		"the call": {func(ctx context.Context) (string, error) {
			return "", errors.Join(lab.Take(ctx, 3, lab.ErrOutOfStock), declined)
		}, 10},
		"a saga that is not undone": {func(ctx context.Context) (string, error) {
			return saga.Run(ctx, func(ctx context.Context) (string, error) { return "sold", lab.Take(ctx, 3, lab.ErrOutOfStock) })
		}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			charge := saga.NewStep(saga.Spec[string]{Name: "charge", Compensate: func(context.Context, saga.Call, string) error { return nil }})
			g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(charge)})
			_, _ = idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				if _, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) { return "ch", nil }); err != nil {
					return "", err
				}
				return test.run(ctx)
			})
			if left := s.Left(); left != test.left {
				t.Errorf("%d boxes left, want %d", left, test.left)
			}
		})
	}
}

// Two checkpoints at once: each fits alone, and both would eat what is kept for undoing.
func TestBytesInFlightAreBooked(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			_, store := lab.NewDynamo(t)
			undone := 0
			steps := make(map[string]*saga.Step[string])
			for _, name := range []string{"a", "b"} {
				steps[name] = saga.NewStep(saga.Spec[string]{Name: name, Compensate: func(context.Context, saga.Call, string) error { undone++; return nil }})
			}
			g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(steps["a"], steps["b"])})
			_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				done := make(chan error)
				for name, size := range map[string]int{"a": 200_000, "b": 209_100} {
					go func() {
						_, err := steps[name].Run(ctx, func(context.Context, saga.Call) (string, error) { return strings.Repeat("x", size), nil })
						done <- err
					}()
				}
				return "", errors.Join(<-done, <-done, idempotent.Permanent(errBroken))
			})
			if errors.Is(err, saga.ErrCompensation) || !errors.Is(err, idempotent.ErrPermanent) || undone != 2 {
				t.Fatalf("undone %d times: %v", undone, err)
			}
		})
	}
}

// An at-most-once step whose write was refused has not happened: it may run again, in the
// next attempt too, as often as it takes.
func TestARefusedAtMostOnceStepMayRunAgain(t *testing.T) {
	s := lab.NewShop(t, 0)
	takeStep := saga.NewStep(saga.Spec[string]{Name: "take", AtMostOnce: true})
	config := idempotent.Config{Steps: saga.Steps(lab.Named[string]("first"), takeStep)}
	run := func(ctx context.Context) (string, error) {
		if _, err := lab.Named[string]("first").Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil }); err != nil {
			return "", err
		}
		return takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
			return "taken", lab.Take(ctx, 1, lab.ErrOutOfStock)
		})
	}
	for range 3 {
		_, err := idempotent.Do(t.Context(), lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), config), "k", run)
		if v := idempotent.VerdictOf(err); !errors.Is(err, lab.ErrOutOfStock) || v.Code != idempotent.CodePartialSuccess || !v.Retry {
			t.Fatalf("%+v: %v", v, err)
		}
	}
	s.Stock(5)
	got, err := idempotent.Do(t.Context(), lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), config), "k", run)
	if err != nil || got != "taken" || s.Left() != 4 {
		t.Errorf("got %q, %v, %d left", got, err, s.Left())
	}
}

// One that dies while it is under way is unknown all the same, however often it was
// declined before.
func TestADeclinedStepThatWasStartedAgainIsUnknown(t *testing.T) {
	s := lab.NewShop(t, 0)
	takeStep := saga.NewStep(saga.Spec[string]{Name: "take", AtMostOnce: true})
	config := idempotent.Config{Steps: saga.Steps(takeStep)}
	step := func(fn func(context.Context) (string, error)) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			return takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { return fn(ctx) })
		}
	}
	call := func(fn func(context.Context) (string, error)) error {
		_, err := idempotent.Do(t.Context(), lab.NewKeylessGuard(t, lab.NewStoreOn(t, s.DB), config), "k", step(fn))
		return err
	}
	if err := call(func(ctx context.Context) (string, error) { return "", lab.Take(ctx, 1, lab.ErrOutOfStock) }); !errors.Is(err, lab.ErrOutOfStock) {
		t.Fatal(err)
	}
	if err := call(func(context.Context) (string, error) { return "", errBroken }); !errors.Is(err, errBroken) { // or so it says
		t.Fatal(err)
	}
	err := call(func(context.Context) (string, error) { t.Error("ran"); return "", nil })
	if v := idempotent.VerdictOf(err); !errors.Is(err, idempotent.ErrOutcomeUnknown) || v.Code != idempotent.CodeOutcomeUnknown || v.Retry {
		t.Errorf("%+v: %v", v, err)
	}
}

// settledOtherwise is a store that has got an earlier try of the same owner before.
type settledOtherwise struct {
	*persistence.Memory
	first func(context.Context, persistence.Lease) error
}

func (s *settledOtherwise) Release(ctx context.Context, l persistence.Lease) error {
	if err := s.first(ctx, l); err != nil {
		return err
	}
	return s.Memory.Release(ctx, l)
}

func (s *settledOtherwise) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	early := l
	if err := s.Memory.Checkpoint(ctx, early, step, []byte(`{"order":1,"output":"reservation-1"}`)); err != nil {
		return err
	}
	return s.Memory.Checkpoint(ctx, l, step, output)
}

// Where an owner's earlier try has settled the record, the record is the answer.
func TestTheRecordIsTheAnswerWhereItSaysOtherwise(t *testing.T) {
	now := time.Now().Add(time.Hour)
	store := &settledOtherwise{Memory: persistence.NewMemory(), first: nil}
	store.first = func(ctx context.Context, l persistence.Lease) error {
		return store.Complete(ctx, l, persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(`"sold"`), ExpiresAt: now.Truncate(time.Second)})
	}
	var seen lab.EventLog
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Observe: seen.Observe})
	got, err := idempotent.Do(t.Context(), g, "k", func(context.Context) (string, error) { return "", lab.ErrOutOfStock })
	if err != nil || got != "sold" {
		t.Errorf("got %q, %v; the record says COMPLETED", got, err)
	}
	if kinds := seen.Kinds(); !slices.Equal(kinds, []idempotent.EventKind{idempotent.EventReplayed}) {
		t.Errorf("events %v", kinds)
	}
}

func TestAStepReturnsWhatTheRecordHasOfIt(t *testing.T) {
	store := &settledOtherwise{Memory: persistence.NewMemory(), first: func(context.Context, persistence.Lease) error { return nil }}
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("reserve"))})
	got, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		return lab.Named[string]("reserve").Run(ctx, func(context.Context, saga.Call) (string, error) { return "reservation-2", nil })
	})
	if err != nil || got != "reservation-1" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A run that lost its lease has no result where that was to commit with its writes.
func TestNoResultOfWritesThatWereNotApplied(t *testing.T) {
	for name, writes := range map[string]bool{"with writes": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{})
			got, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				call, _ := idempotent.CallFrom(ctx)
				usurp(t, s.Store, call.Key)
				if writes {
					return "sold", lab.Take(ctx, 1, lab.ErrOutOfStock)
				}
				return "sold", nil
			})
			lost, _ := errors.AsType[*idempotent.LeaseLostError](err)
			if lost == nil || lost.Executed == writes || (lost.Result == nil) != writes || (got == "") != writes {
				t.Errorf("got %q, %+v, %v", got, lost, err)
			}
			if v := idempotent.VerdictOf(err); (v.Done == idempotent.DoneAll) == writes || !v.Retry {
				t.Errorf("%+v", v)
			}
		})
	}
}

// A saga that is undone without a record has an end.
func TestUndoingWithoutARecordIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := ""
		a := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(ctx context.Context, _ saga.Call, _ string) error {
			if _, ok := ctx.Deadline(); !ok {
				t.Errorf("%s: the compensation has no deadline", name)
			}
			<-ctx.Done()
			return ctx.Err()
		}})
		g := lab.NewKeylessGuard(t, lab.Down(errBroken), idempotent.Config{Steps: saga.Steps(a), FailOpen: true})
		var ctx func() context.Context
		for name, ctx = range map[string]func() context.Context{"without a deadline": t.Context, "with one": func() context.Context { return within(t, 10*time.Second) }} {
			_, err := idempotent.Do(ctx(), g, "k", func(ctx context.Context) (string, error) {
				_, err := a.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
				return "", errors.Join(err, idempotent.Permanent(errBroken))
			})
			if !errors.Is(err, saga.ErrCompensation) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// latecomer is a store in which the first try of a step's transaction gets no answer, the
// next one is refused, and the first one arrives when the call has begun to go backward.
type latecomer struct {
	*dynamostore.Store
	arrive  func() error
	tries   int
	through bool // writes pass from now on
}

func (s *latecomer) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	if s.through {
		return s.Store.CheckpointWith(ctx, l, step, output, writes)
	}
	if s.tries++; s.tries == 1 {
		s.arrive = func() error {
			return s.Store.CheckpointWith(context.WithoutCancel(ctx), l, step, output, writes)
		}
		return &persistence.Fault{Op: "checkpoint", Retryable: true, Err: errBroken}
	}
	return &persistence.RefusedError{Err: lab.ErrOutOfStock}
}

func (s *latecomer) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	err := s.Store.Checkpoint(ctx, l, step, output)
	if step == ":unwinding" && s.arrive != nil {
		arrive := s.arrive
		s.arrive = nil
		return errors.Join(err, arrive())
	}
	return err
}

// A step that was refused, and arrives after all while the call goes backward, is undone.
func TestAStepThatArrivesLateIsUndone(t *testing.T) {
	for name, arrives := range map[string]bool{"it arrives": true, "it does not": false} {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			store := &latecomer{Store: s.Store}
			step := saga.NewStep(saga.Spec[string]{Name: "take", Compensate: func(ctx context.Context, _ saga.Call, _ string) error { return lab.Take(ctx, -3, errBroken) }})
			g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(step)})
			_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
				for range 2 {
					_, err := step.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
						return "box", lab.Take(ctx, 3, lab.ErrOutOfStock)
					})
					if err == nil {
						t.Error("no error")
					}
				}
				if !arrives {
					store.arrive = nil
				}
				store.through = true
				return "", idempotent.Permanent(errBroken)
			})
			if left := s.Left(); left != 10 || !errors.Is(err, idempotent.ErrPermanent) || errors.Is(err, saga.ErrCompensation) {
				t.Errorf("%d left: %v", left, err)
			}
		})
	}
}
