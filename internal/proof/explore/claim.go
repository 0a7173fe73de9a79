package explore

import (
	"errors"
	"slices"

	"github.com/ikkai-go/idempotency/idempotent"
)

// judgeClaim compares what an answer claims with what has happened. Whether a repetition
// helps is seen in a step of its own.
func (w *world) judgeClaim(p *Process) {
	if !w.system.Guarded || p.broke {
		return
	}
	claim := p.verdict
	switch claim.Done {
	case idempotent.DoneNothing:
		w.judgeNothing(p)
	case idempotent.DoneSomething:
		if !w.hasFinishedSteps() && !w.zombie(p) {
			w.violate(Claimed, "%s is told that a part has happened (%s), and there is %s", p.name, claim.Code, w.describe(w.record))
		}
	case idempotent.DoneAll:
		if !w.hasRun(p) {
			w.violate(Claimed, "%s is told that all has happened (%s), and it has not", p.name, claim.Code)
		}
	}
	switch {
	case p.err == nil:
	case claim.Retry:
		w.told = p.index
	case !p.acts.Load() && !p.declined && !p.refused && !w.toldFailure(p) && !needsPerson(p):
		w.violate(Final, "%s is told not to repeat what nothing was done of (%s)", p.name, claim.Code)
	}
}

// judgeNothing judges the claim of an answer that its call has done nothing. It has to
// stay true, whatever arrives late.
func (w *world) judgeNothing(p *Process) {
	if p.ended && !p.broke && w.system.Guarded && p.verdict.Done == idempotent.DoneNothing && (p.acts.Load() || p.wrote) {
		w.violate(Claimed, "%s is told that nothing has happened (%s), and something has", p.name, p.verdict.Code)
	}
}

// toldFailure tells whether the answer is a failure that was recorded, though the record
// may be gone by now, or one that was decided on.
func (w *world) toldFailure(p *Process) bool {
	return errors.Is(p.err, ErrFailed) && (w.record.has(unwindingEntry) || slices.ContainsFunc(w.results, func(result string) bool {
		return failureIn([]byte(result)) != failure{}
	}))
}

// hasFinishedSteps tells whether the record says that a part has happened.
func (w *world) hasFinishedSteps() bool {
	return slices.ContainsFunc(w.system.Saga.names(), w.record.has)
}

// zombie tells whether a process does not know the record any more.
func (w *world) zombie(p *Process) bool { return w.holder != p.index || w.regained }

// hasRun tells whether the function has come to its end, in this call or before.
func (w *world) hasRun(p *Process) bool {
	if w.system.AtOnce || w.system.Saga.enlists() {
		return w.applied[completion] > 0
	}
	return p.ran != "" || slices.ContainsFunc(w.processes, func(other *Process) bool { return other.ran != "" })
}

// needsPerson tells whether a caller is told that its request can't go on by itself.
func needsPerson(p *Process) bool {
	return p.verdict.Code == idempotent.CodeStuck || p.verdict.Code == idempotent.CodeOutcomeUnknown
}

// repetitions is how often a caller repeats a request that it is told to repeat.
const repetitions = 30

// repeat has a caller go by what it was told, while everybody else stands still and no
// further fault happens: it waits, and sends its request again, until it has a recorded
// outcome.
func (w *world) repeat(p *Process) {
	began := w.now()
	for range repetitions {
		w.sleepUntil(w.now().Add(p.verdict.After))
		p = w.undisturbed(w.goesOn(p))
		switch {
		case p.err == nil, w.recordedFailure(p), w.system.Unsure && needsPerson(p):
			return
		case !p.verdict.Retry:
			w.violate(Helps, "a caller that was told to repeat its request is told not to: %v", p.err)
			return
		}
	}
	w.violate(Helps, "a caller that does what it is told has no outcome after %v: %v", w.now().Sub(began), p.err)
}
