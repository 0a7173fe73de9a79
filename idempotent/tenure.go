package idempotent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// tenure is the time in which a call owns its record: from acquiring it until it
// is settled, which happens on every way out.
type tenure struct {
	guard   *Guard
	record  persistence.Record // as it was acquired
	journal *journal           // of its steps; nil where the guard declares none

	effect   effect
	enlisted *persistence.Enlistment // commits with the result
	status   persistence.Status      // that the effect is recorded with; empty for COMPLETED
	elapsed  time.Duration           // of the function
	expires  time.Time               // of the outcome, once it is recorded
	settled  bool
	// committing says that the result commits with the function's effects, so that
	// nothing has happened unless that has.
	committing bool
}

// lease returns the lease of the record as it is now.
func (t *tenure) lease() persistence.Lease {
	if t.journal == nil {
		return t.record.Lease()
	}
	return t.journal.current()
}

// until returns when the run must be over, or why it must not start. That is the
// context's end, and before the end of the lease by any clock within the
// allowance. An environment may have been frozen since the store answered, and a
// frozen context's timer need not have fired yet: so the clock is read again.
func (t *tenure) until(ctx context.Context) (time.Time, error) {
	until := t.record.LeaseUntil.Add(-t.guard.config.ClockSkew)
	if deadline, ok := ctx.Deadline(); ok {
		until = earlier(until, deadline)
	}
	err := ctx.Err()
	if err == nil && !wallClock().Before(until) {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return until, &NotStartedError{Key: t.record.Key, Err: err}
	}
	return until, nil
}

// run runs the function, and waits for its steps.
func (t *tenure) run(ctx context.Context, until time.Time, run body) error {
	defer t.journal.close()
	if deadline, ok := ctx.Deadline(); t.journal != nil || !ok || until.Before(deadline) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	ctx, t.enlisted = t.guard.withCall(ctx, &calling{
		Call:    Call{Operation: t.guard.config.Operation, Key: t.record.Key, Attempt: t.record.Attempt},
		journal: t.journal,
	})
	defer t.enlisted.Close()
	started := time.Now()
	err := run(ctx, &t.effect)
	t.elapsed = time.Since(started)
	return err
}

// end settles a record that is not settled yet: something has panicked, or has
// ended its goroutine. The panic is left to go on: the runtime reports its type
// and stack, and ends the process, as without a guard.
func (t *tenure) end(ctx context.Context) {
	switch {
	case t.settled:
	case t.effect.done && !t.committing: // what came after it must not make it run again
		if t.effect.result == nil && t.effect.omit == nil {
			t.effect.omit = errUnwound
		}
		if err := t.complete(ctx, nil); !t.settled {
			t.release(ctx, err)
		}
	default:
		t.release(ctx, errUnwound)
	}
}

// errUnwound is reported where the function, or the encoding of its result, did
// not return.
var errUnwound = errors.New("a panic, or the goroutine exited")

// settleFailure records a permanent failure, once the finished steps are undone, and
// releases the record after any other. The function's error is the caller's, whatever
// becomes of the record; only where finished steps remain, the caller is told.
func (t *tenure) settleFailure(ctx context.Context, err error) error {
	t.effect = effect{}
	err = t.journal.settle(ctx, err)
	stored, permanent := recordable(err)
	if !permanent {
		kept := t.release(ctx, err)
		if t.journal.stuck() || len(kept) == 0 {
			return err
		}
		return &PartialSuccessError{Key: t.record.Key, Done: kept, Err: err}
	}
	t.status, t.effect = persistence.StatusFailed, effect{done: true, result: stored}
	_ = t.complete(ctx, err)
	return err
}

// settleResult records the function's result. Where one of the writes that commit
// with it is refused, or none could be written, the function has had no effect, and
// has failed.
func (t *tenure) settleResult(ctx context.Context) error {
	err := t.complete(ctx, nil)
	switch {
	case err == nil:
		return nil
	case !t.settled:
		return t.settleFailure(ctx, uncommitted(t.record.Key, err))
	case errors.Is(err, persistence.ErrLeaseLost):
		return &LeaseLostError{Key: t.record.Key, Result: t.effect.result, Err: err}
	case t.guard.config.OnStoreFault == FailOpen && len(t.enlisted.Close()) == 0:
		return nil
	default:
		return notCompleted(t.record.Key, t.effect.result, err)
	}
}

// complete writes the outcome, without its result where that can't be stored, and
// together with the writes that were enlisted, unless the function has failed. It
// reports what came of it, and returns the store's error. After a refusal the record
// is not settled.
func (t *tenure) complete(ctx context.Context, cause error) error {
	e := t.effect
	outcome := t.guard.outcome(cmp.Or(t.status, persistence.StatusCompleted), e, wallClock())
	var writes []persistence.Write
	if outcome.Status == persistence.StatusCompleted {
		writes = t.enlisted.Close()
	}
	settling, cancel := t.guard.settling(ctx)
	defer cancel()
	t.committing = len(writes) > 0
	err := t.guard.complete(settling, t.lease(), outcome, writes)
	if errors.Is(err, persistence.ErrTooLarge) {
		e.omit = err
		outcome.ResultOmitted = true
		err = t.guard.complete(settling, t.lease(), outcome, writes)
	}
	if t.committing && unwritten(err) {
		return err
	}
	t.settled = true
	if err == nil {
		t.expires = outcome.ExpiresAt
	}
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		t.report(ctx, LeaseLost, err)
	case err != nil:
		t.report(ctx, NotStored, err)
	case e.omit != nil:
		t.report(ctx, NotStored, e.omit)
	default:
		t.report(ctx, Executed, cause)
	}
	return err
}

// complete completes a record, together with writes if there are any.
func (g *Guard) complete(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []persistence.Write) error {
	if len(writes) == 0 {
		return g.store.Complete(ctx, l, o)
	}
	return g.transactor.CompleteWith(ctx, l, o, writes)
}

// release gives the record up, so that a retry may run at once. If that fails,
// the lease still bounds the record; nobody but the log and the observer has to
// know. It returns the finished steps that remain.
func (t *tenure) release(ctx context.Context, cause error) (kept []string) {
	t.journal.finishPending(ctx)
	settling, cancel := t.guard.settling(ctx)
	defer cancel()
	err := t.guard.store.Release(settling, t.lease())
	t.settled = true
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		t.report(ctx, LeaseLost, cause)
		return nil
	case err != nil:
		t.report(ctx, StoreFailed, fmt.Errorf("release: %w", err))
	case len(t.lease().Steps) > 0:
		t.report(ctx, PartialSuccess, cause)
	default:
		t.report(ctx, Released, cause)
	}
	return t.journal.kept()
}

func (t *tenure) report(ctx context.Context, kind EventKind, err error) {
	t.guard.report(ctx, Event{Kind: kind, Key: t.record.Key, Attempt: t.record.Attempt, Elapsed: t.elapsed, ExpiresAt: t.expires, Err: err})
}

// settling is the context of the writes that settle a record. The function's own
// may be over by then; the record must be settled all the same.
func (g *Guard) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), g.config.StoreTimeout)
}
