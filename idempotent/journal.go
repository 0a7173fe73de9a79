package idempotent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// journal is the steps of one attempt of a call: those that earlier attempts have
// finished, and those that run in this one. Safe for concurrent use.
type journal struct {
	guard    *Guard
	recorded bool      // there is a record to keep steps in
	until    time.Time // when everything must be over; zero is no limit
	call     *calling  // that it belongs to

	mu    sync.Mutex
	quiet sync.Cond // no step is under way
	lease persistence.Lease
	history
	underway int
	closed   bool
	undoing  bool
	undone   bool
	lost     error // the owner has learnt that it was superseded
}

// newJournal opens the journal of a record that was acquired. The error is a
// *StepError about what is recorded in it. There is none where the guard declares no
// steps.
func (g *Guard) newJournal(r persistence.Record, until time.Time) (*journal, error) {
	h, err := readHistory(r, g.config.declares)
	if err != nil || len(g.config.Steps) == 0 {
		return nil, err
	}
	j := &journal{guard: g, recorded: true, until: until, lease: r.Lease(), history: h}
	j.quiet.L = &j.mu
	return j, nil
}

// unrecordedJournal is the journal of a run without a record: its steps run
// unprotected, and are undone from memory. Their tokens are made of the key where it
// is known; else of a random one, which no other request shares.
func (g *Guard) unrecordedJournal(key string) *journal {
	if len(g.config.Steps) == 0 {
		return nil
	}
	j := &journal{guard: g, history: history{steps: make(map[string]*stepState)}}
	j.lease.Key = cmp.Or(key, rand.Text())
	j.quiet.L = &j.mu
	return j
}

// do takes one call of a step through the journal.
func (j *journal) do(ctx context.Context, s *step) error {
	if j == nil {
		return &StepError{Step: s.name, Err: fmt.Errorf("%w: it is not in a guarded call that declares Config.Steps", ErrStepMisuse)}
	}
	if _, nested := StepFrom(ctx); nested {
		return j.refuse(s, fmt.Errorf("%w: it is inside of another step", ErrStepMisuse))
	}
	input, err := s.digest()
	if err != nil {
		return j.refuse(s, err)
	}
	state, err := j.enter(s, input)
	if err != nil {
		return j.refuse(s, err)
	}
	defer j.leave(state)
	if state.finished != nil {
		return j.recall(ctx, state)
	}
	return j.attempt(ctx, state, entry{Input: input, Compensable: s.compensate != nil})
}

