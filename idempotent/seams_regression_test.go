package idempotent_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// odd is a store whose answers can be replaced.
type odd struct {
	storekit.Front
	acquire        func(context.Context, persistence.Claim) (persistence.Record, error)
	complete       func(context.Context, persistence.Lease, persistence.Outcome) error
	checkpoint     func(context.Context, persistence.Lease, string, []byte) error
	checkpointWith func(context.Context, persistence.Lease, string, []byte, []storekit.Write) error
	renew          func(context.Context, persistence.Lease) error
}

func (s *odd) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if s.acquire != nil {
		return s.acquire(ctx, c)
	}
	return s.Front.Acquire(ctx, c)
}

func (s *odd) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	if s.complete != nil {
		return s.complete(ctx, l, o)
	}
	return s.Front.Complete(ctx, l, o)
}

func (s *odd) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if s.checkpoint != nil {
		return s.checkpoint(ctx, l, step, output)
	}
	return s.Front.Checkpoint(ctx, l, step, output)
}

func (s *odd) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, w []storekit.Write) error {
	if s.checkpointWith != nil {
		return s.checkpointWith(ctx, l, step, output, w)
	}
	return s.Front.CheckpointWith(ctx, l, step, output, w)
}

func (s *odd) Renew(ctx context.Context, l persistence.Lease) error {
	if s.renew != nil {
		return s.renew(ctx, l)
	}
	return s.Front.Renew(ctx, l)
}

// appliedUnheard is an acquire that is applied, and whose reply is lost.
func (s *odd) appliedUnheard(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if _, err := s.Front.Acquire(ctx, c); err != nil {
		return persistence.Record{}, err
	}
	return persistence.Record{}, &persistence.Fault{Op: "acquire", Retryable: true, Err: errBroken}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func one(context.Context, saga.Call) (int, error) { return 1, nil }

// Undoing has the time of the call, and not of one lease, in both forms of a saga.
func TestUndoingOutlastsALease(t *testing.T) {
	for name, inner := range map[string]bool{"a saga": true, "the call": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				charge := saga.NewStep(saga.Spec[int]{Name: "charge", Compensate: func(ctx context.Context, _ saga.Call, _ int) error { return pause(ctx, 5*time.Minute) }})
				guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(charge)})
				run := func(ctx context.Context) (int, error) {
					if _, err := charge.Run(ctx, one); err != nil {
						return 0, err
					}
					return 0, idempotent.Permanent(errors.New("declined"))
				}
				_, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(ctx context.Context) (int, error) {
					if inner {
						return saga.Run(ctx, run)
					}
					return run(ctx)
				})
				if errors.Is(err, saga.ErrCompensation) || !errors.Is(err, idempotent.ErrPermanent) {
					t.Error(err)
				}
			})
		})
	}
}

// A lease is renewed in time however much of it the clocks' allowance takes, and whatever
// one renewal does.
func TestShortLeasesAreRenewedInTime(t *testing.T) {
	for name, config := range map[string]idempotent.Config{
		"2 s":                    {Lease: 2 * time.Second},
		"as short as its record": {TTL: 2 * time.Second},
		"half of it allowance":   {Lease: 10 * time.Second, ClockSkew: 5 * time.Second},
		"most of it allowance":   {Lease: 10 * time.Second, ClockSkew: 9 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				guard := lab.NewKeylessGuard(t, persistence.NewMemory(), config)
				if _, err := idempotent.Do(within(t, time.Minute), guard, "k", func(ctx context.Context) (int, error) { return 1, pause(ctx, 40*time.Second) }); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestARenewalThatHangsIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, renewals := &odd{Front: storekit.NewFront(persistence.NewMemory())}, 0
		store.renew = func(ctx context.Context, l persistence.Lease) error {
			if renewals++; renewals == 1 {
				<-ctx.Done()
				return &persistence.Fault{Op: "renew", Retryable: true, Err: ctx.Err()}
			}
			return store.Front.Renew(ctx, l)
		}
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		if _, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(ctx context.Context) (int, error) { return 1, pause(ctx, 5*time.Minute) }); err != nil {
			t.Error(err)
		}
	})
}

