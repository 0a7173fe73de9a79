package persistence

import (
	"errors"
	"fmt"
)

var (
	// ErrLeaseLost means that the caller no longer owns the record. It was taken over, has
	// been finished, or is gone.
	ErrLeaseLost = errors.New("persistence: the lease is lost")
	// ErrTooLarge means that the record with this result or step would not fit the store.
	// Nothing was written.
	ErrTooLarge = errors.New("persistence: too large to store")
	// ErrInvalid means that the arguments can never be right. Nothing was written.
	ErrInvalid = errors.New("persistence: invalid argument")
	// ErrUnreadable means that there is a record, but it can't be understood. What it
	// stands for is not known, so nothing may run. Comes inside a [*Fault].
	ErrUnreadable = errors.New("persistence: the stored record can't be understood")
	// ErrNotEnlisted means that a write of the application could not be enlisted: there is
	// no run that would commit it.
	ErrNotEnlisted = errors.New("persistence: nothing to enlist a write with")
)

// SettledError says that an owner has settled otherwise before what it wants to settle now:
// one of two tries of its own that differ came first, late perhaps, and stays. Nothing was
// written. The owner has to go by what is there.
//
// It matches [ErrLeaseLost] where the record is finished, and does not where it is PROCESSING
// and has another output of the step.
type SettledError struct {
	// Record as it is, of the owner that the lease shows. Its owner, status, result and
	// steps can be relied on.
	Record Record
}

func (e *SettledError) Error() string {
	return fmt.Sprintf("persistence: the owner has settled %s otherwise before: the record is %s", e.Record.Key, e.Record.Status)
}

// Is reports whether target is [ErrLeaseLost], and the record finished.
func (e *SettledError) Is(target error) bool {
	return target == ErrLeaseLost && e.Record.Status.Finished()
}

// RefusedError says that a transaction was refused because of one of the
// application's writes: its condition did not hold, or it can't be carried out.
type RefusedError struct {
	// Index of the write, in the order in which they were enlisted.
	Index int
	// Err says why: the write's own error, if it has one, or the store's.
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("persistence: write %d was refused: %v", e.Index, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// Fault is a failure below the store: the network, the service, permissions, or
// a record that can't be understood.
type Fault struct {
	// Op is the store's method in lower case, such as "acquire".
	Op string
	// Retryable tells whether the same call may succeed later. Either way the
	// write may have been applied: even a refusal can follow a try whose reply
	// was lost.
	Retryable bool
	// Unwritten tells that nothing was written of a transaction with writes of the
	// application (storekit.Transactor), and that nothing of it will be: each try was refused,
	// rolled back, or never sent. False where this is not known, as after a try without
	// an answer, and where there were no such writes. It speaks of this call only: one
	// before it may have been applied, or may be yet.
	Unwritten bool
	// Err is the cause.
	Err error
}

func (f *Fault) Error() string { return fmt.Sprintf("persistence: %s: %v", f.Op, f.Err) }

// Unwrap returns the cause.
func (f *Fault) Unwrap() error { return f.Err }

// Retryable tells whether the call that returned err may succeed later. What
// this package refuses is refused for good. An error that does not say counts as
// retryable: of two guesses the one that leaves nothing behind.
func Retryable(err error) bool {
	if fault, ok := errors.AsType[*Fault](err); ok {
		return fault.Retryable
	}
	return !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrLeaseLost)
}
