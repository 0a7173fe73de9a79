package idempotent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// tenure is the time in which a call owns its record: from acquiring it until it
// is settled, which happens on every way out.
type tenure struct {
	guard  *Guard
	budget budget
	record persistence.Record // as it was acquired
	// execution is the one that the record belongs to, if it is one's.
	execution *execution
	hold      hold
	journal   journal.Journal
	calling   *calling        // nil until the function may start
	call      calling         // which calling is then
	within    context.Context // of what happens in the call; nil until it does
	// undeclared is an entry of steps that the record has, where the guard declares none.
	undeclared string

	effect   effect
	enlisted *storekit.Enlistment // commits with the result
	status   persistence.Status   // that the effect is recorded with; empty for COMPLETED
	elapsed  time.Duration        // of the function
	expires  time.Time            // of the outcome, once it is recorded
	settled  bool
	refused  error // of the store, to give the record up
	// there is the record, where this owner has settled it otherwise before.
	there *persistence.Record
	// committing says that the result commits with the function's effects, so that
	// nothing has happened unless that has.
	committing bool
}

// lease returns the lease of the record as it is now.
func (t *tenure) lease() persistence.Lease {
	if t.journal == nil { // it has not come so far
		return t.record.Lease()
	}
	return t.journal.Lease()
}

// beginning says how the run has come by its record.
func (t *tenure) beginning() EventKind {
	switch {
	case t.record.Attempt <= 1:
		return EventAcquired
	case t.record.TookOver == persistence.StatusPartial, t.execution != nil && t.execution.resumes:
		return EventResumed
	default:
		return EventTakenOver
	}
}

// mayStart tells whether there is still time for the function.
func (t *tenure) mayStart(ctx context.Context) error {
	if err := t.budget.late(ctx, t.record.Key); err != nil {
		return err
	}
	return t.hold.check(ctx)
}

// run runs the function while the record is held, and waits for its steps.
func (t *tenure) run(ctx context.Context, run body) error {
	t.within = t.calling.within(ctx)
	ctx, stop := t.hold.keep(t.within)
	defer stop()
	ctx, t.enlisted = t.guard.enlisting(ctx)
	// The context of steps ends when the function returns; they are waited for, and need
	// the lease until then.
	ctx, end := t.journal.Begin(ctx, t.enlisted)
	defer end()
	defer t.enlisted.Close()
	started := time.Now()
	err := t.guard.during(ctx, Event{Kind: EventRun, Key: t.record.Key, Attempt: t.record.Attempt}, func(ctx context.Context) error {
		return origin.PassOn(run(ctx, &t.effect), t.record.Key)
	})
	t.elapsed = time.Since(started)
	t.guard.shared.took(t.elapsed)
	return err
}

// settling is the context of the writes that settle the record.
func (t *tenure) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.within != nil {
		ctx = t.within // writes of the application may ask whose they are
	}
	return t.budget.settling(ctx)
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
// becomes of the record; only where finished steps remain, the caller is told, and where a
// failure for good is not the request's: another run may succeed with it, or has.
func (t *tenure) settleFailure(ctx context.Context, err error) error {
	t.effect = effect{}
	err = t.journal.Settle(ctx, err)
	stored, permanent := recordable(err)
	if !permanent {
		kept := t.release(ctx, err)
		if t.refused != nil && t.there == nil && errors.Is(err, errExecutionFailed) {
			return t.unrecorded("release", err, t.refused)
		}
		return t.unfinished(ctx, err, kept)
	}
	t.status, t.effect = persistence.StatusFailed, effect{done: true, result: stored}
	lost := t.complete(ctx, err)
	if lost != nil && t.there == nil && (t.execution != nil || errors.Is(lost, persistence.ErrLeaseLost)) {
		return t.unrecorded("complete", err, lost)
	}
	return err
}

// unfinished returns the error of a call that the next arrival of the request goes on
// with, and reports where none will get any further.
func (t *tenure) unfinished(ctx context.Context, err error, kept []string) error {
	stuck, answer := t.journal.Unfinished(err, kept)
	if stuck != nil {
		t.guard.report(ctx, Event{Kind: EventStuck, Key: t.record.Key, Step: stuck.Step, Attempt: t.record.Attempt, Err: stuck.Err})
	}
	return answer
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
		return t.settleFailure(ctx, uncommitted(t.record.Key, err, DoneMaybe))
	case errors.Is(err, persistence.ErrLeaseLost):
		return t.superseded(err)
	case t.guard.config.FailOpen && t.execution == nil && len(t.enlisted.Close()) == 0:
		return nil
	default:
		return t.notCompleted(err)
	}
}