// The function's context never outlives its lease by the fastest clock, also where the
// allowance for clocks is larger than the reserve.
func TestTheContextEndsBeforeTheLeaseByAnyClock(t *testing.T) {
	for lease := 2 * time.Second; lease <= 6*time.Second; lease += 500 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			memory := persistence.NewMemory()
			guard := lab.NewKeylessGuard(t, memory, idempotent.Config{Lease: lease})
			_, _ = idempotent.Do(within(t, 4500*time.Millisecond), guard, "k", func(ctx context.Context) (int, error) {
				<-ctx.Done()
				if until := memory.Records()[0].LeaseUntil; time.Now().After(until.Add(-time.Second)) {
					t.Errorf("lease of %v: the context has ended %v before the lease", lease, time.Until(until))
				}
				return 0, ctx.Err()
			})
		})
	}
}

// Whenever the function ends, settling has its time: ending a little earlier does not lose
// what ending later would have kept.
func TestSettlingHasTimeWheneverTheFunctionEnds(t *testing.T) {
	for end := 9000 * time.Millisecond; end <= 9900*time.Millisecond; end += 10 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			store := &odd{Front: storekit.NewFront(persistence.NewMemory())}
			store.complete = func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
				if err := pause(ctx, 40*time.Millisecond); err != nil {
					return &persistence.Fault{Op: "complete", Retryable: true, Err: err}
				}
				return store.Front.Complete(ctx, l, o)
			}
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
			if _, err := idempotent.Do(within(t, 10*time.Second), guard, "k", func(context.Context) (int, error) {
				time.Sleep(end)
				return 1, nil
			}); err != nil {
				t.Errorf("ended after %v: %v", end, err)
			}
		})
	}
}

// A run without a record settles nothing that it knows nothing of: the steps of an attempt
// before, which its own claim has taken over, stay to be undone.
func TestAnUnprotectedRunLeavesAnEarlierAttemptsSteps(t *testing.T) {
	store := &odd{Front: storekit.NewFront(persistence.NewMemory())}
	undone, soldOut := 0, false
	reserve := saga.NewStep(saga.Spec[int]{Name: "reserve", Compensate: func(context.Context, saga.Call, int) error { undone++; return nil }})
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(reserve), FailOpen: true})
	run := func() error {
		_, err := idempotent.Do(within(t, time.Minute), guard, "k", func(ctx context.Context) (int, error) {
			if _, err := reserve.Run(ctx, one); err != nil {
				return 0, err
			}
			if soldOut {
				return 0, idempotent.Permanent(errors.New("sold out"))
			}
			return 0, errBroken
		})
		return err
	}
	_ = run() // PARTIAL_SUCCESS
	soldOut, store.acquire = true, store.appliedUnheard
	_ = run() // undoes its own, of which nothing is recorded
	store.acquire, undone = nil, 0
	if err := run(); !errors.Is(err, idempotent.ErrPermanent) || undone != 1 {
		t.Errorf("undone %d times: %v", undone, err)
	}
}

// What an unprotected run leaves is settled, however its result is.
func TestAnUnprotectedRunIsSettledWhateverItsResult(t *testing.T) {
	for name, test := range map[string]struct {
		run      func(context.Context) (any, error)
		tooLarge bool
	}{
		"too large":                    {func(context.Context) (any, error) { return "large", nil }, true},
		"one whose encoding panics":    {func(context.Context) (any, error) { return exploding{}, nil }, false},
		"one that can't be encoded":    {func(context.Context) (any, error) { return pickyResult{}, nil }, false},
		"a failure for good":           {func(context.Context) (any, error) { return nil, idempotent.Permanent(errBroken) }, false},
		"one that is as it ever could": {func(context.Context) (any, error) { return "paid", nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			store := &odd{Front: storekit.NewFront(persistence.NewMemory())}
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{FailOpen: true})
			store.acquire = store.appliedUnheard
			store.complete = func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
				if test.tooLarge && !o.ResultOmitted {
					return persistence.ErrTooLarge
				}
				return store.Front.Complete(ctx, l, o)
			}
			runs := 0
			call := func() {
				defer func() { _ = recover() }()
				_, _ = idempotent.Do(within(t, time.Minute), guard, "k", func(ctx context.Context) (any, error) {
					runs++
					return test.run(ctx)
				})
			}
			call()
			store.acquire = nil
			if call(); runs != 1 {
				t.Errorf("ran %d times", runs)
			}
		})
	}
}

