package idempotent

import (
	"context"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
)

// Saga runs fn, whose steps belong together. Where fn fails for good ([Permanent]),
// the finished steps are undone: their StepSpec.Compensate are called in the reverse
// of the order in which the steps were finished, and each that has succeeded is
// recorded and not called again. Then Saga returns the error of fn.
//
// A guarded call is a saga by itself: a function that fails for good is undone before
// its failure is recorded. Saga is for functions that then have an answer to give,
// such as an HTTP response with the status 402.
//
// That the call has failed for good is recorded before the first compensation, and
// from then on it does not go forward any more. Where a compensation fails, Saga
// returns a [*CompensationError] with both causes. The function has to return it:
// the record is left as PARTIAL_SUCCESS, and the next arrival goes on with undoing.
// To that end the function runs again. Its finished steps return their outputs,
// others fail with [ErrUnwinding], and whatever fn then returns, Saga goes on where
// undoing stopped, and returns the first failure, as *[PermanentError], once all is
// undone. The function must get that far without the steps that never ran.
//
// Compensations run until the end of the lease, also where ctx is cancelled. Only
// what is recorded within the TTL can be undone.
func Saga[Out any](ctx context.Context, fn func(context.Context) (Out, error)) (Out, error) {
	var none Out
	j := journalFrom(ctx)
	if _, nested := StepFrom(ctx); nested || j == nil {
		return none, &StepError{Err: fmt.Errorf("%w: a saga has to be in a guarded call that declares Config.Steps, and not in a step", ErrStepMisuse)}
	}
	out, err := fn(ctx)
	if err = j.settle(ctx, err); err != nil {
		return none, err
	}
	return out, nil
}

// backward tells whether the call is being undone, whatever its function returns.
func (j *journal) backward() bool {
	if j == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.unwinding != nil && !j.undone
}

// settle undoes the finished steps where the error of the function, or the record,
// says that the call has failed for good. It returns the error that the call has then.
func (j *journal) settle(ctx context.Context, err error) error {
	if j == nil {
		return err
	}
	failure, permanent := recordable(err)
	_, stuck := errors.AsType[*CompensationError](err)
	j.mu.Lock()
	j.rest()
	switch {
	case j.undone, stuck:
		j.mu.Unlock()
		return err
	case j.unwinding != nil:
		err = j.failure()
	case !permanent || len(j.toUndo()) == 0:
		j.mu.Unlock()
		return err
	}
	j.undoing = true
	j.mu.Unlock()
	if stopped := j.undo(ctx, failure); stopped != nil {
		return j.stuck(ctx, err, stopped)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.undone = true
	return err
}

// undo records that the call has failed for good, and undoes its steps, the last one
// first. It returns what it was stopped by.
func (j *journal) undo(ctx context.Context, failure []byte) error {
	ctx = context.WithValue(withoutObserver(context.WithoutCancel(ctx)), callKey{}, j.call)
	if !j.until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, j.until)
		defer cancel()
	}
	if j.unwinding == nil {
		if err := j.decide(ctx, failure); err != nil {
			return err
		}
	}
	for {
		steps := j.toUndo()
		if len(steps) == 0 {
			return nil
		}
		if err := j.undoStep(ctx, steps[0]); err != nil {
			return err
		}
	}
}

// decide records that the call goes backward from now on. Before that, the record
// must know of everything that has happened.
func (j *journal) decide(ctx context.Context, failure []byte) error {
	for _, s := range j.done() {
		if !s.unrecorded {
			continue
		}
		if err := j.keep(ctx, s.name, s.name, encodeEntry(s.finished), nil); err != nil {
			return j.unkept(err, nil)
		}
		s.unrecorded = false
	}
	err := j.keep(ctx, "", unwindingEntry, failure, nil)
	if errors.Is(err, persistence.ErrTooLarge) {
		failure = shortened(failure)
		err = j.keep(ctx, "", unwindingEntry, failure, nil)
	}
	if err != nil {
		return j.unkept(err, nil)
	}
	j.unwinding = failure
	return nil
}

// undoStep undoes a step, or finds out whether there is anything to undo.
func (j *journal) undoStep(ctx context.Context, state *stepState) error {
	s := state.call
	switch err := j.ready(ctx); {
	case err != nil:
		return err
	case s == nil:
		return &StepError{Key: j.call.Key, Step: state.name, Err: fmt.Errorf("%w: it has to be undone, and the function did not get to it", ErrStepMisuse)}
	case s.compensate == nil:
		return j.refuse(s, fmt.Errorf("%w: it has to be undone, and has no Compensate any more", ErrStepMisuse))
	}
	if state.finished == nil {
		inner, enlisted := j.withStep(ctx, s.name, "")
		happened, err := j.reconcile(inner, s)
		if err != nil {
			return j.refuse(s, err)
		}
		if happened {
			return j.finish(ctx, state, *state.started, enlisted)
		}
		state.declined = true
		return nil
	}
	if !state.known {
		return j.refuse(s, &ResultNotStoredError{Key: j.lease.Key})
	}
	inner, enlisted := j.withStep(ctx, s.name, compensatedSuffix)
	if err := s.compensate(inner, state.finished.Output); err != nil {
		return err
	}
	err := j.keep(ctx, s.name, s.name+compensatedSuffix, []byte("{}"), enlisted.Close())
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused.Err
	}
	if err != nil {
		return j.unkept(err, []byte{}) // it has run
	}
	state.compensated = true
	j.report(ctx, Event{Kind: Compensated, Step: s.name})
	return nil
}

// stuck says that undoing has stopped, to the record as well if it is the first time.
func (j *journal) stuck(ctx context.Context, failure, stopped error) error {
	left := names(j.toUndo()) // at least the one that was being undone
	if j.lost == nil && j.unwinding != nil && !j.noted {
		note := compensationFailure{Step: left[0], failure: failureOf(stopped)}
		j.noted = j.keep(ctx, "", compensationEntry, encodeEntry(note), nil) == nil
	}
	j.report(ctx, Event{Kind: CompensationFailed, Step: left[0], Err: stopped})
	return &CompensationError{Key: j.call.Key, Left: left, Err: failure, Compensation: stopped}
}
