package idempotent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/failure"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// journal is the steps of one attempt of a call. Safe for concurrent use.
type journal struct {
	guard    *Guard
	budget   budget
	hold     *hold                // on the record to keep steps in; nil where there is none
	limit    time.Time            // when everything must be over where there is none
	call     *calling             // that it belongs to
	key      string               // that tokens are made of
	enlisted *storekit.Enlistment // outside of steps

	mu       sync.Mutex
	quiet    sync.Cond // nothing is under way
	lease    persistence.Lease
	history  history
	underway int            // steps, and undoing them
	inFlight map[string]int // bytes of entries that are being written, by name
	closed   bool
	blocked  *StepError // why a step can't be got past, until the function comes to another
	undoing  undoing    // how far that has come in this attempt
}

// newJournal opens the journal of a record that was acquired. The error is a
// *StepError about what is recorded in it. There is none where the guard declares no
// steps.
func (g *Guard) newJournal(r persistence.Record, h *hold, b budget) (*journal, error) {
	steps, err := readHistory(r, g.config.declares)
	if err != nil || len(g.config.Steps) == 0 {
		return nil, err
	}
	j := &journal{guard: g, budget: b, hold: h, key: r.Key, lease: r.Lease(), history: steps, inFlight: make(map[string]int)}
	j.quiet.L = &j.mu
	return j, nil
}

// unrecordedJournal is the journal of a run without a record: its steps run
// unprotected, and are undone from memory. Their tokens are made of the key where it
// is known; else of a random one, which no other request shares.
func (g *Guard) unrecordedJournal(key string, b budget) *journal {
	if len(g.config.Steps) == 0 {
		return nil
	}
	j := &journal{guard: g, budget: b, limit: b.settleUntil, key: cmp.Or(key, rand.Text()), history: history{steps: make(map[string]*stepState)}}
	if j.limit.IsZero() {
		j.limit = wallClock().Add(longestRun)
	}
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
	return j.during(ctx, EventStep, s.name, func(ctx context.Context) error {
		if state.phase >= pending {
			return j.recall(ctx, state)
		}
		return j.attempt(ctx, state, entry{Input: input, Compensable: s.compensate != nil})
	})
}

// enter checks all that can be checked before anything happens, and notes that the
// step is under way: from here until leave its state is the caller's.
func (j *journal) enter(s *step, input string) (*stepState, error) {
	if err := checkStepName(s.name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStepMisuse, err)
	}
	if !j.guard.config.declares(s.name) {
		return nil, fmt.Errorf("%w: Config.Steps does not declare it", ErrStepMisuse)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return nil, fmt.Errorf("%w: the guarded call is over", ErrStepMisuse)
	case j.undoing.begun:
		return nil, ErrUnwinding
	}
	state := j.history.of(s.name)
	switch {
	case state.running, state.arrived:
		return nil, fmt.Errorf("%w: this call has run it before; every step needs a name of its own", ErrStepMisuse)
	case state.phase != open && state.entry.Input != input:
		state.refused = ErrStepInput
		return nil, ErrStepInput
	}
	state.call, state.running = s, true
	j.blocked = nil // the function goes on
	j.underway++
	return state, nil
}

func (j *journal) leave(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state.running = false
	j.end()
}

// end notes that something is not under way any more.
func (j *journal) end() {
	if j.underway--; j.underway == 0 {
		j.quiet.Broadcast()
	}
}

// rest waits until nothing is under way.
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

// kept returns the finished steps that the record has.
func (j *journal) kept() []string {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return names(j.history.in(finished))
}

// recall answers with the output of a step that has happened.
func (j *journal) recall(ctx context.Context, state *stepState) error {
	s := state.call
	if state.phase == pending {
		if err := j.finishAgain(ctx, state); err != nil {
			return err
		}
	}
	switch {
	case !state.entry.Omitted:
		if err := s.decode(state.entry.Output); err != nil {
			return j.refuse(s, &ReplayError{Key: j.call.Key, Result: state.entry.Output, Err: err})
		}
	case s.reconcile == nil:
		return j.refuse(s, &ResultNotStoredError{Key: j.call.Key})
	default:
		inner, enlisted := j.withStep(ctx, s.name, "")
		defer enlisted.Close()
		happened, err := s.reconcile(inner)
		if err == nil && !happened {
			err = errors.New("the step is finished, and Reconcile says that it has not happened")
		}
		if err != nil {
			return j.refuse(s, &OutcomeUnknownError{Key: j.call.Key, Err: err})
		}
	}
	j.arrive(state)
	j.report(ctx, Event{Kind: EventStepReplayed, Step: s.name})
	return nil
}