type exploding struct{}

func (exploding) MarshalJSON() ([]byte, error) { panic(errBroken) }

// An at-most-once step that is known not to have happened may run again, in whichever way
// that is known.
func TestAStepThatCannotHaveHappenedMayRunAgain(t *testing.T) {
	unwritten := &persistence.Fault{Op: "checkpoint", Retryable: true, Unwritten: true, Err: errBroken}
	for name, spoil := range map[string]func(*odd){
		"its writes were not carried out": func(s *odd) {
			s.checkpointWith = func(context.Context, persistence.Lease, string, []byte, []storekit.Write) error {
				return unwritten
			}
		},
		"its start was recorded, and nobody heard": func(s *odd) {
			s.checkpoint = func(ctx context.Context, l persistence.Lease, step string, output []byte) error {
				if err := s.Front.Checkpoint(ctx, l, step, output); err != nil || step != "take:started" {
					return err
				}
				return &persistence.Fault{Op: "checkpoint", Retryable: true, Err: errBroken}
			}
		},
		"its start was not recorded": func(s *odd) {
			s.checkpoint = func(ctx context.Context, l persistence.Lease, step string, output []byte) error {
				if step == "take:started" {
					return &persistence.Fault{Op: "checkpoint", Retryable: true, Err: errBroken}
				}
				return s.Front.Checkpoint(ctx, l, step, output)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := lab.NewShop(t, 5)
			store := &odd{Front: storekit.NewFront(s.Store)}
			takeStep := saga.NewStep(saga.Spec[int]{Name: "take", AtMostOnce: true})
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(takeStep)})
			call := func() error {
				_, err := idempotent.Do(within(t, time.Minute), guard, "k", func(ctx context.Context) (int, error) {
					return takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (int, error) {
						return 1, lab.Take(ctx, 1, lab.ErrOutOfStock)
					})
				})
				return err
			}
			spoil(store)
			for range 2 {
				if err := call(); errors.Is(err, idempotent.ErrOutcomeUnknown) {
					t.Fatal(err)
				}
			}
			store.checkpoint, store.checkpointWith = nil, nil
			if err := call(); err != nil || s.Left() != 4 { // once, in whichever try
				t.Errorf("%d left: %v", s.Left(), err)
			}
		})
	}
}