// enter checks all that can be checked before anything happens, and notes that the
// step is under way: from here until leave its state is the caller's.
func (j *journal) enter(s *step, input string) (*stepState, error) {
	if !j.guard.config.declares(s.name) {
		return nil, fmt.Errorf("%w: Config.Steps does not declare it", ErrStepMisuse)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	state := j.of(s.name)
	known := state.finished
	if known == nil {
		known = state.started
	}
	switch {
	case j.closed:
		return nil, fmt.Errorf("%w: the guarded call is over", ErrStepMisuse)
	case j.undoing:
		return nil, ErrUnwinding
	case state.running, state.reached:
		return nil, fmt.Errorf("%w: this call has run it before; every step needs a name of its own", ErrStepMisuse)
	case known != nil && known.Input != input:
		return nil, ErrStepInput
	}
	state.call, state.running = s, true
	j.underway++
	return state, nil
}

func (j *journal) leave(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state.running = false
	if j.underway--; j.underway == 0 {
		j.quiet.Broadcast()
	}
}

// rest waits for the steps under way.
func (j *journal) rest() {
	for j.underway > 0 {
		j.quiet.Wait()
	}
}

// close waits for the steps under way, and lets no more begin.
func (j *journal) close() {
	if j == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	j.rest()
}

// current returns the lease with the steps that are recorded by now.
func (j *journal) current() persistence.Lease {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lease
}

// kept returns the finished steps that the record knows of.
func (j *journal) kept() []string {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return names(slices.DeleteFunc(j.done(), func(s *stepState) bool { return s.unrecorded }))
}

// recall answers with the output of a finished step.
func (j *journal) recall(ctx context.Context, state *stepState) error {
	s, stored := state.call, state.finished
	if state.unrecorded {
		if err := j.record(ctx, state, stored, nil); err != nil {
			return &StepError{Key: j.call.Key, Step: s.name, Executed: true, Err: err}
		}
	}
	switch {
	case !stored.Omitted:
		if err := s.decode(stored.Output); err != nil {
			return j.refuse(s, &ReplayError{Key: j.lease.Key, Result: stored.Output, Err: err})
		}
	case s.reconcile == nil:
		return j.refuse(s, &ResultNotStoredError{Key: j.lease.Key})
	default:
		happened, err := s.reconcile(ctx)
		if err == nil && !happened {
			err = errors.New("the step is finished, and Reconcile says that it has not happened")
		}
		if err != nil {
			return j.refuse(s, &OutcomeUnknownError{Key: j.lease.Key, Err: err})
		}
	}
	j.arrived(state)
	j.report(ctx, Event{Kind: StepReplayed, Step: s.name})
	return nil
}

// attempt runs a step that is not finished, if it may run.
func (j *journal) attempt(ctx context.Context, state *stepState, done entry) error {
	s := state.call
	if err := j.ready(ctx); err != nil {
		return j.refuse(s, err)
	}
	if err := j.fits(); err != nil {
		return j.refuse(s, err)
	}
	inner, enlisted := j.withStep(ctx, s.name, "")
	if state.started != nil {
		happened, err := j.reconcile(inner, s)
		if err != nil {
			return j.refuse(s, err)
		}
		if happened {
			return j.finish(ctx, state, done, enlisted)
		}
	}
	if err := j.forward(); err != nil {
		return j.refuse(s, err)
	}
	if s.atMostOnce && state.started == nil {
		if err := j.start(ctx, state, done); err != nil {
			return j.refuse(s, err)
		}
	}
	if err := s.run(inner); err != nil {
		_, declined := recordable(err)
		j.mu.Lock()
		defer j.mu.Unlock()
		state.declined = declined
		return err
	}
	return j.finish(ctx, state, done, enlisted)
}

// ready tells whether anything may start now: the owner has not learnt that it was
// superseded, and its time is not over by any clock within the allowance. That keeps
// a superseded owner from its next step without having to ask the store.
func (j *journal) ready(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.lost != nil:
		return j.lost
	case ctx.Err() != nil:
		return &NotStartedError{Key: j.lease.Key, Err: ctx.Err()}
	case !j.until.IsZero() && !wallClock().Before(j.until):
		return &NotStartedError{Key: j.lease.Key, Err: context.DeadlineExceeded}
	}
	return nil
}

// forward tells whether the call still goes forward.
func (j *journal) forward() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.unwinding == nil {
		return nil
	}
	return errors.Join(ErrUnwinding, j.failure())
}

// failure is why the call is being undone.
func (j *journal) failure() error {
	return replayFailure(persistence.Record{Key: j.lease.Key, Result: j.unwinding})
}

// reconcile finds out whether an interrupted attempt of a step has happened.
func (j *journal) reconcile(ctx context.Context, s *step) (happened bool, err error) {
	if s.reconcile == nil {
		return false, &OutcomeUnknownError{Key: j.lease.Key}
	}
	if happened, err = s.reconcile(ctx); err != nil {
		return false, &OutcomeUnknownError{Key: j.lease.Key, Err: err}
	}
	if !happened {
		err = j.ready(ctx) // finding out took its time
	}
	return happened, err
}

// start records that a step that must run at most once is about to.
func (j *journal) start(ctx context.Context, state *stepState, started entry) error {
	if err := j.keep(ctx, state.name, state.name+startedSuffix, encodeEntry(started), nil); err != nil {
		return j.unkept(err, nil)
	}
	j.mu.Lock()
	state.started = &started
	j.mu.Unlock()
	return j.ready(ctx) // the environment may have been frozen since
}

// finish records that a step has happened.
func (j *journal) finish(ctx context.Context, state *stepState, done entry, enlisted *persistence.Enlistment) error {
	done.Output, done.omit = state.call.encode()
	done.Omitted = done.omit != nil
	j.mu.Lock()
	j.last++
	done.Order = j.last
	j.mu.Unlock()
	err := j.record(ctx, state, &done, enlisted.Close())
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused.Err // what the step is made of has not happened
	}
	if err != nil {
		return &StepError{Key: j.call.Key, Step: state.name, Executed: !errors.Is(err, persistence.ErrInvalid), Err: err}
	}
	j.arrived(state)
	return nil
}

