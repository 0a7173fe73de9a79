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
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Without a record nothing tells whether a transaction whose reply was lost was applied.
func TestWithoutARecordWritesThatMayHaveArrivedAreNotSentAgain(t *testing.T) {
	for _, again := range []string{"undo", "call again"} {
		t.Run(again, func(t *testing.T) {
			s := lab.NewShop(t, 10)
			undone := 0
			takeStep := saga.NewStep(saga.Spec[string]{Name: "take", Compensate: func(ctx context.Context, _ saga.Call, _ string) error {
				undone++
				return lab.Take(ctx, -1, lab.ErrOutOfStock)
			}})
			g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(takeStep), RunWithoutKey: true, StoreTimeout: 300 * time.Millisecond})
			_, err := idempotent.Do(t.Context(), g, "", func(ctx context.Context) (string, error) {
				step := func() error {
					_, err := takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) { return "", lab.Take(ctx, 1, lab.ErrOutOfStock) })
					return err
				}
				s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseReply()})
				err := step()
				s.DB.ClearFaults()
				if again == "undo" {
					return "", idempotent.Permanent(err)
				}
				return "", step()
			})
			if s.Left() != 9 || undone != 0 || !errors.Is(err, idempotent.ErrOutcomeUnknown) {
				t.Errorf("%d left, undone %d: %v", s.Left(), undone, err)
			}
		})
	}
}

// A step that is known not to have happened, and runs again, may have happened.
func TestADeclinedStepThatRunsAgainIsUnknownAgain(t *testing.T) {
	charged, refunded, n := 0, 0, 0
	chargeStep := saga.NewStep(saga.Spec[string]{Name: "charge", AtMostOnce: true,
		Compensate: func(context.Context, saga.Call, string) error { refunded++; return nil },
		Reconcile:  func(context.Context, saga.Call) (string, bool, error) { return "", charged > 0, nil },
	})
	g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(chargeStep)})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		step := func() error {
			_, err := chargeStep.Run(ctx, func(context.Context, saga.Call) (string, error) {
				if n++; n == 1 {
					return "", idempotent.Permanent(errors.New("card declined"))
				}
				charged++
				return "", errors.New("timeout")
			})
			return err
		}
		_ = step()
		_ = step()
		return "", idempotent.Permanent(errors.New("give up"))
	})
	if charged != refunded {
		t.Errorf("charged %d, refunded %d, %v", charged, refunded, err)
	}
}

// A step that is refused when its ending is sent again has not happened, and the decision
// says so.
func TestWhatIsDeclinedWhileDecidingIsRecorded(t *testing.T) {
	s := lab.NewShop(t, 0) // out of stock
	fail := true
	aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error {
		if fail {
			return errBroken
		}
		return nil
	}})
	takeStep := saga.NewStep(saga.Spec[string]{Name: "take", AtMostOnce: true, Compensate: func(context.Context, saga.Call, string) error { return nil }})
	g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{Steps: saga.Steps(aStep, takeStep), StoreTimeout: 300 * time.Millisecond})
	call := func() error {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			_, err := aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
			if err != nil {
				return "", err
			}
			s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.Fail("InternalServerError", "lost", 500)})
			_, err = takeStep.Run(ctx, func(ctx context.Context, _ saga.Call) (string, error) {
				return "", lab.Take(ctx, 1, idempotent.Permanent(lab.ErrOutOfStock))
			})
			s.DB.ClearFaults()
			return "", idempotent.Permanent(err)
		})
		return err
	}
	first := call()
	fail = false
	second := call()
	t.Logf("first %v\nsecond %v", first, second)
	if errors.Is(second, saga.ErrCompensation) {
		t.Errorf("stuck for good: %v", second)
	}
}

// cancelOnStart ends a context once the start of a step is recorded.
type cancelOnStart struct {
	*persistence.Memory
	cancel func()
}

func (c *cancelOnStart) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if strings.HasSuffix(step, ":started") {
		c.cancel()
	}
	return c.Memory.Checkpoint(ctx, l, step, output)
}

func TestAStepThatNeverRanDoesNotBlockUndoing(t *testing.T) {
	store := &cancelOnStart{Memory: persistence.NewMemory()}
	ran := 0
	chargeStep := saga.NewStep(saga.Spec[string]{Name: "charge", AtMostOnce: true,
		Compensate: func(context.Context, saga.Call, string) error { return nil },
	})
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(chargeStep)})
	for range 2 {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			ctx, store.cancel = context.WithCancel(ctx) // as an errgroup's
			_, _ = chargeStep.Run(ctx, func(context.Context, saga.Call) (string, error) { ran++; return "", nil })
			return "", idempotent.Permanent(errors.New("the other one was declined"))
		})
		if errors.Is(err, saga.ErrCompensation) || ran > 0 {
			t.Errorf("ran %d: %v", ran, err)
		}
	}
}

// The call is over for a Saga that nobody waits for: it must not undo what is being
// completed.
func TestASagaThatOutlivesItsCallUndoesNothing(t *testing.T) {
	fail, undone := make(chan struct{}), make(chan struct{})
	over := make(chan error, 1)
	memory := persistence.NewMemory()
	store := lab.Before(memory, "complete", func() error { // others have time
		close(fail)
		select {
		case <-undone:
		case <-time.After(time.Second):
		}
		return nil
	})
	stepped := make(chan struct{})
	compensated := 0
	aStep := saga.NewStep(saga.Spec[string]{Name: "a", Compensate: func(context.Context, saga.Call, string) error { compensated++; close(undone); return nil }})
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(aStep)})
	_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
		go func() {
			_, err := saga.Run(ctx, func(ctx context.Context) (string, error) {
				_, err := aStep.Run(ctx, func(context.Context, saga.Call) (string, error) { return "", nil })
				close(stepped)
				<-fail
				return "", errors.Join(err, idempotent.Permanent(errBroken))
			})
			over <- err
		}()
		<-stepped
		return "ok", nil
	})
	<-over
	if r := memory.Records()[0]; err == nil && compensated > 0 {
		t.Errorf("%s, and undone: %v %q", r.Status, err, r.Steps)
	}
}

