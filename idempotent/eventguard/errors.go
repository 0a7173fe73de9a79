package eventguard

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent"
)

// The sentinels of this package's errors, for errors.Is.
var (
	ErrPayload = errors.New("eventguard: unusable payload")
	ErrPanic   = errors.New("eventguard: panic")
	ErrBatch   = errors.New("eventguard: records of the batch failed")
	// ErrHeldBack is logged of a record that did not run because one before it in its
	// group or partition failed. Nothing was acquired for it.
	ErrHeldBack = errors.New("eventguard: held back behind a failure of its group")
)

// PayloadError says that a record does not hold what it should: an envelope of
// another kind, or a payload that does not fit the function's type. The function
// did not run.
type PayloadError struct {
	// Problem says what is wrong without quoting the payload: it is what gets logged.
	Problem string
	// Err is the cause, if there is one. Its text may quote the payload.
	Err error
}

func (e *PayloadError) Error() string { return "eventguard: unusable payload: " + e.Problem }

// misfit is the error of what can't be decoded.
func misfit(what string, err error) *PayloadError {
	problem := fmt.Sprintf("%s (%T)", what, err)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		kind, _, _ := strings.Cut(wrong.Value, " ") // the rest may be the value itself
		problem = fmt.Sprintf("%s: JSON %s at byte %d is no Go %v", what, kind, wrong.Offset, wrong.Type)
	}
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		problem = fmt.Sprintf("%s: not valid JSON at byte %d", what, wrong.Offset)
	}
	return &PayloadError{Problem: problem, Err: err}
}

// Is reports whether target is [ErrPayload].
func (e *PayloadError) Is(target error) bool { return target == ErrPayload }

// Unwrap returns the cause; nil where there is none.
func (e *PayloadError) Unwrap() error { return e.Err }

// PanicError says that the function, or Config.Content, panicked for one record of a
// batch, or ended its goroutine. Its idempotency record is released.
type PanicError struct {
	// Value is what it panicked with; nil where the goroutine was ended.
	Value any
	// Stack is that of the panic.
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "eventguard: the function ended its goroutine"
	}
	return fmt.Sprintf("eventguard: panic: %v", e.Value)
}

// Is reports whether target is [ErrPanic].
func (e *PanicError) Is(target error) bool { return target == ErrPanic }

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// BatchError fails a whole batch, which then comes back: by choice ([FailBatch]),
// or because a failed record has no id to report it by.
type BatchError struct {
	// Failed are the records that failed, in the order of the batch: of a FIFO queue
	// with those held back, of a stream the first one only.
	Failed []FailedRecord
	// Records is how many the batch had.
	Records int
}

// FailedRecord is a record that failed, and why.
type FailedRecord struct {
	ID string // as the answer of the batch would name it
	// Verdict is what is known of it: what [idempotent.VerdictOf] says, or one of the
	// codes of this package.
	Verdict idempotent.Verdict
	Err     error
}

func (e *BatchError) Error() string {
	return fmt.Sprintf("eventguard: %d of %d records failed, the first one: %v", len(e.Failed), e.Records, e.Failed[0].Err)
}

// Is reports whether target is [ErrBatch].
func (e *BatchError) Is(target error) bool { return target == ErrBatch }

// Unwrap returns the errors of the records.
func (e *BatchError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f.Err
	}
	return errs
}