// A request is stuck where no arrival gets further, and only there.
func TestStuckIsWhatNoArrivalGetsPast(t *testing.T) {
	t.Run("a step that the function does without", func(t *testing.T) {
		mailStep := saga.NewStep(saga.Spec[int]{Name: "mail", AtMostOnce: true})
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[int]("reserve"), mailStep, lab.Named[int]("charge"))})
		for try := range 3 {
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
				if _, err := lab.Named[int]("reserve").Run(ctx, one); err != nil {
					return 0, err
				}
				_, _ = mailStep.Run(ctx, func(context.Context, saga.Call) (int, error) { return 0, errBroken })
				return lab.Named[int]("charge").Run(ctx, func(context.Context, saga.Call) (int, error) {
					if try < 2 {
						return 0, errors.New("reset")
					}
					return 2, nil
				})
			})
			if v := idempotent.VerdictOf(err); try < 2 && (v.Code != idempotent.CodePartialSuccess || !v.Retry) || try == 2 && err != nil {
				t.Errorf("%+v: %v", v, err)
			}
		}
	})
	t.Run("a step that the code can't have", func(t *testing.T) {
		var seen lab.EventLog
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[int]("reserve")), Observe: seen.Observe})
		for range 2 {
			_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
				if _, err := lab.Named[int]("reserve").Run(ctx, one); err != nil {
					return 0, err
				}
				return lab.Named[int]("charge").Run(ctx, one)
			})
			if v := idempotent.VerdictOf(err); v.Code != idempotent.CodeStuck || v.Retry || v.Done != idempotent.DoneSomething {
				t.Errorf("%+v: %v", v, err)
			}
		}
	})
	t.Run("a failed step that the function does without", func(t *testing.T) {
		mailStep := saga.NewStep(saga.Spec[int]{Name: "mail", AtMostOnce: true})
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[int]("reserve"), mailStep)})
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
			if _, err := lab.Named[int]("reserve").Run(ctx, one); err != nil {
				return 0, err
			}
			_, _ = mailStep.Run(ctx, func(context.Context, saga.Call) (int, error) { return 0, errBroken })
			return 0, errors.New("reset")
		})
		if v := idempotent.VerdictOf(err); v.Code != idempotent.CodePartialSuccess || !v.Retry {
			t.Errorf("%+v: %v", v, err)
		}
	})
	for name, at := range map[string]struct{ finds, first bool }{
		"a failed step that must not run twice":                        {},
		"... before which nothing is finished":                         {first: true},
		"... of which can be found out what became":                    {finds: true},
		"... of which that can be found out, and nothing was finished": {finds: true, first: true},
	} {
		t.Run(name, func(t *testing.T) {
			var seen lab.EventLog
			spec := saga.Spec[int]{Name: "charge", AtMostOnce: true}
			if at.finds {
				spec.Reconcile = func(context.Context, saga.Call) (int, bool, error) { return 0, false, nil }
			}
			chargeStep := saga.NewStep(spec)
			guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(lab.Named[int]("reserve"), chargeStep), Observe: seen.Observe})
			done, code := idempotent.DoneSomething, idempotent.CodePartialSuccess
			if at.first {
				done, code = idempotent.DoneMaybe, idempotent.CodeFunctionFailed
			}
			for range 2 {
				_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
					if !at.first {
						if _, err := lab.Named[int]("reserve").Run(ctx, one); err != nil {
							return 0, err
						}
					}
					return chargeStep.Run(ctx, func(context.Context, saga.Call) (int, error) { return 0, errBroken })
				})
				if v := idempotent.VerdictOf(err); v.Retry != at.finds || (v.Code == code) != at.finds || v.Done != done {
					t.Errorf("%+v: %v", v, err)
				}
			}
			if stuck := slices.Contains(seen.Kinds(), idempotent.EventStuck); stuck == at.finds {
				t.Errorf("events %v", seen.Kinds())
			}
		})
	}
}

// A saga without a record does not say that there is one.
func TestNothingGoesOnUndoingWithoutARecord(t *testing.T) {
	store := &odd{Front: storekit.NewFront(persistence.NewMemory())}
	store.acquire = func(context.Context, persistence.Claim) (persistence.Record, error) {
		return persistence.Record{}, errDown
	}
	charge := saga.NewStep(saga.Spec[int]{Name: "charge", Compensate: func(context.Context, saga.Call, int) error { return errBroken }})
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(charge), FailOpen: true})
	_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (int, error) {
		if _, err := charge.Run(ctx, one); err != nil {
			return 0, err
		}
		return 0, idempotent.Permanent(errors.New("sold out"))
	})
	if v := idempotent.VerdictOf(err); v.Retry || v.Done != idempotent.DoneMaybe || v.Code != idempotent.CodeCompensationFailed {
		t.Errorf("%+v: %v", v, err)
	}
}

// When to start binds runs without a record as well.
func TestARunWithoutARecordIsNotStartedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &odd{Front: storekit.NewFront(persistence.NewMemory())}
		store.acquire = func(context.Context, persistence.Claim) (persistence.Record, error) {
			time.Sleep(40 * time.Second) // virtual: the environment is frozen
			return persistence.Record{}, errDown
		}
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{FailOpen: true})
		ctx := within(t, time.Minute)
		_, err := idempotent.Do(ctx, guard.Batch(ctx, 20*time.Second), "k", func(context.Context) (int, error) { t.Error("started"); return 0, nil })
		if !errors.Is(err, idempotent.ErrNotStarted) {
			t.Error(err)
		}
	})
}