// The decision lists what was declined; room is kept for that, too.
func TestManyDeclinedStepsInAFullRecord(t *testing.T) {
	_, store := lab.NewDynamo(t)
	once := saga.NewFamily(saga.Spec[string]{Name: "x/", AtMostOnce: true})
	undoable := saga.NewFamily(saga.Spec[string]{Name: "f/", Compensate: func(context.Context, saga.Call, string) error { return nil }})
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(once, undoable)})
	call := func() error {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			for i := range 60 {
				_, _ = once.Step(fmt.Sprintf("%0150d", i)).Run(ctx, func(context.Context, saga.Call) (string, error) { return "", idempotent.Permanent(errBroken) })
			}
			for i := range 900 {
				n := 40 << 10
				if i > 9 {
					n = 10
				}
				_, err := undoable.Step(fmt.Sprint(i)).Run(ctx,
					func(context.Context, saga.Call) (string, error) { return strings.Repeat("a", n), nil })
				if errors.Is(err, persistence.ErrTooLarge) {
					t.Log("full at", i)
					break
				}
			}
			return "", idempotent.Permanent(errors.New("for good"))
		})
		return err
	}
	err := call()
	if errors.Is(err, saga.ErrCompensation) {
		s := err.Error()
		t.Errorf("stuck: …%s", s[max(0, len(s)-200):])
	}
}

// flaky is a store whose first checkpoints fail.
type flaky struct {
	*persistence.Memory
	fails int
}

func (f *flaky) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if f.fails > 0 {
		f.fails--
		return &persistence.Fault{Op: "checkpoint", Retryable: true, Err: errBroken}
	}
	return f.Memory.Checkpoint(ctx, l, step, output)
}

// A step has happened, and its checkpoint has failed: it is sent again before the record
// is given up to others.
func TestAPendingStepIsRecordedBeforeRelease(t *testing.T) {
	store := &flaky{persistence.NewMemory(), 1}
	g := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[string]("charge"))})
	charged := 0
	for range 2 {
		_, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) {
			return lab.Named[string]("charge").Run(ctx, func(context.Context, saga.Call) (string, error) { charged++; return "", nil })
		})
		t.Log(err)
	}
	if charged != 1 {
		t.Errorf("charged %d times", charged)
	}
}

// Nothing was written, so there is no result.
func TestAResultThatCameToNothing(t *testing.T) {
	for name, short := range lab.Modes {
		s := lab.NewShop(t, 10)
		g := lab.NewKeylessGuard(t, s.Store, idempotent.Config{StoreTimeout: 300 * time.Millisecond, OnlyEnlists: short})
		s.DB.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.Cancel("None", "TransactionConflict")})
		got, err := idempotent.Do(t.Context(), g, "k", func(ctx context.Context) (string, error) { return "paid", lab.Take(ctx, 1, lab.ErrOutOfStock) })
		f, _ := errors.AsType[*idempotent.StoreError](err)
		if f == nil || !f.Executed && got != "" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// What a step that is going to be undone is refused for keeps nobody from undoing it: the next
// arrival goes on, and nobody has to be called.
func TestACallThatGoesBackwardIsNotStuckAtAStepThatItCannotRun(t *testing.T) {
	for name, refused := range map[string]func(context.Context, *saga.Step[string]) error{
		"another input": func(ctx context.Context, s *saga.Step[string]) error {
			_, err := s.RunFor(ctx, "another", func(context.Context, saga.Call) (string, error) { return "", nil })
			return err
		},
		"a step that is not declared": func(ctx context.Context, _ *saga.Step[string]) error {
			other := saga.NewStep(saga.Spec[string]{Name: "other"})
			return other.Do(ctx, func(context.Context, saga.Call) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log lab.EventLog
			down := true
			reserve := saga.NewStep(saga.Spec[string]{Name: "reserve", Compensate: func(context.Context, saga.Call, string) error {
				if down {
					return errors.New("the warehouse is down")
				}
				return nil
			}})
			g := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(reserve), Observe: log.Observe})
			attempt := 0
			call := func() error {
				return g.Do(t.Context(), "k", func(ctx context.Context) error {
					if attempt++; attempt > 1 {
						return refused(ctx, reserve)
					}
					if _, err := reserve.RunFor(ctx, "input", func(context.Context, saga.Call) (string, error) { return "box", nil }); err != nil {
						return err
					}
					return idempotent.Permanent(errors.New("sold out"))
				})
			}
			for range 2 {
				err := call()
				if v := idempotent.VerdictOf(err); !v.Retry || v.Code != idempotent.CodeCompensationFailed {
					t.Errorf("attempt %d: %+v, %v", attempt, v, err)
				}
				if kinds := log.Kinds(); slices.Contains(kinds, idempotent.EventStuck) {
					t.Errorf("attempt %d is stuck, and the next one would go on: %v", attempt, kinds)
				}
			}
			down = false
			if err := call(); !errors.Is(err, idempotent.ErrPermanent) || err.Error() != "sold out" {
				t.Errorf("got %v", err)
			}
		})
	}
}
