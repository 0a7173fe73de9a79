package records

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/internal/stepentry"
	"github.com/ikkai-go/idempotency/persistence"
)

// Settlement is what an operator knows of a request. Made by [Complete], [CompleteWithoutResult],
// [Fail], [FinishStep], [DeclineStep] and [UndoStep].
type Settlement struct {
	// TTL is how long the outcome is replayed. Defaults to [Config.TTL]. Settlements of steps
	// have none.
	TTL time.Duration

	kind    settlementKind
	content []byte // the result of the request, or the output of the step; nil is none
	step    string
	failure stepentry.Failure
}

type settlementKind int

const (
	settleCompleted settlementKind = iota + 1
	settleFailed
	stepFinished
	stepDeclined
	stepUndone
)

// Complete says that the request has succeeded, with a result: every duplicate gets it. It is
// JSON, as the guarded function's results are.
func Complete(result []byte) Settlement {
	return Settlement{kind: settleCompleted, content: append([]byte{}, result...)}
}

// CompleteWithoutResult says that the request has succeeded, with a result that nobody knows:
// duplicates are told so and get none.
func CompleteWithoutResult() Settlement { return Settlement{kind: settleCompleted} }

// Fail says that the request has failed for good: every duplicate gets this failure, as from
// idempotent.Permanent. The type is what Lambda calls errorType. What its steps have done is
// not undone.
func Fail(errorType, message string) Settlement {
	return Settlement{kind: settleFailed, failure: stepentry.Failure{Type: errorType, Message: message}}
}

// FinishStep says that a step which was started has happened, with an output in JSON, or with
// one that nobody knows where that is nil. The request can be resumed then; but without its output no
// try gets past a step that has no Reconcile, and it can't be given later.
func FinishStep(name string, output []byte) Settlement {
	return Settlement{kind: stepFinished, step: name, content: output}
}

// DeclineStep says that a step which was started has not happened: it may run again when the
// request is resumed.
func DeclineStep(name string) Settlement { return Settlement{kind: stepDeclined, step: name} }

// UndoStep says that a step of a request that has failed for good was undone by hand: its
// compensation does not run any more.
func UndoStep(name string) Settlement { return Settlement{kind: stepUndone, step: name} }

// writes tells whether there is a content to be written, which fronts would change on its way.
func (s Settlement) writes() bool { return s.kind != settleCompleted || s.content != nil }

// outcome is what the settlement records of a request, and what that means in words.
func (s Settlement) outcome() (o persistence.Outcome, what string, err error) {
	switch {
	case s.kind == settleFailed && strings.TrimSpace(s.failure.Message) == "":
		return o, "", errors.New("a failure has to say what has failed")
	case s.kind == settleFailed:
		s.failure.Message = strings.ToValidUTF8(s.failure.Message, "\uFFFD")
		return persistence.Outcome{Status: persistence.StatusFailed, Result: s.failure.Encode()}, fmt.Sprintf("failed for good (%s)", s.failure.Type), nil
	case s.content == nil:
		return persistence.Outcome{Status: persistence.StatusCompleted, ResultOmitted: true}, "succeeded, with a result that is not known", nil
	case !json.Valid(s.content):
		return o, "", errors.New("the result is not JSON, and could not be replayed")
	default:
		return persistence.Outcome{Status: persistence.StatusCompleted, Result: s.content}, fmt.Sprintf("succeeded, with a result of %d bytes", len(s.content)), nil
	}
}
