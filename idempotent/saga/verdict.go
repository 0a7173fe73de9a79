package saga

import (
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// judged is an error that knows its verdict.
type judged interface {
	error
	Verdict() idempotent.Verdict
}

// askAgain is how long to wait where nothing tells how long it will take.
const askAgain = time.Second

// Verdict is [idempotent.VerdictOf] for an error that the call itself has made.
func (e *StepError) Verdict() idempotent.Verdict {
	v := idempotent.Verdict{Done: idempotent.DoneMaybe, Retry: true, Code: idempotent.CodeStepFailed}
	switch cause, known := errors.AsType[judged](e.Err); {
	case needsPerson(e.Err):
		v.Retry = false
		if errors.Is(e.Err, idempotent.ErrOutcomeUnknown) {
			v.Code = idempotent.CodeOutcomeUnknown
		} else {
			v.Code = idempotent.CodeStuck
		}
	case known:
		v.Retry, v.After = cause.Verdict().Retry, cause.Verdict().After
	}
	return v
}

// needsPerson tells whether a step fails in every attempt, until somebody has found
// out what happened or has deployed what understands the record.
func needsPerson(err error) bool {
	for _, cause := range []error{idempotent.ErrOutcomeUnknown, ErrUnknownStep, ErrStepInput, ErrNotUndoable, idempotent.ErrReplay, idempotent.ErrResultNotStored, ErrStepMisuse, persistence.ErrTooLarge, persistence.ErrInvalid, persistence.ErrUnreadable} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// Verdict is [idempotent.VerdictOf] for an error that the call itself has made.
func (e *PartialSuccessError) Verdict() idempotent.Verdict {
	if e.Stuck {
		return idempotent.Verdict{Done: idempotent.DoneSomething, Code: idempotent.CodeStuck}
	}
	return idempotent.Verdict{Done: idempotent.DoneSomething, Retry: true, After: askAgain, Code: idempotent.CodePartialSuccess}
}

// Verdict is [idempotent.VerdictOf] for an error that the call itself has made.
func (e *CompensationError) Verdict() idempotent.Verdict {
	if e.Unrecorded {
		return idempotent.Verdict{Done: idempotent.DoneMaybe, Code: idempotent.CodeCompensationFailed}
	}
	if needsPerson(e.Compensation) {
		return idempotent.Verdict{Done: idempotent.DoneSomething, Code: idempotent.CodeStuck}
	}
	return idempotent.Verdict{Done: idempotent.DoneSomething, Retry: true, After: askAgain, Code: idempotent.CodeCompensationFailed}
}
