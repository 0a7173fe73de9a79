package records

import (
	"context"
	"time"
)

// Settlement is what an operator knows of a request. Made by [Complete], [CompleteWithoutResult],
// [Fail], [FinishStep], [DeclineStep] and [UndoStep].
type Settlement struct {
	// TTL is how long the outcome is replayed. Defaults to [Config.TTL]. Settlements of steps
	// have none.
	TTL time.Duration

	kind   settlementKind
	result []byte // of the request, or of the step
	omit   bool
	step   string
	failed failure
}

type failure struct{ errorType, message string }

type settlementKind int

const (
	settleOutcome settlementKind = iota + 1
	settleFailure
	settleFinished
	settleDeclined
	settleUndone
)

// Complete says that the request has succeeded, with a result, which is JSON for functions:
// every duplicate gets it.
func Complete(result []byte) Settlement { return Settlement{kind: settleOutcome, result: result} }

// CompleteWithoutResult says that the request has succeeded, with a result that nobody knows:
// duplicates are told so and get none.
func CompleteWithoutResult() Settlement { return Settlement{kind: settleOutcome, omit: true} }

// Fail says that the request has failed for good: every duplicate gets this failure, as from
// idempotent.Permanent. The type is what Lambda calls errorType. What its steps have done is
// not undone.
func Fail(errorType, message string) Settlement {
	return Settlement{kind: settleFailure, failed: failure{errorType, message}}
}

// FinishStep says that a step which was started has happened, with an output in JSON. The
// request can be resumed then.
func FinishStep(name string, output []byte) Settlement {
	return Settlement{kind: settleFinished, step: name, result: output}
}

// DeclineStep says that a step which was started has not happened: it may run again when the
// request is resumed.
func DeclineStep(name string) Settlement { return Settlement{kind: settleDeclined, step: name} }

// UndoStep says that a step of a request that has failed for good was undone by hand: its
// compensation does not run any more.
func UndoStep(name string) Settlement { return Settlement{kind: settleUndone, step: name} }

// Settle plans to record what an operator knows of a request that is not finished, and that is
// not being run. [*RefusedError] where that can't be, [*RunningError] while a lease is live.
func (d *Desk) Settle(ctx context.Context, shown Record, s Settlement) (*Plan, error) {
	return d.settle(ctx, shown, s)
}
