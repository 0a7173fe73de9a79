package lincheck

import (
	"maps"
	"reflect"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Fidelity is how faithfully a method shows a record.
type Fidelity int

const (
	// Exact shows the record as it is, all of it.
	Exact Fidelity = iota
	// Outcome shows of a finished record at least the status, the result, the
	// owner, the fingerprint and the expiry: what a replay rests on.
	Outcome
	// FormerOutcome is like Outcome, but the record may be one that was replaced
	// in the meantime: by a claim whose clock said that it had expired, while it
	// has not by the caller's clock.
	FormerOutcome
)

// promise is what is held against a history: the contract, and how faithfully
// records are shown. For reads that are not Exact, an answer without a finished
// record says nothing, as the contract has it.
type promise struct{ acquires, reads Fidelity }

// state is what a key has come to: the record that is there, and every outcome
// there has been.
type state struct {
	now      record
	outcomes []record
}

func (s state) with(next record, event Event) state {
	s.now = next
	if event == Completed {
		s.outcomes = append(slices.Clip(s.outcomes), next)
	}
	return s
}

// step returns the states that a call can lead to, if it was answered like that:
// none where it can't have been, two where nobody knows.
func (p promise) step(s state, c call, a answer) []state {
	next, event := c.on(s.now)
	carriedOut := s.with(next, event)
	switch {
	case a.verdict == unanswered && reflect.DeepEqual(s, carriedOut):
		return []state{s}
	case a.verdict == unanswered:
		return []state{s, carriedOut}
	case p.tells(c, next, event, a):
		return []state{carriedOut}
	case p.remembers(c, s.outcomes, a):
		return []state{s}
	default:
		return nil
	}
}

// tells says whether a call that had this effect is answered like that.
func (p promise) tells(c call, next record, event Event, a answer) bool {
	switch c.(type) {
	case claim:
		return a.verdict == granted && p.acquires.same(next, a.shown)
	case reading:
		return a.verdict == granted && (p.reads.same(next, a.shown) || p.reads != Exact && !a.shown.finished())
	default:
		return a.verdict == event.told() && (a.verdict != settled || FormerOutcome.same(next, a.shown))
	}
}

// remembers says whether a call may be answered with an outcome of the past.
func (p promise) remembers(c call, outcomes []record, a answer) bool {
	fidelity := p.reads
	if asking, claims := c.(claim); claims {
		if a.shown.expired(asking) {
			return false
		}
		fidelity = p.acquires
	}
	return fidelity == FormerOutcome && a.verdict == granted && a.shown.finished() &&
		slices.ContainsFunc(outcomes, func(r record) bool { return fidelity.same(r, a.shown) })
}

func (f Fidelity) same(r, shown record) bool {
	if f != Exact && shown.finished() {
		r.attempt, shown.attempt = 0, 0
		r.steps, shown.steps = nil, nil
	}
	return reflect.DeepEqual(r, shown)
}

// model is the promise in porcupine's terms. Every key is a system of its own.
func (p promise) model() porcupine.Model {
	keys := &porcupine.NondeterministicModel{
		Partition: byKey,
		Init:      func() []any { return []any{state{}} },
		Step: func(s, input, output any) []any {
			var next []any
			for _, n := range p.step(s.(state), input.(call), output.(answer)) {
				next = append(next, n)
			}
			return next
		},
		Equal:             reflect.DeepEqual,
		DescribeOperation: func(input, output any) string { return describe(input.(call), output.(answer)) },
		DescribeState:     func(s any) string { return s.(state).now.String() },
	}
	return keys.ToModel()
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	ofKey := make(map[string][]porcupine.Operation)
	for _, o := range history {
		key := o.Input.(call).target()
		ofKey[key] = append(ofKey[key], o)
	}
	var parts [][]porcupine.Operation
	for _, key := range slices.Sorted(maps.Keys(ofKey)) {
		parts = append(parts, ofKey[key])
	}
	return parts
}
