package idempotent

import (
	"errors"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
)

// mark tells whether an error of this package has come out of a guarded function, which got
// it from a guarded call of its own.
type mark = origin.Mark

// OfCall returns true: what a function declares to be final is its call's, and the record's.
func (e *PermanentError) OfCall(string) bool { return true }

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *ConfigError) Verdict() Verdict {
	if e.stuck {
		return Verdict{Done: DoneMaybe, Code: CodeStuck}
	}
	return Verdict{Done: DoneNothing, Code: CodeInvalidConfig}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *KeyError) Verdict() Verdict {
	if errors.Is(e.Err, idempotency.ErrMissing) {
		return Verdict{Done: DoneNothing, Code: CodeKeyMissing}
	}
	return Verdict{Done: DoneNothing, Code: CodeKeyUnusable}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *InProgressError) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Retry: true, After: e.RetryAfter, Code: CodeInProgress}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
//
// The request that the key was used for may have done anything; this one nothing.
func (e *MismatchError) Verdict() Verdict {
	return Verdict{Done: DoneNothing, Code: CodeMismatch}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
//
// How far a function got that has failed for good is its own to say.
func (e *PermanentError) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Code: CodeFailed}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *ResultNotStoredError) Verdict() Verdict {
	return Verdict{Done: DoneAll, Code: CodeResultNotStored}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *ReplayError) Verdict() Verdict {
	return Verdict{Done: DoneAll, Code: CodeReplayUnreadable}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *OutcomeUnknownError) Verdict() Verdict {
	return Verdict{Done: DoneMaybe, Code: CodeOutcomeUnknown}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
//
// The record is another run's, and a repetition gets what that one makes of it.
func (e *LeaseLostError) Verdict() Verdict {
	v := Verdict{Done: DoneMaybe, Retry: true, After: askAgain, Code: CodeLeaseLost}
	if e.Executed {
		v.Done = DoneAll
	}
	return v
}

// Verdict is [VerdictOf] for an error that the call itself has made.
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
		v.After = max(e.after, askAgain)
	}
	return v
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *NotStartedError) Verdict() Verdict {
	return Verdict{Done: DoneNothing, Retry: true, After: askAgain, Code: CodeNotStarted}
}

// Verdict is [VerdictOf] for an error that the call itself has made.
func (e *ResponseTooLargeError) Verdict() Verdict {
	return Verdict{Done: DoneAll, Code: CodeResponseTooLarge}
}
