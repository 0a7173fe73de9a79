package idempotent

import (
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
)

// Verdict is what is known of a guarded call once it has ended: what has happened, and
// whether the same request may be sent again. It is what HTTP answers, the lists of
// failed records, logs and metrics go by, so that all of them say the same.
type Verdict struct {
	// Done is what is known to have happened in this call, or what the record tells of
	// an earlier one. Nothing is said of earlier calls where the record was not asked,
	// or did not answer.
	Done Done
	// Retry says that the same request may be sent again, and that this may help: it
	// runs, resumes, or gets the recorded answer. False means that the same answer
	// would come again, or that repeating could do a second time what was done.
	Retry bool
	// After is how long to wait before that; 0 where nothing is known to wait for.
	After time.Duration
	// Code says in a stable word what the verdict is about.
	Code Code
}

// Done is what is known to have happened.
type Done int

const (
	// DoneMaybe is not known: the function has run, or may have.
	DoneMaybe Done = iota
	// DoneNothing says that this call has done nothing: its function has not run, or
	// its effects are known not to have been carried out.
	DoneNothing
	// DoneSomething says that a part has happened and is recorded: finished steps.
	DoneSomething
	// DoneAll says that the function has run to its end, in this call or before.
	DoneAll
)

// String returns "maybe", "nothing", "something" or "all".
func (d Done) String() string {
	switch d {
	case DoneNothing:
		return "nothing"
	case DoneSomething:
		return "something"
	case DoneAll:
		return "all"
	default:
		return "maybe"
	}
}

// Code is what a [Verdict] is about, in a word that stays the same over versions: the
// "code" of problem documents, logs and metrics.
type Code string

const (
	// CodeCompleted is the verdict on a call without an error.
	CodeCompleted Code = "completed"
	// CodeKeyMissing says that the payload has no key.
	CodeKeyMissing Code = "key_missing"
	// CodeKeyUnusable says that the payload's key or fingerprint can't be used.
	CodeKeyUnusable Code = "key_unusable"
	// CodeInProgress says that another run of the request is under way.
	CodeInProgress Code = "in_progress"
	// CodeMismatch says that the key was used with another payload.
	CodeMismatch Code = "mismatch"
	// CodeFailed says that the request has failed for good ([Permanent]).
	CodeFailed Code = "failed"
	// CodeResultNotStored says that the request was completed before, and that its
	// result is not recorded.
	CodeResultNotStored Code = "result_not_stored"
	// CodeReplayUnreadable says that the request was completed before, and that its
	// result can't be read back.
	CodeReplayUnreadable Code = "replay_unreadable"
	// CodeOutcomeUnknown says that an earlier run, or a step that must not run twice,
	// did not come to its end, and that nobody knows what it has done.
	CodeOutcomeUnknown Code = "outcome_unknown"
	// CodeLeaseLost says that the function has run, and that another run of the
	// request holds the record by now.
	CodeLeaseLost Code = "lease_lost"
	// CodeStoreFailed says that the record could not be acquired.
	CodeStoreFailed Code = "store_failed"
	// CodeNotStored says that the function has run, and that this could not be
	// recorded.
	CodeNotStored Code = "not_stored"
	// CodeNotStarted says that there was no time left in which to run.
	CodeNotStarted Code = "not_started"
	// CodeResponseTooLarge says that the function has run, and that Lambda would refuse
	// its response.
	CodeResponseTooLarge Code = "response_too_large"
	// CodePartialSuccess says that the function has failed after some of its steps.
	CodePartialSuccess Code = "partial_success"
	// CodeCompensationFailed says that the request has failed for good, and that its
	// steps are not all undone yet.
	CodeCompensationFailed Code = "compensation_failed"
	// CodeStuck says that the request can't go on by itself.
	CodeStuck Code = "stuck"
	// CodeStepFailed says that a step could not run, or not be kept.
	CodeStepFailed Code = "step_failed"
	// CodeUnfinished says that a batch has items left.
	CodeUnfinished Code = "unfinished"
	// CodeInvalidConfig says that the guard, or what it was called with, has to be
	// changed.
	CodeInvalidConfig Code = "invalid_config"
	// CodeSkipped says that there was nothing to do for the request ([ErrSkip]).
	CodeSkipped Code = "skipped"
	// CodeSuspended says that an invocation of a durable function has ended, and its
	// execution goes on. No error that a caller gets has it.
	CodeSuspended Code = "suspended"
	// CodeFunctionFailed says that the function has returned an error of its own.
	CodeFunctionFailed Code = "function_failed"
)

// judged is an error that knows its verdict, as far as the call that it comes from has made it.
type judged interface {
	error
	Verdict() Verdict
}

// VerdictOf returns what the error of a guarded call says about its request. The error
// has to be as the call has returned it.
//
// An error that wraps another is judged by the outermost. What this package has not
// made itself is the function's own error, and so is one of this package's that the
// function has passed on, from a guarded call of its own: what the function did before
// is then not known. (Such a one comes out of the call as a copy that says so, for
// errors.Is and errors.As the same as before.) Whether to send the request again, and
// when, is taken from the error inside.
//
// VerdictOf never fails, and is safe for concurrent use.
func VerdictOf(err error) Verdict {
	if err == nil {
		return Verdict{Done: DoneAll, Code: CodeCompleted}
	}
	if own, ok := err.(judged); ok && origin.IsOwn(err) { //nolint:errorlint // the outermost
		return own.Verdict()
	}
	if errors.Is(err, ErrSkip) && !errors.Is(err, ErrPermanent) {
		return Verdict{Done: DoneNothing, Code: CodeSkipped}
	}
	v := Verdict{Retry: true, Code: CodeFunctionFailed}
	if own, ok := errors.AsType[judged](err); ok {
		passed := own.Verdict()
		v.Retry, v.After = passed.Retry, passed.After
		if errors.Is(own, ErrPermanent) {
			v.Code = CodeFailed // an error that wraps a permanent one is permanent as a whole
		}
	}
	return v
}
