package lincheck

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// judgement is what porcupine says of a history.
type judgement struct {
	result porcupine.CheckResult
	model  porcupine.Model
	info   porcupine.LinearizationInfo
	// events of the explanation, where there is one.
	events map[Event]int
	// puzzle is where there is none.
	puzzle puzzle
}

// judge looks for an explanation of a history.
func (p promise) judge(operations []porcupine.Operation) judgement {
	v := judgement{model: p.model()}
	v.result, v.info = porcupine.CheckOperationsVerbose(v.model, operations, patience)
	switch v.result {
	case porcupine.Ok:
		v.events = p.retell(v.model, v.info)
	case porcupine.Illegal:
		v.puzzle = shorten(v.model, operations)
	}
	return v
}

// retell carries out the calls in the order that explains them, and counts what
// happened.
func (p promise) retell(m porcupine.Model, info porcupine.LinearizationInfo) map[Event]int {
	events := make(map[Event]int)
	for _, explanations := range info.PartialLinearizationsOperations() {
		states := m.Init()
		for _, o := range explanations[0] {
			c, a := o.Input.(call), o.Output.(answer)
			for _, s := range states.([]any) {
				if a.verdict != unanswered && p.step(s.(state), c, a) != nil {
					_, event := c.on(s.(state).now)
					events[event]++
					break
				}
			}
			_, states = m.Step(states, c, a)
		}
	}
	return events
}

func (v judgement) String() string {
	switch v.result {
	case porcupine.Ok:
		return "linearizable"
	case porcupine.Illegal:
		return "not linearizable: " + v.puzzle.String()
	default:
		return fmt.Sprintf("not decided within %v", patience)
	}
}
