package saga

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/idempotent/internal/result"
	"github.com/ikkai-go/idempotency/internal/stepentry"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// do takes a call's coming to a step through the journal.
func (j *callJournal) do(ctx context.Context, v *visit) error {
	if j == nil {
		return &StepError{Step: v.name, Err: fmt.Errorf("%w: it is not in a guarded call that declares Config.Steps", ErrStepMisuse)}
	}
	if _, nested := CallFrom(ctx); nested {
		return j.refuse(v.name, fmt.Errorf("%w: it is inside of another step", ErrStepMisuse))
	}
	input, err := v.digest()
	if err != nil {
		return j.refuse(v.name, err)
	}
	state, err := j.enter(v, input)
	if err != nil {
		return j.refuse(v.name, err)
	}
	defer j.leave(state)
	err = j.call.Part(ctx, partStep, v.name, func(ctx context.Context) error {
		if state.phase >= pending {
			return j.recall(ctx, state)
		}
		err := j.attempt(ctx, state, v, entry{Input: input, Compensable: state.declared.compensates})
		if v.failure != nil {
			return origin.PassOn(err, j.call.Key) // to whoever is told of the part
		}
		return err
	})
	if v.failure != nil {
		return v.failure // to the function as it is
	}
	return err
}

// digest returns what the input of a step is recognised by; empty without one.
func (v *visit) digest() (string, error) {
	if v.input == nil {
		return "", nil
	}
	if err := result.RefuseMasked(v.input); err != nil {
		return "", fmt.Errorf("%w: the input: %w", ErrStepMisuse, err)
	}
	input, err := json.Marshal(map[string]any{"input": v.input}) // an empty input is an input
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrStepMisuse, result.Loss(err, "the input can't be encoded (%T)", err))
	}
	digest, err := idempotency.WholePayload().Fingerprint(result.MarkReplaced(input))
	if err != nil {
		return "", fmt.Errorf("%w: the input: %w", ErrStepMisuse, err)
	}
	return digest, nil
}

// enter checks all that can be checked before anything happens, and notes that the
// step is under way: from here until leave its state is the caller's.
func (j *callJournal) enter(v *visit, input string) (*stepState, error) {
	if err := checkName(v.name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStepMisuse, err)
	}
	switch known := j.declared.lookup(v.name); {
	case known == nil:
		return nil, fmt.Errorf("%w: Config.Steps does not declare it", ErrStepMisuse)
	case known != v.declared:
		return nil, fmt.Errorf("%w: Config.Steps declares another step of that name", ErrStepMisuse)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.closed:
		return nil, fmt.Errorf("%w: the guarded call is over", ErrStepMisuse)
	case j.undoing.begun:
		return nil, ErrUnwinding
	}
	state := j.history.of(v.name)
	switch {
	case state.running, state.arrived:
		return nil, fmt.Errorf("%w: this call has run it before; every step needs a name of its own", ErrStepMisuse)
	case state.phase != open && state.entry.Input != input:
		return nil, ErrStepInput
	}
	state.output, state.running = v.output, true
	j.blocked, j.blocking = nil, nil // the function goes on
	j.underway++
	return state, nil
}

// recall answers with the output of a step that has happened.
func (j *callJournal) recall(ctx context.Context, state *stepState) error {
	if state.phase == pending {
		if err := j.finishAgain(ctx, state); err != nil {
			return err
		}
	}
	if err := j.load(ctx, state); err != nil {
		return err
	}
	j.report(ctx, idempotent.EventStepReplayed, state.name, nil)
	return nil
}

// load takes the output of a step that has happened.
func (j *callJournal) load(ctx context.Context, state *stepState) error {
	switch {
	case !state.entry.Omitted:
		if err := state.held().decode(state.entry.Output); err != nil {
			return j.refuse(state.name, &idempotent.ReplayError{Key: j.call.Key, Result: state.entry.Output, Err: err})
		}
	case !state.declared.reconciles:
		return j.refuse(state.name, &idempotent.ResultNotStoredError{Key: j.call.Key})
	default:
		inner, call, enlisted := j.withStep(ctx, state.name, "")
		defer enlisted.Close()
		happened, err := state.held().reconcile(inner, call)
		if err == nil && !happened {
			err = errors.New("the step is finished, and Reconcile says that it has not happened")
		}
		if err != nil {
			return j.refuse(state.name, &idempotent.OutcomeUnknownError{Key: j.call.Key, Err: err})
		}
	}
	j.arrive(state)
	return nil
}

