package idempotent

import (
	"errors"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/persistence"
)

// mark is embedded in the errors of this package: see [origin.Mark].
type mark = origin.Mark

// ofFunction marks the error that a guarded function has returned, unless the call of
// that key has made it itself, for the function to hand on. What wraps an error is judged
// by itself.
func ofFunction(err error, key string) {
	if own, ok := err.(interface{ PassOn(key string) }); ok { //nolint:errorlint // the outermost
		own.PassOn(key)
	}
}

// PassOn does nothing: a permanent failure is the function's statement, and the record's.
func (e *PermanentError) PassOn(string) {}

func (e *ConfigError) Verdict() Verdict {
	return Verdict{Done: DoneNothing, Code: CodeInvalidConfig}
}

func (e *KeyError) Verdict() Verdict {
	if errors.Is(e.Err, idempotency.ErrMissing) {
		return Verdict{Done: DoneNothing, Code: CodeKeyMissing}
	}
	return Verdict{Done: DoneNothing, Code: CodeKeyUnusable}
}

func (e *InProgressError) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Retry: true, After: e.RetryAfter, Code: CodeInProgress}
}

// The request that the key was used for may have done anything; this one nothing.
func (e *MismatchError) Verdict() Verdict {
	return Verdict{Done: DoneNothing, Code: CodeMismatch}
}

// How far a function got that has failed for good is its own to say.
func (e *PermanentError) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Code: CodeFailed}
}

func (e *ResultNotStoredError) Verdict() Verdict {
	return Verdict{Done: DoneAll, Code: CodeResultNotStored}
}

func (e *ReplayError) Verdict() Verdict {
	return Verdict{Done: DoneAll, Code: CodeReplayUnreadable}
}

func (e *OutcomeUnknownError) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Code: CodeOutcomeUnknown}
}

// The record is another run's, and a repetition gets what that one makes of it.
func (e *LeaseLostError) Verdict() Verdict {
	v := Verdict{Done: DoneMaybe, Retry: true, After: askAgain, Code: CodeLeaseLost}
	if e.Executed {
		v.Done = DoneAll
	}
	return v
}

func (e *StoreError) Verdict() Verdict {
	if e.told.Code != "" {
		return e.told
	}
	v := Verdict{Done: DoneMaybe, Retry: e.Retryable, Code: CodeNotStored}
	switch {
	case e.Op == "acquire":
		v.Done, v.Code = DoneNothing, CodeStoreFailed
	case e.Executed:
		// A client repeats what it is told to, and once the lease is over it would run
		// again.
		v.Done, v.Retry = DoneAll, false
	}
	if v.Retry {
		v.After = askAgain
	}
	return v
}

func (e *NotStartedError) Verdict() Verdict {
	return Verdict{Done: DoneNothing, Retry: true, After: askAgain, Code: CodeNotStarted}
}

func (e *ResponseTooLargeError) Verdict() Verdict {
	return Verdict{Done: DoneAll, Code: CodeResponseTooLarge}
}

func (e *StepError) Verdict() Verdict {
	v := Verdict{Done: DoneMaybe, Retry: true, Code: CodeStepFailed}
	switch cause, known := errors.AsType[judged](e.Err); {
	case needsPerson(e.Err):
		v.Retry = false
		if errors.Is(e.Err, ErrOutcomeUnknown) {
			v.Code = CodeOutcomeUnknown
		} else {
			v.Code = CodeStuck
		}
	case known:
		v.Retry, v.After = cause.Verdict().Retry, cause.Verdict().After
	}
	return v
}

// needsPerson tells whether a step fails in every attempt, until somebody has found
// out what happened or has deployed what understands the record.
func needsPerson(err error) bool {
	for _, cause := range []error{ErrOutcomeUnknown, ErrUnknownStep, ErrStepInput, ErrNotUndoable, ErrReplay, ErrResultNotStored, ErrStepMisuse, persistence.ErrTooLarge, persistence.ErrInvalid, persistence.ErrUnreadable} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

func (e *PartialSuccessError) Verdict() Verdict {
	if e.Stuck {
		return Verdict{Done: DoneSomething, Code: CodeStuck}
	}
	return Verdict{Done: DoneSomething, Retry: true, After: askAgain, Code: CodePartialSuccess}
}

func (e *CompensationError) Verdict() Verdict {
	if e.Unrecorded {
		return Verdict{Done: DoneMaybe, Code: CodeCompensationFailed}
	}
	if needsPerson(e.Compensation) {
		return Verdict{Done: DoneSomething, Code: CodeStuck}
	}
	return Verdict{Done: DoneSomething, Retry: true, After: askAgain, Code: CodeCompensationFailed}
}

func (e *UnfinishedError) Verdict() Verdict {
	p := e.Progress
	if p.Done+p.Replayed+p.Permanent+p.Failed+p.Held == 0 {
		return Verdict{Done: DoneNothing, Retry: true, Code: CodeUnfinished}
	}
	return Verdict{Done: DoneSomething, Retry: true, Code: CodeUnfinished}
}
