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
	guard  *Guard
	record persistence.Record

	effect  effect
	status  persistence.Status // that the effect is recorded with; empty for COMPLETED
	elapsed time.Duration      // of the function
	settled bool
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

// run runs the function.
func (t *tenure) run(ctx context.Context, until time.Time, run body) error {
	if deadline, ok := ctx.Deadline(); !ok || until.Before(deadline) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
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
	case t.effect.done: // what came after it must not make it run again
		if t.effect.result == nil && t.effect.omit == nil {
			t.effect.omit = errUnwound
		}
		_ = t.complete(ctx, nil)
	default:
		t.release(ctx, errUnwound)
	}
}

// errUnwound is reported where the function, or the encoding of its result, did
// not return.
var errUnwound = errors.New("a panic, or the goroutine exited")

// settleFailure records a permanent failure and releases the record after any
// other. The function's error is the caller's, whatever becomes of the record.
func (t *tenure) settleFailure(ctx context.Context, err error) error {
	stored, permanent := recordable(err)
	if !permanent {
		t.release(ctx, err)
		return err
	}
	t.status, t.effect = persistence.StatusFailed, effect{done: true, result: stored}
	_ = t.complete(ctx, err)
	return err
}

// settleResult records the function's result.
func (t *tenure) settleResult(ctx context.Context) error {
	err := t.complete(ctx, nil)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, persistence.ErrLeaseLost):
		return &LeaseLostError{Key: t.record.Key, Result: t.effect.result, Err: err}
	case t.guard.config.OnStoreFault == FailOpen:
		return nil
	default:
		return &StoreError{
			Op: "complete", Key: t.record.Key,
			Executed: true, Result: t.effect.result,
			Retryable: persistence.Retryable(err), Err: err,
		}
	}
}

// complete writes the outcome, without its result where that can't be stored. It
// reports what came of it, and returns the store's error.
func (t *tenure) complete(ctx context.Context, cause error) error {
	e := t.effect
	outcome := persistence.Outcome{
		Status:        cmp.Or(t.status, persistence.StatusCompleted),
		Result:        e.result,
		ResultOmitted: e.omit != nil,
		ExpiresAt:     t.guard.expiry(wallClock()),
	}
	settling, cancel := t.guard.settling(ctx)
	defer cancel()
	err := t.guard.store.Complete(settling, t.record.Lease(), outcome)
	if errors.Is(err, persistence.ErrTooLarge) {
		e.omit = err
		outcome.ResultOmitted = true
		err = t.guard.store.Complete(settling, t.record.Lease(), outcome)
	}
	t.settled = true
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

// release gives the record up, so that a retry may run at once. If that fails,
// the lease still bounds the record; nobody but the log and the observer has to
// know.
func (t *tenure) release(ctx context.Context, cause error) {
	settling, cancel := t.guard.settling(ctx)
	defer cancel()
	err := t.guard.store.Release(settling, t.record.Lease())
	t.settled = true
	switch {
	case err == nil:
		t.report(ctx, Released, cause)
	case errors.Is(err, persistence.ErrLeaseLost):
		t.report(ctx, LeaseLost, cause)
	default:
		t.report(ctx, StoreFailed, fmt.Errorf("release: %w", err))
	}
}

func (t *tenure) report(ctx context.Context, kind EventKind, err error) {
	t.guard.report(ctx, Event{Kind: kind, Key: t.record.Key, Attempt: t.record.Attempt, Elapsed: t.elapsed, Err: err})
}

// settling is the context of the writes that settle a record. The function's own
// may be over by then; the record must be settled all the same.
func (g *Guard) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), g.config.StoreTimeout)
}
