package idempotent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent/internal/failure"
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
// Compensations run as long as the call has time, also where ctx is cancelled. What
// was recorded more than a TTL ago can't be undone any more. A call is undone as a
// whole, and once in an attempt: of several Sagas the others get the same answer.
func Saga[Out any](ctx context.Context, fn func(context.Context) (Out, error)) (Out, error) {
	var none Out
	j := journalFrom(ctx)
	if _, nested := StepFrom(ctx); nested || j == nil {
		return none, &StepError{Err: fmt.Errorf("%w: a saga has to be in a guarded call that declares Config.Steps, and not in a step", ErrStepMisuse)}
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	out, err := fn(inner)
	cancel() // its steps are waited for
	if answer := j.undo(ctx, err, bySaga); answer != nil {
		j.enlisted.Drop() // a call is undone as a whole, and what is undone does not commit
		return none, answer
	}
	return out, err
}

// undoing is how far undoing a call has come in an attempt.
type undoing struct {
	begun bool
	// failure is why the call is undone, once it is.
	failure error
	// stuck is what has stopped it; it is not tried again in the same attempt.
	stuck *CompensationError
}

// backward tells whether the call is to be undone, whatever its function returns.
func (j *journal) backward() bool {
	if j == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return (j.history.decision != nil || j.undoing.begun) && j.undoing.failure == nil
}

// stuck tells whether undoing the call has been stopped.
func (j *journal) stuck() bool {
	if j == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.undoing.stuck != nil
}

// settle undoes the call if that is due, and returns the error that it has then. Where
// a Saga has undone it before, the function has decided on its answer.
func (j *journal) settle(ctx context.Context, err error) error {
	if j == nil {
		return err
	}
	j.mu.Lock()
	decided := j.undoing.failure != nil
	j.mu.Unlock()
	if decided {
		return err
	}
	if answer := j.undo(ctx, err, byGuard); answer != nil && !errors.Is(err, answer) {
		return answer
	}
	return err
}

// undoer is who has a call undone.
type undoer int

const (
	bySaga  undoer = iota // while the function runs
	byGuard               // when it is over
)

// undo undoes the finished steps where the error of the function, or the record, says
// that the call has failed for good. It returns that failure, or what has stopped it;
// nil where the call goes forward.
func (j *journal) undo(ctx context.Context, err error, by undoer) error {
	stored, permanent := recordable(err)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest()
	failure := err
	switch {
	case by == bySaga && j.closed:
		return &StepError{Key: j.call.Key, Err: fmt.Errorf("%w: the guarded call of the saga is over", ErrStepMisuse)}
	case j.undoing.stuck != nil:
		return j.undoing.stuck
	case j.undoing.failure != nil:
		return j.undoing.failure
	case j.history.decision != nil:
		failure = j.history.decision.asError()
	case !permanent || len(j.history.toUndo())+len(j.history.lateComers()) == 0:
		return nil
	}
	j.undoing.begun = true
	j.underway++
	defer j.end()
	left, stopped := j.compensateAll(ctx, stored)
	if stopped == nil {
		j.undoing.failure = failure
		return failure
	}
	j.undoing.stuck = &CompensationError{Key: j.call.Key, Left: left, Unrecorded: j.hold == nil, Err: failure, Compensation: stopped}
	return j.undoing.stuck
}

// compensateAll records that the call has failed for good, and undoes its steps, the
// last one first. It returns what it was stopped by, and the steps that are left. The
// journal is not locked while it does.
func (j *journal) compensateAll(ctx context.Context, failure []byte) (left []string, stopped error) {
	j.mu.Unlock()
	defer j.mu.Lock()
	ctx = j.call.within(context.WithoutCancel(ctx))
	ctx, stop := j.holding(ctx)
	defer stop()
	if stopped = j.decide(ctx, failure); stopped != nil {
		return names(j.left()), stopped
	}
	if stopped = j.shutOut(ctx); stopped != nil {
		return names(j.left()), stopped
	}
	for steps := j.left(); len(steps) > 0; steps = j.left() {
		stopped = j.during(ctx, EventCompensation, steps[0].name, func(ctx context.Context) error {
			return j.compensate(ctx, steps[0])
		})
		if stopped != nil {
			j.noteStuck(ctx, steps[0], stopped)
			return names(steps), stopped
		}
	}
	return nil, nil
}

// left returns the steps that are still to be undone.
func (j *journal) left() []*stepState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.history.toUndo()
}