// record keeps a finished step, together with writes, and without its output where
// that can't be stored.
func (j *journal) record(ctx context.Context, state *stepState, done *entry, writes []persistence.Write) error {
	err := j.keep(ctx, state.name, state.name, encodeEntry(done), writes)
	if errors.Is(err, persistence.ErrTooLarge) {
		done.Output, done.Omitted, done.omit = nil, true, err
		err = j.keep(ctx, state.name, state.name, encodeEntry(done), writes)
	}
	j.mu.Lock()
	// Without writes of its own the effect has happened, whatever the record says.
	happened := err == nil || len(writes) == 0 && !answered(err)
	if happened {
		state.finished, state.known, state.unrecorded = done, true, err != nil
	}
	j.mu.Unlock()
	switch {
	case err == nil && done.omit != nil:
		j.report(ctx, Event{Kind: NotStored, Step: state.name, Err: done.omit})
	case err == nil:
		j.report(ctx, Event{Kind: StepExecuted, Step: state.name})
	case happened && j.guard.config.OnStoreFault == FailOpen:
		j.report(ctx, Event{Kind: NotStored, Step: state.name, Err: err})
		return nil
	}
	return j.unkept(err, done.Output)
}

// arrived notes that the call has the step's output.
func (j *journal) arrived(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state.known, state.reached = true, true
}

// keep adds an entry of a step to the record, together with writes.
func (j *journal) keep(ctx context.Context, step, name string, stored []byte, writes []persistence.Write) error {
	settling, cancel := j.guard.settling(ctx)
	defer cancel()
	if !j.recorded {
		if len(writes) == 0 {
			return nil
		}
		return j.guard.transactor.Commit(settling, writes)
	}
	j.mu.Lock()
	lease := j.lease
	lease.Reserve = j.reserve(step)
	j.mu.Unlock()
	var err error
	if len(writes) == 0 {
		err = j.guard.checkpointer.Checkpoint(settling, lease, name, stored)
	} else {
		err = j.guard.transactor.CheckpointWith(settling, lease, name, stored, writes)
	}
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	steps := make(map[string][]byte, len(j.lease.Steps)+1) // leases that were handed out keep theirs
	maps.Copy(steps, j.lease.Steps)
	steps[name] = stored
	j.lease.Steps = steps
	return nil
}

// answered tells whether the store has refused a write, and so written nothing.
func answered(err error) bool {
	return refused(err) || errors.Is(err, persistence.ErrLeaseLost) || errors.Is(err, persistence.ErrTooLarge)
}

// unkept translates the store's error of a step.
func (j *journal) unkept(err error, output []byte) error {
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		lost := &LeaseLostError{Key: j.lease.Key, Result: output, Err: err}
		j.mu.Lock()
		defer j.mu.Unlock()
		j.lost = lost
		return lost
	case err == nil, answered(err):
		return err
	}
	return &StoreError{Op: "checkpoint", Key: j.lease.Key, Executed: output != nil, Result: output, Retryable: persistence.Retryable(err), Err: err}
}

// What entries without an output take of a record, in bytes, and what is left for a
// failure that has to be recorded.
const (
	entrySize   = 160
	failureSize = 2 << 10
)

// reserve is what must stay free in the record for what the steps under way, and
// undoing those that are finished, have yet to record; not counting the entry of the
// step that is being written.
func (j *journal) reserve(writing string) int {
	n, compensable := 0, false
	for name, s := range j.steps {
		if s.running && s.finished == nil && name != writing {
			n += 2 * (len(name) + entrySize)
		}
		if s.compensated || s.finished == nil && !s.running {
			continue
		}
		if j.undoing && name == writing {
			continue // it is the mark that is being written
		}
		if s.finished != nil && s.finished.Compensable || s.running && s.call.compensate != nil {
			n += len(name) + len(compensatedSuffix) + entrySize
			compensable = true
		}
	}
	if compensable && !j.undoing {
		n += 2 * failureSize
	}
	return n
}

// fits tells whether the record has room for what the steps under way have yet to
// record, outputs aside: their effects must not be lost.
func (j *journal) fits() error {
	if !j.recorded || j.guard.sizer == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	lease := j.lease
	lease.Reserve = j.reserve("")
	if j.guard.sizer.Room(lease) < 0 {
		return fmt.Errorf("%w: the record has no room for another step", persistence.ErrTooLarge)
	}
	return nil
}

func (j *journal) refuse(s *step, err error) error {
	return &StepError{Key: j.call.Key, Step: s.name, Err: err}
}

func (j *journal) report(ctx context.Context, e Event) {
	e.Key, e.Attempt = j.call.Key, j.call.Attempt
	j.guard.report(ctx, e)
}