// attempt runs a step that has not happened, as far as is known, if it may run.
func (j *callJournal) attempt(ctx context.Context, state *stepState, v *visit, done entry) error {
	if err := j.call.Ready(ctx); err != nil {
		return j.refuse(state.name, err)
	}
	if err := j.fits(); err != nil {
		return j.refuse(state.name, err)
	}
	inner, call, enlisted := j.withStep(ctx, state.name, "")
	defer enlisted.Close()
	if state.phase == begun {
		happened, err := j.reconcile(inner, call, state)
		if err != nil {
			return j.refuse(state.name, err)
		}
		if happened {
			return j.conclude(ctx, state, done, enlisted)
		}
	}
	if err := j.forward(); err != nil {
		return j.refuse(state.name, err)
	}
	if state.declared.atMostOnce {
		if err := j.start(ctx, state, done); err != nil {
			return j.refuse(state.name, err)
		}
	}
	if v.failure = v.run(inner, call); v.failure != nil {
		j.failed(state, v.failure)
		return v.failure
	}
	return j.conclude(ctx, state, done, enlisted)
}

// forward tells whether the call still goes forward.
func (j *callJournal) forward() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.history.decision == nil {
		return nil
	}
	return errors.Join(ErrUnwinding, asError(j.history.decision))
}

// reconcile finds out whether an interrupted attempt of a step has happened.
func (j *callJournal) reconcile(ctx context.Context, call Call, state *stepState) (happened bool, err error) {
	if !state.declared.reconciles {
		return false, &idempotent.OutcomeUnknownError{Key: j.call.Key}
	}
	if happened, err = state.held().reconcile(ctx, call); err != nil {
		return false, &idempotent.OutcomeUnknownError{Key: j.call.Key, Err: err}
	}
	if !happened {
		err = j.call.Ready(ctx) // finding out took its time
	}
	return happened, err
}

// start records that a step that must run at most once is about to, unless the record
// says so already.
func (j *callJournal) start(ctx context.Context, state *stepState, started entry) error {
	if state.starts == state.declines {
		name := state.name + stepentry.Nth(startedSuffix, state.starts+1)
		err := j.keep(ctx, state.name, name, mustEncodeEntry(started), nil)
		if err == nil || !journal.Answered(err) {
			state.starts++ // it may be there, though the step does not run
		}
		if err != nil {
			j.mu.Lock()
			state.phase = declined
			j.mu.Unlock()
			return j.unkept(err, nil)
		}
	}
	err := j.call.Ready(ctx) // the environment may have been frozen since
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
// the step has not happened. Any other does not say so of one that must run at most
// once: without a Reconcile no attempt gets past it.
func (j *callJournal) failed(state *stepState, err error) {
	if _, final := j.call.Final(err); final {
		j.decline(state)
	} else if state.phase == begun && !state.declared.reconciles {
		_ = j.refuse(state.name, &idempotent.OutcomeUnknownError{Key: j.call.Key, Err: err})
		j.mu.Lock()
		defer j.mu.Unlock()
		j.blocking = err
	}
}

// decline notes that a step that must run at most once is known not to have happened.
func (j *callJournal) decline(state *stepState) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if state.phase == begun {
		state.phase = declined
	}
}

// recordDeclined records which of the steps that were started have not happened, before
// the record is given up: the next attempt may run them.
func (j *callJournal) recordDeclined(ctx context.Context) {
	if !j.call.Recorded {
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
		if j.keep(ctx, s.name, s.name+stepentry.Nth(declinedSuffix, s.starts), []byte("{}"), nil) == nil {
			s.declines = s.starts // or its outcome is unknown to the next attempt
		}
	}
}

// withStep returns the context of a step, or of its compensation.
func (j *callJournal) withStep(ctx context.Context, name, purpose string) (context.Context, Call, *storekit.Enlistment) {
	call := Call{Name: name, Token: journal.Token(j.call.Tokens, name, purpose)}
	ctx, enlisted := j.call.Enlist(journal.WithStep(ctx, j, journal.Step(call)))
	return ctx, call, enlisted
}