// superseded is the error of a run whose record is somebody else's. A result that was to
// commit with its writes did not happen.
func (t *tenure) superseded(err error) error {
	if t.committing {
		return &LeaseLostError{Key: t.record.Key, Err: err}
	}
	return &LeaseLostError{Key: t.record.Key, Executed: true, Result: t.effect.result, Err: err}
}

// notCompleted is the error of a function that has run, and whose record may not say so.
// Where its effects are steps and enlisted writes, a repetition brings it to its end,
// once nobody can take it for a run that is still under way.
func (t *tenure) notCompleted(err error) error {
	failed := notCompleted(t.record.Key, t.effect.result, err)
	if kept := len(t.journal.Kept()) > 0; kept || t.committing {
		done := DoneMaybe
		if kept {
			done = DoneSomething
		}
		failed.told = Verdict{Done: done, Retry: true, After: max(t.hold.end().Sub(wallClock())+time.Millisecond, askAgain), Code: CodeNotStored}
	}
	return failed
}

// complete writes the outcome, without its result where that can't be stored, and
// together with the writes that were enlisted, unless the function has failed. It
// reports what came of it, and returns the store's error. After a refusal the record
// is not settled.
func (t *tenure) complete(ctx context.Context, cause error) error {
	e := t.effect
	outcome := t.guard.outcome(cmp.Or(t.status, persistence.StatusCompleted), e, wallClock())
	var writes []storekit.Write
	if outcome.Status == persistence.StatusCompleted {
		writes = t.enlisted.Close()
	}
	settling, cancel := t.settling(ctx)
	defer cancel()
	t.committing = len(writes) > 0
	err := t.guard.complete(settling, t.lease(), outcome, writes)
	if errors.Is(err, persistence.ErrTooLarge) {
		e.omit = err
		outcome.ResultOmitted = true
		err = t.guard.complete(settling, t.lease(), outcome, writes)
	}
	if t.committing && journal.Unwritten(err) {
		return err
	}
	t.settled = true
	if err == nil {
		t.expires = outcome.ExpiresAt
	}
	switch {
	case t.settledBefore(err):
	case errors.Is(err, persistence.ErrLeaseLost):
		t.report(ctx, EventLeaseLost, err)
	case err != nil:
		t.report(ctx, EventNotStored, err)
	case e.omit != nil:
		t.report(ctx, EventNotStored, e.omit)
	default:
		t.report(ctx, EventExecuted, cause)
	}
	return err
}

// settledBefore notes what this owner has settled before, if that is why the store has
// refused to settle the record.
func (t *tenure) settledBefore(err error) bool {
	before, ok := errors.AsType[*persistence.SettledError](err)
	if !ok || !before.Record.Status.Finished() {
		return false
	}
	t.there = &before.Record
	return true
}

// complete completes a record, together with writes if there are any.
func (g *Guard) complete(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	if len(writes) == 0 {
		return g.store.Complete(ctx, l, o)
	}
	return g.transactor.CompleteWith(ctx, l, o, writes)
}

// release gives the record up, so that a retry may run at once. If that fails,
// the lease still bounds the record; nobody but the log and the observer has to
// know. It returns the finished steps that remain.
//
// An execution that will be invoked again gives nothing up, once its function has started.
func (t *tenure) release(ctx context.Context, cause error) (kept []string) {
	started := t.calling != nil || t.record.Attempt > 1
	if t.execution != nil && started && !errors.Is(cause, errExecutionFailed) {
		t.suspend(ctx, cause)
		return nil
	}
	if t.journal != nil {
		t.journal.GiveUp(ctx)
	}
	settling, cancel := t.settling(ctx)
	defer cancel()
	err := t.guard.store.Release(settling, t.lease())
	t.settled = true
	t.refused = err
	switch {
	case t.settledBefore(err):
		return nil
	case errors.Is(err, persistence.ErrLeaseLost):
		t.report(ctx, EventLeaseLost, cause)
		return nil
	case err != nil:
		t.report(ctx, EventStoreFailed, fmt.Errorf("release: %w", err))
	case len(t.lease().Steps) > 0:
		t.report(ctx, EventPartialSuccess, cause)
	default:
		t.report(ctx, released(cause), cause)
	}
	if t.journal == nil {
		return nil
	}
	return t.journal.Kept()
}

func (t *tenure) report(ctx context.Context, kind EventKind, err error) {
	t.guard.report(ctx, Event{Kind: kind, Key: t.record.Key, Attempt: t.record.Attempt, Elapsed: t.elapsed, ExpiresAt: t.expires, Err: err})
}