// attempt runs a step that has not happened, as far as is known, if it may run.
func (j *journal) attempt(ctx context.Context, state *stepState, done entry) error {
	s := state.call
	if err := j.ready(ctx); err != nil {
		return j.refuse(s, err)
	}
	if err := j.fits(); err != nil {
		return j.refuse(s, err)
	}
	inner, enlisted := j.withStep(ctx, s.name, "")
	defer enlisted.Close()
	if state.phase == begun {
		happened, err := j.reconcile(inner, s)
		if err != nil {
			return j.refuse(s, err)
		}
		if happened {
			return j.conclude(ctx, state, done, enlisted)
		}
	}
	if err := j.forward(); err != nil {
		return j.refuse(s, err)
	}
	if s.atMostOnce {
		if err := j.start(ctx, state, done); err != nil {
			return j.refuse(s, err)
		}
	}
	if err := s.run(inner); err != nil {
		j.failed(state, err)
		return err
	}
	return j.conclude(ctx, state, done, enlisted)
}

// ready tells whether anything may start now.
func (j *journal) ready(ctx context.Context) error {
	switch {
	case j.hold != nil:
		return j.hold.check(ctx)
	case ctx.Err() != nil:
		return &NotStartedError{Key: j.call.Key, Err: ctx.Err()}
	case !wallClock().Before(j.limit):
		return &NotStartedError{Key: j.call.Key, Err: context.DeadlineExceeded}
	}
	return nil
}

// holding returns a context that ends when everything must be over, and holds the record
// meanwhile.
func (j *journal) holding(ctx context.Context) (held context.Context, stop func()) {
	if j.hold != nil {
		return j.hold.keep(ctx)
	}
	return context.WithDeadline(ctx, j.limit)
}

// forward tells whether the call still goes forward.
func (j *journal) forward() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.history.decision == nil {
		return nil
	}
	return errors.Join(ErrUnwinding, j.history.decision.asError())
}

// reconcile finds out whether an interrupted attempt of a step has happened.
func (j *journal) reconcile(ctx context.Context, s *step) (happened bool, err error) {
	if s.reconcile == nil {
		return false, &OutcomeUnknownError{Key: j.call.Key}
	}
	if happened, err = s.reconcile(ctx); err != nil {
		return false, &OutcomeUnknownError{Key: j.call.Key, Err: err}
	}
	if !happened {
		err = j.ready(ctx) // finding out took its time
	}
	return happened, err
}

// start records that a step that must run at most once is about to, unless the record
// says so already.
func (j *journal) start(ctx context.Context, state *stepState, started entry) error {
	if state.starts == state.declines {
		name := state.name + nth(startedSuffix, state.starts+1)
		err := j.keep(ctx, state.name, name, mustEncodeEntry(started), nil)
		if err == nil || !answered(err) {
			state.starts++ // it may be there, though the step does not run
		}
		if err != nil {
			j.mu.Lock()
			state.phase = declined
			j.mu.Unlock()
			return j.unkept(err, nil)
		}
	}
	err := j.ready(ctx) // the environment may have been frozen since
	j.mu.Lock()
	defer j.mu.Unlock()
	if state.phase != begun {
		state.entry = started
	}
	if state.phase = begun; err != nil {
		state.phase = declined // it never ran
	}
	return err
}

// failed notes that the function of a step has failed. A failure for good says that
// the step has not happened.
func (j *journal) failed(state *stepState, err error) {
	if _, permanent := recordable(err); permanent {
		j.decline(state)
	}
}

// decline notes that a step that must run at most once is known not to have happened.
func (j *journal) decline(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if state.phase == begun {
		state.phase = declined
	}
}

