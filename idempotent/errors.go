package idempotent

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// The sentinels of this package's errors, for errors.Is. The table in the
// package documentation says when each comes and what it means to HTTP and SQS.
var (
	// ErrConfig matches every [*ConfigError].
	ErrConfig = errors.New("idempotent: invalid configuration")
	// ErrDuplicateOperation is the cause of a refusal by [New]: the operation has a guard
	// already.
	ErrDuplicateOperation = errors.New("idempotent: duplicate operation")

	// ErrSkip says that there is nothing to do for a request: an event that is not for its
	// consumer. A function that returns it has done nothing: its record is released, and
	// the event is EventSkipped. Package eventguard acknowledges such records; elsewhere it
	// is an error like others.
	ErrSkip = errors.New("idempotent: nothing to do")

	ErrKey             = errors.New("idempotent: unusable key")
	ErrInProgress      = errors.New("idempotent: in progress")
	ErrMismatch        = errors.New("idempotent: same key, other payload")
	ErrPermanent       = errors.New("idempotent: permanent failure")
	ErrResultNotStored = errors.New("idempotent: result not stored")
	ErrReplay          = errors.New("idempotent: stored result does not fit")
	ErrOutcomeUnknown  = errors.New("idempotent: outcome unknown")
	ErrLeaseLost       = errors.New("idempotent: lease lost")
	ErrStore           = errors.New("idempotent: store failed")
	ErrNotStarted      = errors.New("idempotent: not started")
	ErrTooLarge        = errors.New("idempotent: response too large for Lambda")
)

// KeyError says that the payload gives no key or fingerprint. Nothing ran, and
// nothing was stored. The cause tells a missing one ([idempotency.ErrMissing])
// from a payload that can't be understood.
type KeyError struct {
	mark

	Operation string // the guard's
	Err       error  // why
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("idempotent: %s: no usable key: %v", e.Operation, e.Err)
}

// Is reports whether target is [ErrKey].
func (e *KeyError) Is(target error) bool { return target == ErrKey || e.mark.Is(target) }

// Unwrap returns the cause.
func (e *KeyError) Unwrap() error { return e.Err }

// InProgressError says that another run of this key is under way. Nothing ran;
// the same request may be sent again.
type InProgressError struct {
	mark

	Key string // of the record
	// RetryAfter is when it is worth asking again: after as long again as the run has been
	// under way, between a second and half a minute, or as soon as its lease is over.
	RetryAfter time.Duration
	// LeaseUntil is when the run's lease ends; zero if that is not known.
	LeaseUntil time.Time
}

func (e *InProgressError) Error() string {
	return fmt.Sprintf("idempotent: %s is in progress, retry in %v", e.Key, e.RetryAfter)
}

// Is reports whether target is [ErrInProgress].
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress || e.mark.Is(target) }

// MismatchError says that the key was used before with another payload. Nothing
// ran, and the record is as it was.
type MismatchError struct {
	mark

	Key string // of the record
	// Record is what the key stands for.
	Record persistence.Record
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("idempotent: %s was used with another payload", e.Key)
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch || e.mark.Is(target) }

// ResultNotStoredError says that the operation was completed before, but its
// result was too large or could not be encoded, so there is nothing to replay. It
// must not run again.
type ResultNotStoredError struct {
	mark

	Key string // of the record
}

func (e *ResultNotStoredError) Error() string {
	return fmt.Sprintf("idempotent: %s is completed, its result was not stored", e.Key)
}

// Is reports whether target is [ErrResultNotStored].
func (e *ResultNotStoredError) Is(target error) bool {
	return target == ErrResultNotStored || e.mark.Is(target)
}

// ReplayError says that the stored result can't be read back, most likely because
// the type of the result has changed with a deployment.
//
// Its text says what kind of error that was and not more: the texts of decoders quote
// what they could not read.
type ReplayError struct {
	mark

	Key string // of the record
	// Result is what is stored.
	Result []byte
	Err    error // the cause
}

func (e *ReplayError) Error() string {
	return fmt.Sprintf("idempotent: the stored result of %s does not fit (%s)", e.Key, kindOfMisfit(e.Err))
}

// kindOfMisfit says why a stored value could not be read back, without quoting it.
func kindOfMisfit(err error) string {
	if misfit, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && misfit.Type != nil {
		return fmt.Sprintf("%T, for a %v", misfit, misfit.Type)
	}
	if own, ok := errors.AsType[*unreadForm](err); ok {
		return own.Error()
	}
	if errors.Is(err, errOfExecution) {
		return err.Error()
	}
	return fmt.Sprintf("%T", err)
}

// Is reports whether target is [ErrReplay].
func (e *ReplayError) Is(target error) bool { return target == ErrReplay || e.mark.Is(target) }

