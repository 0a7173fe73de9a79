package saga

import (
	"context"
	"errors"
	"maps"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
	"github.com/ikkai-go/idempotency/internal/stepentry"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// errUnwound is why an output is missing whose encoding did not return.
var errUnwound = errors.New("a panic, or the goroutine exited")

// ending is what finishes a step: its entry, and the writes that commit with it. It
// stays the same however often it has to be sent.
type ending struct {
	entry  entry
	writes []storekit.Write
	omit   error // why the output is not in it
	stored []byte
}

// conclude records that a step has happened. Whatever its output does when it is
// encoded, the effect must not be lost with it.
func (j *callJournal) conclude(ctx context.Context, state *stepState, done entry, enlisted *storekit.Enlistment) error {
	j.mu.Lock()
	j.history.last++
	done.Order = j.history.last
	j.mu.Unlock()
	e := &ending{entry: done, writes: enlisted.Close()}
	e.leaveOut(errUnwound)
	unwound := true
	defer func() {
		if unwound {
			_ = j.finish(ctx, state, e)
		}
	}()
	e.take(state.held().encode())
	unwound = false
	return j.finish(ctx, state, e)
}

// take puts the output into the entry, if it can be read back from there: JSON has a
// depth.
func (e *ending) take(output []byte, err error) {
	with := e.entry
	with.Output, with.Omitted = output, false
	var stored []byte
	if err == nil {
		stored, err = result.JSON(with)
	}
	if err == nil {
		err = stepentry.Decode(stored, new(entry))
	}
	if e.omit = err; err == nil {
		e.entry, e.stored = with, stored
	}
}

// leaveOut leaves the output out.
func (e *ending) leaveOut(why error) {
	e.entry.Output, e.entry.Omitted, e.omit = nil, true, why
	e.stored = mustEncodeEntry(e.entry)
}

// finish records that a step has happened, without its output where that can't be
// stored.
func (j *callJournal) finish(ctx context.Context, state *stepState, e *ending) error {
	err := j.keep(ctx, state.name, state.name, e.stored, e.writes)
	if errors.Is(err, persistence.ErrTooLarge) && !e.entry.Omitted {
		e.leaveOut(err)
		err = j.keep(ctx, state.name, state.name, e.stored, e.writes)
	}
	if there := j.settledBefore(state, err); there != nil {
		return j.adopt(ctx, state, *there)
	}
	happened := j.note(state, e, err)
	switch refused, _ := errors.AsType[*persistence.RefusedError](err); {
	case err == nil && e.omit != nil:
		j.report(ctx, idempotent.EventNotStored, state.name, e.omit)
		return nil //nolint:nilerr // only the output is lost
	case err == nil:
		j.report(ctx, idempotent.EventStepExecuted, state.name, nil)
		return nil
	case refused != nil:
		j.decline(state) // its effect is what was refused
		return refused.Err
	case len(e.writes) > 0 && journal.Unwritten(err):
		j.decline(state)
	case happened && !journal.Answered(err) && j.call.FailsOpen:
		j.report(ctx, idempotent.EventNotStored, state.name, err)
		j.arrive(state)
		return nil
	}
	var effect []byte
	if happened {
		effect = append([]byte{}, e.entry.Output...)
	}
	return &StepError{Key: j.call.Key, Step: state.name, Executed: happened, Err: j.unkept(err, effect)}
}

// settledBefore returns the entry that the record has of a step, where an earlier try of
// this owner has written another one than it wants to write now.
func (j *callJournal) settledBefore(state *stepState, err error) *entry {
	before, ok := errors.AsType[*persistence.SettledError](err)
	if !ok || before.Record.Status.Finished() {
		return nil
	}
	there := new(entry)
	if stepentry.Decode(before.Record.Steps[state.name], there) != nil {
		return nil
	}
	return there
}

// adopt takes a step for finished as the record has it: that is what has happened.
func (j *callJournal) adopt(ctx context.Context, state *stepState, there entry) error {
	j.mu.Lock()
	state.phase, state.entry, state.unsent = finished, there, nil
	j.history.last = max(j.history.last, there.Order)
	steps := maps.Clone(j.lease.Steps)
	if steps == nil {
		steps = make(map[string][]byte)
	}
	steps[state.name] = mustEncodeEntry(there)
	j.lease.Steps = steps
	j.mu.Unlock()
	return j.recall(ctx, state)
}

// finishAgain sends the ending of a pending step once more. Without a record nothing
// tells whether its writes have arrived, and they would be written twice.
func (j *callJournal) finishAgain(ctx context.Context, state *stepState) error {
	if !j.call.Recorded && len(state.unsent.writes) > 0 {
		return j.refuse(state.name, &idempotent.OutcomeUnknownError{Key: j.call.Key})
	}
	return j.finish(ctx, state, state.unsent)
}

// finishPending sends the endings of all pending steps once more, before the record is
// given up.
func (j *callJournal) finishPending(ctx context.Context) {
	j.mu.Lock()
	steps := j.history.in(pending)
	j.mu.Unlock()
	for _, s := range steps {
		_ = j.finishAgain(ctx, s) // or the next attempt runs it again
	}
}

// note notes what has become of a step whose ending was sent. It tells whether the
// step has happened for sure.
func (j *callJournal) note(state *stepState, e *ending, err error) (happened bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err == nil:
		state.phase, state.entry, state.unsent, state.arrived = finished, e.entry, nil, true
		return true
	case state.phase == pending:
		// Only a write that is refused under the owner's own record tells that the
		// same writes were not applied before either.
		if _, refused := errors.AsType[*persistence.RefusedError](err); !refused {
			break
		}
		state.phase, state.unsent, state.late = open, nil, true
		if state.declared.atMostOnce {
			state.phase = begun
		}
	case len(e.writes) == 0 || !journal.Unwritten(err) && !errors.Is(err, persistence.ErrLeaseLost): // the writes may have arrived
		state.phase, state.entry, state.unsent = pending, e.entry, e
	}
	return len(e.writes) == 0
}

// arrive notes that the call has the step's output.
func (j *callJournal) arrive(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state.arrived = true
}