// recordDeclined records which of the steps that were started have not happened, before
// the record is given up: the next attempt may run them.
func (j *journal) recordDeclined(ctx context.Context) {
	if j == nil || j.hold == nil {
		return
	}
	j.mu.Lock()
	steps := j.history.in(declined)
	decided := j.history.decision != nil
	j.mu.Unlock()
	for _, s := range steps {
		if decided || s.declines >= s.starts {
			continue
		}
		if j.keep(ctx, s.name, s.name+nth(declinedSuffix, s.starts), []byte("{}"), nil) == nil {
			s.declines = s.starts // or its outcome is unknown to the next attempt
		}
	}
}

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
func (j *journal) conclude(ctx context.Context, state *stepState, done entry, enlisted *storekit.Enlistment) error {
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
	e.take(state.call.encode())
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
		err = decodeEntry(stored, new(entry))
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
func (j *journal) finish(ctx context.Context, state *stepState, e *ending) error {
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
		j.report(ctx, Event{Kind: EventNotStored, Step: state.name, Err: e.omit})
		return nil //nolint:nilerr // only the output is lost
	case err == nil:
		j.report(ctx, Event{Kind: EventStepExecuted, Step: state.name})
		return nil
	case refused != nil:
		j.decline(state) // its effect is what was refused
		return refused.Err
	case len(e.writes) > 0 && unwritten(err):
		j.decline(state)
	case happened && !answered(err) && j.guard.config.OnStoreFault == FailOpen:
		j.report(ctx, Event{Kind: EventNotStored, Step: state.name, Err: err})
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
func (j *journal) settledBefore(state *stepState, err error) *entry {
	before, ok := errors.AsType[*persistence.SettledError](err)
	if !ok || before.Record.Status.Finished() {
		return nil
	}
	there := new(entry)
	if decodeEntry(before.Record.Steps[state.name], there) != nil {
		return nil
	}
	return there
}

// adopt takes a step for finished as the record has it: that is what has happened.
func (j *journal) adopt(ctx context.Context, state *stepState, there entry) error {
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
func (j *journal) finishAgain(ctx context.Context, state *stepState) error {
	if j.hold == nil && len(state.unsent.writes) > 0 {
		return j.refuse(state.call, &OutcomeUnknownError{Key: j.call.Key})
	}
	return j.finish(ctx, state, state.unsent)
}

// finishPending sends the endings of all pending steps once more, before the record is
// given up.
func (j *journal) finishPending(ctx context.Context) {
	if j == nil {
		return
	}
	j.mu.Lock()
	steps := j.history.in(pending)
	j.mu.Unlock()
	for _, s := range steps {
		_ = j.finishAgain(ctx, s) // or the next attempt runs it again
	}
}

// note notes what has become of a step whose ending was sent. It tells whether the
// step has happened for sure.
func (j *journal) note(state *stepState, e *ending, err error) (happened bool) {
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
		if state.call.atMostOnce {
			state.phase = begun
		}
	case len(e.writes) == 0 || !unwritten(err) && !errors.Is(err, persistence.ErrLeaseLost): // the writes may have arrived
		state.phase, state.entry, state.unsent = pending, e.entry, e
	}
	return len(e.writes) == 0
}

// arrive notes that the call has the step's output.
func (j *journal) arrive(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	state.arrived = true
}

// keep adds an entry of a step to the record, together with writes. It renews the
// lease by the way.
func (j *journal) keep(ctx context.Context, step, name string, stored []byte, writes []storekit.Write) error {
	settling, cancel := j.budget.settling(ctx)
	defer cancel()
	if j.hold == nil {
		if len(writes) == 0 {
			return nil
		}
		return j.guard.transactor.Commit(settling, writes)
	}
	lease, landed := j.book(step, name, stored)
	var err error
	if len(writes) == 0 {
		err = j.guard.checkpointer.Checkpoint(settling, lease, name, stored)
	} else {
		err = j.guard.transactor.CheckpointWith(settling, lease, name, stored, writes)
	}
	landed(err)
	return err
}

// book reserves room in the record for an entry, and returns the lease to write it with:
// what other steps are writing at the same time must fit beside it. Call landed when it
// is known what became of it.
func (j *journal) book(step, name string, stored []byte) (lease persistence.Lease, landed func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lease = j.lease
	lease.Reserve = j.reserve(step)
	for other, size := range j.inFlight {
		if other != name {
			lease.Reserve += size
		}
	}
	lease.Until = j.hold.extended()
	j.inFlight[name] = len(name) + len(stored) + storekit.StepOverhead
	return lease, func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.inFlight, name)
		if err != nil {
			return
		}
		steps := make(map[string][]byte, len(j.lease.Steps)+1) // leases that were handed out keep theirs
		maps.Copy(steps, j.lease.Steps)
		steps[name] = stored
		j.lease.Steps = steps
		j.hold.confirm(lease.Until)
	}
}

