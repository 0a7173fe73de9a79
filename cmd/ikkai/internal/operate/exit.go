package operate

import (
	"errors"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Exit is an error that scripts tell apart by the exit status of the command.
type Exit struct {
	Status int
	Err    error
}

func (e *Exit) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *Exit) Unwrap() error { return e.Err }

// The exit statuses beyond 0 (done), 1 (failed) and 2 (called wrongly).
const (
	// NotFound: there is no such record.
	NotFound = 3
	// NotDone: the record is not what was shown, is being run, or is in no state for it. Nothing
	// was done.
	NotDone = 4
	// Unwell: doctor has found something that has to be mended.
	Unwell = 5
)

// exit gives an error of package records its status.
func exit(err error) error {
	_, gone := errors.AsType[*records.NotFoundError](err)
	_, changed := errors.AsType[*records.ChangedError](err)
	_, running := errors.AsType[*records.RunningError](err)
	_, refused := errors.AsType[*records.RefusedError](err)
	switch {
	case err == nil:
		return nil
	case gone:
		return &Exit{NotFound, err}
	case changed, running, refused:
		return &Exit{NotDone, err}
	default:
		return err
	}
}

// UsageError is a wrong call: what is wrong with it, and what to type instead.
type UsageError struct{ Problem string }

func (e *UsageError) Error() string { return e.Problem }
