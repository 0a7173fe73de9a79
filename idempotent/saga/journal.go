package saga

import (
	"context"
	"errors"
	"sync"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// callJournal is the steps of one attempt of a call. Safe for concurrent use.
type callJournal struct {
	call     journal.Call
	declared declared
	refused  bool                 // what the record has is not understood: nothing is written
	outside  *storekit.Enlistment // of the call as a whole

	mu       sync.Mutex
	quiet    sync.Cond // nothing is under way
	lease    persistence.Lease
	history  history
	underway int            // steps, and undoing them
	inFlight map[string]int // bytes of entries that are being written, by name
	closed   bool
	blocked  *StepError // why a step can't be got past, until the function comes to another
	blocking error      // of the step's function, where that has failed; nil where the step did not run
	undoing  undoing    // how far that has come in this attempt
}

// journalFrom returns the journal of the call that ctx belongs to; nil where there is none.
func journalFrom(ctx context.Context) *callJournal {
	j, _ := journal.From(ctx).(*callJournal)
	return j
}

// Begin implements [journal.Journal].
func (j *callJournal) Begin(ctx context.Context, outside *storekit.Enlistment) (inner context.Context, end func()) {
	j.outside = outside
	inner, cancel := context.WithCancel(ctx)
	return inner, func() {
		cancel()
		j.close()
	}
}

func (j *callJournal) leave(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state.running = false
	j.end()
}

// end notes that something is not under way any more.
func (j *callJournal) end() {
	if j.underway--; j.underway == 0 {
		j.quiet.Broadcast()
	}
}

// rest waits until nothing is under way.
func (j *callJournal) rest() {
	for j.underway > 0 {
		j.quiet.Wait()
	}
}

// close waits for the steps under way, and lets no more begin.
func (j *callJournal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.rest()
}

// Lease implements [journal.Journal].
func (j *callJournal) Lease() persistence.Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lease
}

// Kept implements [journal.Journal].
func (j *callJournal) Kept() []string {
	if j.refused {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return names(j.history.in(finished))
}

// GiveUp implements [journal.Journal]: it sends the endings of all pending steps once more,
// and records which of the steps that were started have not happened.
func (j *callJournal) GiveUp(ctx context.Context) {
	if j.refused {
		return
	}
	j.finishPending(ctx)
	j.recordDeclined(ctx)
}

// Unfinished implements [journal.Journal].
func (j *callJournal) Unfinished(err error, kept []string) (stuck *journal.Stuck, answer error) {
	blocked := j.blockedBy(err)
	if blocked != nil {
		stuck = &journal.Stuck{Step: blocked.Step, Err: blocked}
	}
	switch {
	case len(kept) == 0 && !j.stuck() && blocked != nil && errors.Is(blocked, err):
		return stuck, blocked // nothing else says that a repetition is of no use
	case len(kept) == 0, j.stuck():
		return stuck, err
	}
	return stuck, &PartialSuccessError{Key: j.call.Key, Done: kept, Stuck: blocked != nil, Err: err}
}

// refuse is the error of a step that does not get in, or whose output does not get out.
func (j *callJournal) refuse(step string, err error) error {
	refusal := &StepError{Key: j.call.Key, Step: step, Err: err}
	if needsPerson(err) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.blocked, j.blocking = refusal, nil
	}
	return refusal
}

// blockedBy returns the step that keeps the call from ever getting to its end, if that is
// why it has ended with err. One that is being undone gets there by its compensations: the
// steps that it could not run meanwhile do not matter.
func (j *callJournal) blockedBy(err error) *StepError {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.undoing.stuck != nil {
		return j.undoing.stuck.blockedAt()
	}
	if own, ok := errors.AsType[*StepError](err); ok && needsPerson(own.Err) {
		return own
	}
	if failed, ok := errors.AsType[*CompensationError](err); ok && needsPerson(failed.Compensation) {
		return failed.blockedAt() // of a call of its own that the function has made
	}
	switch {
	case j.blocking == nil:
		return j.blocked
	case !errors.Is(err, j.blocking):
		return nil // the function may do without the step, and has failed of something else
	default:
		return &StepError{Key: j.call.Key, Step: j.blocked.Step, Err: &idempotent.OutcomeUnknownError{Key: j.call.Key, Err: err}}
	}
}

// blockedAt returns the step that can't be undone without a person, if that is why the call
// is not.
func (e *CompensationError) blockedAt() *StepError {
	if !needsPerson(e.Compensation) {
		return nil
	}
	at := &StepError{Key: e.Key, Err: e.Compensation}
	if len(e.Left) > 0 { // none where what stopped it was a step that may yet turn out to have happened
		at.Step = e.Left[0]
	}
	return at
}

// report tells what has happened to a step.
func (j *callJournal) report(ctx context.Context, kind idempotent.EventKind, step string, err error) {
	j.call.Report(ctx, string(kind), step, err)
}