// answered tells whether the store has refused a write, as opposed to having failed.
func answered(err error) bool {
	return refused(err) || errors.Is(err, persistence.ErrLeaseLost) || errors.Is(err, persistence.ErrTooLarge)
}

// unkept translates the store's error of a step. The effect is what has happened all
// the same; nil if nothing has.
func (j *journal) unkept(err error, effect []byte) error {
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		lost := &LeaseLostError{Key: j.call.Key, Executed: effect != nil, Result: effect, Err: err}
		if j.hold != nil {
			j.hold.lose(lost)
		}
		return lost
	case err == nil, answered(err):
		return err
	}
	return &StoreError{Op: "checkpoint", Key: j.call.Key, Executed: effect != nil, Result: effect, Retryable: persistence.Retryable(err), Err: err}
}

// entrySize is what an entry without an output takes of a record, in bytes.
const entrySize = 160

// reserve is what must stay free in the record for what the steps under way, and
// undoing those that are finished, have yet to record; not counting the entry of the
// step that is being written.
func (j *journal) reserve(writing string) int {
	n, compensable := 0, false
	for name, s := range j.history.steps {
		if s.running && s.phase < finished && name != writing {
			n += 2 * (len(name) + entrySize)
		}
		if j.history.decision == nil && !j.undoing.begun && (s.phase == begun || s.phase == declined || s.running && s.call.atMostOnce) {
			n += 2*len(name) + len(`"",`) // the decision may have to name it
			n += len(name) + entrySize    // or an entry of its own
		}
		if s.late {
			n += len(name) + entrySize // that takes its place
		}
		if s.phase == undone || s.phase < finished && !s.running || !s.compensable() || j.undoing.begun && name == writing {
			continue
		}
		n += len(name) + len(compensatedSuffix) + entrySize
		compensable = true
	}
	if compensable && !j.undoing.begun {
		n += 2 * failure.Size
	}
	return n
}

// fits tells whether the record has room for what the steps under way have yet to
// record, outputs aside: their effects must not be lost.
func (j *journal) fits() error {
	if j.hold == nil || j.guard.sizer == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	lease := j.lease
	lease.Reserve = j.reserve("")
	for _, size := range j.inFlight {
		lease.Reserve += size
	}
	if j.guard.sizer.Room(lease) < 0 {
		return fmt.Errorf("%w: the record has no room for another step", persistence.ErrTooLarge)
	}
	return nil
}

// refuse is the error of a step that does not get in, or whose output does not get out.
func (j *journal) refuse(s *step, err error) error {
	refusal := &StepError{Key: j.call.Key, Step: s.name, Err: err}
	if needsPerson(err) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.blocked = refusal
	}
	return refusal
}

// blockedBy returns the step that keeps the call from ever getting to its end, if that is
// why it has ended with err.
func (j *journal) blockedBy(err error) *StepError {
	if own, ok := errors.AsType[*StepError](err); ok && needsPerson(own.Err) {
		return own
	}
	if failed, ok := errors.AsType[*CompensationError](err); ok && needsPerson(failed.Compensation) {
		return &StepError{Key: failed.Key, Step: failed.Left[0], Err: failed.Compensation}
	}
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.blocked
}

// during runs a part of the call, whose beginning and end are told.
func (j *journal) during(ctx context.Context, kind EventKind, step string, part func(context.Context) error) error {
	return j.guard.during(ctx, Event{Kind: kind, Key: j.call.Key, Step: step, Attempt: j.call.Attempt}, part)
}

func (j *journal) report(ctx context.Context, e Event) {
	e.Key, e.Attempt = j.call.Key, j.call.Attempt
	j.guard.reportWithin(ctx, e)
}