// decide records that the call goes backward from now on, unless it does already.
// Before that, the record must know of everything that has happened.
func (j *journal) decide(ctx context.Context, why []byte) error {
	j.mu.Lock()
	decided := j.history.decision != nil
	unsent := j.history.in(pending)
	j.mu.Unlock()
	if decided {
		return nil
	}
	for _, s := range unsent {
		// One whose writes are refused has not happened; any other is to be recorded.
		if err := j.finishAgain(ctx, s); s.phase == pending {
			return cmp.Or(err, errUnrecorded)
		}
	}
	j.mu.Lock()
	d := decision{Declined: names(j.history.in(declined))}
	j.mu.Unlock()
	_ = json.Unmarshal(why, &d.Failure) // it is ours
	err := j.keep(ctx, "", unwindingEntry, mustEncodeEntry(d), nil)
	if errors.Is(err, persistence.ErrTooLarge) {
		d.Message = failure.Shorten(d.Message)
		err = j.keep(ctx, "", unwindingEntry, mustEncodeEntry(d), nil)
	}
	if err != nil {
		return j.unkept(err, nil)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.history.decision = &d
	return nil
}

// shutOut keeps writes of steps that count as not having happened from arriving late: it
// takes their places in the record. What has arrived before that is to be undone.
func (j *journal) shutOut(ctx context.Context) error {
	j.mu.Lock()
	steps := j.history.lateComers()
	j.mu.Unlock()
	for _, s := range steps {
		err := j.keep(ctx, s.name, s.name, mustEncodeEntry(entry{Void: true}), nil)
		if there := j.settledBefore(s, err); there != nil {
			if err = j.adopt(ctx, s, *there); err != nil {
				return err
			}
		}
		if err != nil {
			return j.unkept(err, nil)
		}
		j.mu.Lock()
		s.late = false
		j.mu.Unlock()
	}
	return nil
}

// errUnrecorded keeps a call from being undone where a step is not recorded, although
// the guard fails open.
var errUnrecorded = errors.New("a finished step could not be recorded")

// asError is the failure as it is replayed.
func (d *decision) asError() error { return &PermanentError{Type: d.Type, Message: d.Message} }

// compensate undoes a step, or finds out whether there is anything to undo.
func (j *journal) compensate(ctx context.Context, state *stepState) error {
	s := state.call
	switch err := j.ready(ctx); {
	case err != nil:
		return err
	case s == nil:
		return &StepError{Key: j.call.Key, Step: state.name, Err: cmp.Or(state.refused, fmt.Errorf("%w: the function did not get to it", ErrNotUndoable))}
	case s.compensate == nil:
		return j.refuse(s, fmt.Errorf("%w: it has no Compensate any more", ErrNotUndoable))
	case state.phase == begun:
		return j.findOut(ctx, state)
	case !state.arrived:
		return j.refuse(s, &ResultNotStoredError{Key: j.call.Key})
	}
	inner, enlisted := j.withStep(ctx, s.name, compensatedSuffix)
	defer enlisted.Close()
	if err := s.compensate(inner, state.entry.Output); err != nil {
		return err
	}
	err := j.keep(ctx, s.name, s.name+compensatedSuffix, []byte("{}"), enlisted.Close())
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused.Err
	}
	if err != nil {
		return j.unkept(err, []byte{}) // it has run
	}
	j.mu.Lock()
	state.phase = undone
	j.mu.Unlock()
	j.report(ctx, Event{Kind: EventCompensated, Step: s.name})
	return nil
}

// findOut finds out whether a step that must run at most once has happened, and
// records it if so.
func (j *journal) findOut(ctx context.Context, state *stepState) error {
	inner, enlisted := j.withStep(ctx, state.name, "")
	defer enlisted.Close()
	happened, err := j.reconcile(inner, state.call)
	if err != nil {
		return j.refuse(state.call, err)
	}
	if happened {
		return j.conclude(ctx, state, state.entry, enlisted)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	state.phase = declined
	return nil
}

// noteStuck says that undoing has stopped; in the record only the first time.
func (j *journal) noteStuck(ctx context.Context, at *stepState, stopped error) {
	j.report(ctx, Event{Kind: EventCompensationFailed, Step: at.name, Err: stopped})
	if errors.Is(stopped, ErrLeaseLost) || j.history.noted {
		return
	}
	note := compensationFailure{Step: at.name, Failure: failure.Note(stopped)}
	j.history.noted = j.keep(ctx, "", compensationEntry, mustEncodeEntry(note), nil) == nil
}
