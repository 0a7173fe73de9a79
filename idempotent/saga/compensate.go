package saga

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/failure"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/persistence"
)

// decide records that the call goes backward from now on, unless it does already.
// Before that, the record must know of everything that has happened.
func (j *callJournal) decide(ctx context.Context, why []byte) error {
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
func (j *callJournal) shutOut(ctx context.Context) error {
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

// asError is the failure of a decision as it is replayed.
func asError(d *decision) error {
	return &idempotent.PermanentError{Type: d.Type, Message: d.Message}
}

// compensate undoes a step, or finds out whether there is anything to undo.
func (j *callJournal) compensate(ctx context.Context, s *stepState) error {
	switch err := j.call.Ready(ctx); {
	case err != nil:
		return err
	case !s.declared.compensates:
		return j.refuse(s.name, fmt.Errorf("%w: it has no Compensate any more", ErrNotUndoable))
	case s.phase == begun:
		return j.findOut(ctx, s)
	case s.entry.Omitted && !s.arrived:
		if err := j.load(ctx, s); err != nil {
			return err
		}
	}
	undo, err := s.held().undo(s.entry.Output)
	if err != nil {
		return j.refuse(s.name, &idempotent.ReplayError{Key: j.call.Key, Result: s.entry.Output, Err: err})
	}
	inner, call, enlisted := j.withStep(ctx, s.name, compensatedSuffix)
	defer enlisted.Close()
	if err := undo(inner, call); err != nil {
		return origin.PassOn(err, j.call.Key)
	}
	err = j.keep(ctx, s.name, s.name+compensatedSuffix, []byte("{}"), enlisted.Close())
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused.Err
	}
	if err != nil {
		return j.unkept(err, []byte{}) // it has run
	}
	j.mu.Lock()
	s.phase = undone
	j.mu.Unlock()
	j.report(ctx, idempotent.EventCompensated, s.name, nil)
	return nil
}

// findOut finds out whether a step that must run at most once has happened, and
// records it if so.
func (j *callJournal) findOut(ctx context.Context, state *stepState) error {
	inner, call, enlisted := j.withStep(ctx, state.name, "")
	defer enlisted.Close()
	happened, err := j.reconcile(inner, call, state)
	if err != nil {
		return j.refuse(state.name, err)
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
func (j *callJournal) noteStuck(ctx context.Context, at *stepState, stopped error) {
	j.report(ctx, idempotent.EventCompensationFailed, at.name, stopped)
	if errors.Is(stopped, idempotent.ErrLeaseLost) || j.history.noted {
		return
	}
	note := compensationFailure{Step: at.name, Failure: failure.Note(stopped)}
	j.history.noted = j.keep(ctx, "", compensationEntry, mustEncodeEntry(note), nil) == nil
}
