package saga

import (
	"context"
	"errors"
	"fmt"
)

// undoing is how far undoing a call has come in an attempt.
type undoing struct {
	begun bool
	// failure is why the call is undone, once it is.
	failure error
	// stuck is what has stopped it; it is not tried again in the same attempt.
	stuck *CompensationError
}

// Backward implements [journal.Journal].
func (j *callJournal) Backward() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return (j.history.decision != nil || j.undoing.begun) && j.undoing.failure == nil
}

// stuck tells whether undoing the call has been stopped.
func (j *callJournal) stuck() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.undoing.stuck != nil
}

// Settle implements [journal.Journal]. Where a [Run] has undone the call before, the function has decided on its answer.
func (j *callJournal) Settle(ctx context.Context, err error) error {
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
	byRun   undoer = iota // while the function runs
	byGuard               // when it is over
)

// undo undoes the finished steps where the error of the function, or the record, says
// that the call has failed for good. It returns that failure, or what has stopped it;
// nil where the call goes forward.
func (j *callJournal) undo(ctx context.Context, err error, by undoer) error {
	stored, permanent := j.call.Final(err)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rest()
	failure := err
	switch {
	case by == byRun && j.closed:
		return &StepError{Key: j.call.Key, Err: fmt.Errorf("%w: the guarded call of the saga is over", ErrStepMisuse)}
	case j.undoing.stuck != nil:
		return j.undoing.stuck
	case j.undoing.failure != nil:
		return j.undoing.failure
	case j.history.decision != nil:
		failure = asError(j.history.decision)
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
	j.undoing.stuck = &CompensationError{Key: j.call.Key, Left: left, Unrecorded: !j.call.Recorded, Err: failure, Compensation: stopped}
	return j.undoing.stuck
}

// compensateAll records that the call has failed for good, and undoes its steps, the
// last one first. It returns what it was stopped by, and the steps that are left. The
// journal is not locked while it does.
func (j *callJournal) compensateAll(ctx context.Context, failure []byte) (left []string, stopped error) {
	j.mu.Unlock()
	defer j.mu.Lock()
	ctx, stop := j.call.Hold(ctx)
	defer stop()
	if stopped = j.decide(ctx, failure); stopped != nil {
		return names(j.left()), stopped
	}
	if stopped = j.shutOut(ctx); stopped != nil {
		return names(j.left()), stopped
	}
	for steps := j.left(); len(steps) > 0; steps = j.left() {
		stopped = j.call.Part(ctx, partCompensation, steps[0].name, func(ctx context.Context) error {
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
func (j *callJournal) left() []*stepState {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.history.toUndo()
}
