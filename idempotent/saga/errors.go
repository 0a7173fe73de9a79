package saga

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
)

// The sentinels of steps and sagas, for errors.Is.
var (
	// ErrStep matches every [*StepError].
	ErrStep = errors.New("saga: step")
	// ErrStepMisuse says that the code has to be changed: a step outside of a guarded
	// call or inside of another step, with a name that is not declared or was used
	// before in this call.
	ErrStepMisuse = errors.New("saga: misused step")
	// ErrUnknownStep says that the record has a step that Config.Steps does not declare: it
	// was renamed or removed by a deployment. Nothing ran.
	ErrUnknownStep = errors.New("saga: unknown step")
	// ErrStepInput says that the step was finished, or started, with another input.
	ErrStepInput = errors.New("saga: same step, other input")
	// ErrUnwinding says that the call has failed for good before, and is being
	// undone: no step is run any more.
	ErrUnwinding = errors.New("saga: unwinding")
	// ErrNotUndoable says that a finished step can't be undone by the code as it is: the
	// step has no Compensate any more, or only its name is declared ([Retired]).
	ErrNotUndoable = errors.New("saga: step not undoable")
	// ErrPartialSuccess matches every [*PartialSuccessError].
	ErrPartialSuccess = errors.New("saga: partial success")
	// ErrCompensation matches every [*CompensationError].
	ErrCompensation = errors.New("saga: compensation failed")
)

// mark tells whether an error of this package has come out of a guarded function, which got
// it from a guarded call of its own.
type mark = origin.Mark

// StepError says that a step could not run, or that its output could not be kept.
// The cause tells why: one of the sentinels above, [persistence.ErrTooLarge] where
// the record has no room for the step, or an error that guarded calls have as well:
// *NotStartedError, *LeaseLostError, *StoreError, *OutcomeUnknownError, *ReplayError,
// *ResultNotStoredError.
type StepError struct {
	mark

	// Key of the record; empty where there is none.
	Key  string
	Step string
	// Executed tells whether the step's function has succeeded in this call, so that
	// its effect has happened and the record may not know of it. It is false where the
	// effect was to commit with the record.
	Executed bool
	Err      error
}

// OfCall tells whether the call of that key has made the error, for its function to return.
func (e *StepError) OfCall(key string) bool { return e.Key == key }

func (e *StepError) Error() string { return fmt.Sprintf("saga: step %q: %v", e.Step, e.Err) }

// Is reports whether target is [ErrStep].
func (e *StepError) Is(target error) bool { return target == ErrStep || e.mark.Is(target) }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

// PartialSuccessError says that the function has failed after some of its steps, and
// that these are kept: the next arrival of the request resumes it. It is what a
// guarded call returns in place of the function's error then.
type PartialSuccessError struct {
	mark

	Key string // of the record
	// Done are the finished steps, in the order in which they were finished.
	Done []string
	// Stuck says that the next arrival would end the same way: somebody has to find
	// out what became of a step, or to deploy what understands the record.
	Stuck bool
	// Err is the function's error.
	Err error
}

func (e *PartialSuccessError) Error() string {
	return fmt.Sprintf("saga: %s is done in part (%s): %v", e.Key, strings.Join(e.Done, ", "), e.Err)
}

// Is reports whether target is [ErrPartialSuccess].
func (e *PartialSuccessError) Is(target error) bool {
	return target == ErrPartialSuccess || e.mark.Is(target)
}

// Unwrap returns the function's error.
func (e *PartialSuccessError) Unwrap() error { return e.Err }

// CompensationError says that a call has failed for good, and that its steps could
// not all be undone. The record says so too, and the next arrival of the request goes
// on undoing them; but where just that could not be recorded, it goes forward again.
type CompensationError struct {
	mark

	Key string // of the record
	// Left are the steps that are still to be undone, in the order in which that will
	// happen.
	Left []string
	// Unrecorded says that the call ran without a record: nothing goes on undoing it, and
	// a repetition runs forward.
	Unrecorded bool
	// Err is why the call is being undone.
	Err error
	// Compensation is why that did not succeed.
	Compensation error
}

// OfCall is as that of [StepError].
func (e *CompensationError) OfCall(key string) bool { return e.Key == key }

func (e *CompensationError) Error() string {
	return fmt.Sprintf("saga: %s failed (%v) and is not undone (%s left): %v",
		e.Key, e.Err, strings.Join(e.Left, ", "), e.Compensation)
}

// Is reports whether target is [ErrCompensation].
func (e *CompensationError) Is(target error) bool {
	return target == ErrCompensation || target == journal.ErrNotUndone || e.mark.Is(target)
}

// Unwrap returns both causes.
func (e *CompensationError) Unwrap() []error { return []error{e.Err, e.Compensation} }
