package lincheck

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// puzzle is the shortest beginning of one key's history that has no explanation.
type puzzle struct {
	// calls by their starts. Those that were still under way have no answer.
	calls []porcupine.Operation
	// last is the moment of the answer that is the contradiction.
	last int64
	// met is what one explanation of all other calls leaves.
	met string
}

// shorten returns the shortest puzzle of a history without an explanation.
func shorten(m porcupine.Model, operations []porcupine.Operation) puzzle {
	var shortest puzzle
	for _, ofKey := range byKey(operations) {
		answers := moments(ofKey)
		n := sort.Search(len(answers), func(i int) bool { return !explained(m, until(ofKey, answers[i])) })
		if n == len(answers) {
			continue
		}
		p := puzzle{calls: until(ofKey, answers[n]), last: answers[n]}
		if shortest.calls == nil || len(p.calls) < len(shortest.calls) {
			shortest = p
		}
	}
	shortest.met = met(m, until(shortest.calls, shortest.last-1))
	return shortest
}

// moments returns when calls were answered, in order.
func moments(operations []porcupine.Operation) []int64 {
	var answers []int64
	for _, o := range operations {
		answers = append(answers, o.Return)
	}
	slices.Sort(answers)
	return answers
}

// until is what was known of a history at a moment: calls that are answered later
// may have been carried out already.
func until(operations []porcupine.Operation, moment int64) []porcupine.Operation {
	var known []porcupine.Operation
	for _, o := range operations {
		if o.Call > moment {
			continue
		}
		if o.Return > moment {
			o.Return = moment
			o.Output = answer{verdict: unanswered}
		}
		known = append(known, o)
	}
	slices.SortFunc(known, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return known
}

func explained(m porcupine.Model, operations []porcupine.Operation) bool {
	return porcupine.CheckOperationsTimeout(m, operations, patience) != porcupine.Illegal
}

// met returns the records that an explanation ends with.
func met(m porcupine.Model, operations []porcupine.Operation) string {
	states := m.Init()
	_, info := porcupine.CheckOperationsVerbose(m, operations, patience)
	for _, explanations := range info.PartialLinearizationsOperations() {
		for _, o := range explanations[0] {
			_, states = m.Step(states, o.Input, o.Output)
		}
	}
	var records []string
	for _, s := range states.([]any) {
		records = append(records, s.(state).now.String())
	}
	return strings.Join(records, ", or ")
}

// shownCalls is how many calls before the contradiction are shown: what matters
// is near it, and the picture has all of them.
const shownCalls = 12

func (p puzzle) String() string {
	var told []string
	for _, o := range p.calls {
		c, a := o.Input.(call), o.Output.(answer)
		switch {
		case o.Return < p.last && mayChange(c, a):
			told = append(told, fmt.Sprintf("\n  %d–%d client %d: %s", o.Call, o.Return, o.ClientId, describe(c, a)))
		case o.Return == p.last && a.verdict == unanswered && mayChange(c, a):
			told = append(told, fmt.Sprintf("\n  %d– client %d: %v, which is under way", o.Call, o.ClientId, c))
		case o.Return == p.last && a.verdict != unanswered:
			told = append(told, fmt.Sprintf("\n* %d–%d client %d: %s", o.Call, o.Return, o.ClientId, describe(c, a)))
		}
	}
	return fmt.Sprintf("no order of %d calls of %s explains the answer marked with *. The last that may have changed something:%s\nOne explanation of all other answers leaves: %s",
		len(p.calls), p.calls[0].Input.(call).target(), strings.Join(told[max(0, len(told)-shownCalls):], ""), p.met)
}

// mayChange leaves out what was only a look at the record.
func mayChange(c call, a answer) bool {
	switch c := c.(type) {
	case claim:
		return a.verdict == unanswered || a.shown.owner == c.Owner
	case reading:
		return false
	default:
		return a.verdict != leaseLost && a.verdict != settled
	}
}