// Unwrap returns the cause.
func (e *ReplayError) Unwrap() error { return e.Err }

// OutcomeUnknownError says that an earlier run did not finish within its lease, or
// never started after it had the record, and that the operation is configured not
// to run again in that case. Nothing ran. In a *saga.StepError it says the same of a
// step that must run at most once.
type OutcomeUnknownError struct {
	mark

	Key string // of the record
	// LeaseUntil is when the earlier run's lease ended; zero for a step.
	LeaseUntil time.Time
	// Err is why it could not be found out, if that was tried.
	Err error
}

func (e *OutcomeUnknownError) Error() string {
	text := fmt.Sprintf("idempotent: a run of %s did not finish, its outcome is unknown", e.Key)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is [ErrOutcomeUnknown].
func (e *OutcomeUnknownError) Is(target error) bool {
	return target == ErrOutcomeUnknown || e.mark.Is(target)
}

// Unwrap returns the cause, if there is one.
func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// LeaseLostError says that the function ran and succeeded, but somebody else owns
// the record by now: the lease was over before the end, and another run was
// started or has finished. What is replayed is the other run's result.
type LeaseLostError struct {
	mark

	Key string // of the record
	// Executed says that this run's effects have happened. It is false where effects
	// were to commit with the record: those were not carried out; and where the function has
	// failed for good.
	Executed bool
	// Result is this run's own result, as it would have been stored; nil where it is
	// the result of writes that were not carried out.
	Result []byte
	// Failure is what the function has failed with, if it has failed for good, or its durable
	// execution has. It is no
	// outcome of the request, which may have succeeded meanwhile, and so it is not wrapped.
	Failure error
	Err     error // the cause
}

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("idempotent: %s ran, but its lease was lost before the end", e.Key)
}

// Is reports whether target is [ErrLeaseLost].
func (e *LeaseLostError) Is(target error) bool { return target == ErrLeaseLost || e.mark.Is(target) }

// Unwrap returns the store's error.
func (e *LeaseLostError) Unwrap() error { return e.Err }

// StoreError says that the store failed, and whether the function ran.
type StoreError struct {
	mark

	// Op is what was asked of the store: "acquire", "complete", "checkpoint", "renew", or
	// "release" where a durable execution has failed, and its record could not be given up.
	Op  string
	Key string
	// Executed tells whether the function ran, and may have had an effect. If so,
	// Result is what it returned; the record stays locked until its lease is over. It
	// is false as well where the effect was to commit with the record, and is known
	// not to have.
	Executed bool
	Result   []byte
	// Retryable tells whether the store may answer later.
	Retryable bool
	Err       error

	told  Verdict       // where more is known than the fields say
	after time.Duration // when to come back, if it is not known from the fields
}

func (e *StoreError) Error() string {
	ran := "the function did not run"
	fault, _ := errors.AsType[*persistence.Fault](e.Err)
	switch {
	case e.Executed:
		ran = "the function has run"
	case e.Op == "acquire":
	case fault != nil && fault.Unwritten:
		ran = "nothing was written"
	default:
		ran = "what was written is not known"
	}
	return fmt.Sprintf("idempotent: could not %s %s, %s: %v", e.Op, e.Key, ran, e.Err)
}

// Is reports whether target is [ErrStore].
func (e *StoreError) Is(target error) bool { return target == ErrStore || e.mark.Is(target) }

// Unwrap returns the store's error.
func (e *StoreError) Unwrap() error { return e.Err }

// NotStartedError says that there was no time left in which to run, so the
// function was not started, and its record, if there was one, is given up. The cause is the context's error, or
// [context.DeadlineExceeded] where the environment was frozen until the lease
// was over.
type NotStartedError struct {
	mark

	Key string // empty if it was too late even to find it
	Err error  // the cause
}

func (e *NotStartedError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("idempotent: not started: %v", e.Err)
	}
	return fmt.Sprintf("idempotent: %s was not started: %v", e.Key, e.Err)
}

// Is reports whether target is [ErrNotStarted].
func (e *NotStartedError) Is(target error) bool { return target == ErrNotStarted || e.mark.Is(target) }

// Unwrap returns the cause.
func (e *NotStartedError) Unwrap() error { return e.Err }

// ResponseTooLargeError says that the function ran and succeeded, but that Lambda would
// refuse its response. The record says so, without the response: duplicates get
// *ResultNotStoredError.
type ResponseTooLargeError struct {
	mark

	// Size of the response, in bytes.
	Size int
}

func (e *ResponseTooLargeError) Error() string {
	return fmt.Sprintf("idempotent: the response has %d bytes, and Lambda takes %d", e.Size, maxResponse)
}

// Is reports whether target is [ErrTooLarge].
func (e *ResponseTooLargeError) Is(target error) bool {
	return target == ErrTooLarge || e.mark.Is(target)
}
