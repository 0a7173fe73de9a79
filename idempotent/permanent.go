package idempotent

import (
	"encoding/json"
	"errors"

	"github.com/ikkai-go/idempotency/idempotent/internal/failure"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/persistence"
)

// Permanent marks an error as final: the failure is recorded, and every
// duplicate gets it instead of another run. For "card declined", not for
// "connection reset". An error that wraps or joins a permanent one is permanent
// as a whole. Permanent(nil) is nil.
//
// The error's text is what is stored, in UTF-8, and up to 4 KB of it.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Type: failure.TypeName(err), Message: failure.Text(err), Err: err}
}

// PermanentError is a final failure: as the function returned it, or as it was
// recorded. Both print the same text and, where the function returned it as it
// is, are reported as the same errorType.
type PermanentError struct {
	mark

	// Type is the Go type name of the original error, without its package.
	Type string
	// Message is the original error's text.
	Message string
	// Err is the original error; nil in a replay.
	Err error
}

func (e *PermanentError) Error() string { return e.Message }

// Is reports whether target is [ErrPermanent].
func (e *PermanentError) Is(target error) bool { return target == ErrPermanent || e.mark.Is(target) }

// Unwrap returns the original error, if this is not a replay.
func (e *PermanentError) Unwrap() error { return e.Err }

// recordable returns what to store of an error, if it is permanent. What is
// stored is the text of the error that the caller sees, which may wrap the
// permanent one. An error that says that something is not undone yet is not final,
// whatever the reason for undoing it.
func recordable(err error) ([]byte, bool) {
	permanent, ok := errors.AsType[*PermanentError](err)
	if !ok || permanent == nil || errors.Is(err, journal.ErrNotUndone) {
		return nil, false
	}
	return failure.Failure{Type: permanent.Type, Message: failure.Text(err)}.Encode(), true
}

func replayFailure(r persistence.Record) error {
	if r.ResultOmitted {
		return &PermanentError{Message: "the operation failed for good, its error was not stored"}
	}
	var f failure.Failure
	if err := json.Unmarshal(r.Result, &f); err != nil {
		return &ReplayError{Key: r.Key, Result: r.Result, Err: err}
	}
	return &PermanentError{Type: f.Type, Message: f.Message}
}
