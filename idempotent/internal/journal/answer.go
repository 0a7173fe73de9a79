package journal

import (
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
)

// Refused tells whether a transaction was not carried out because of the writes that
// were enlisted.
func Refused(err error) bool {
	_, ok := errors.AsType[*persistence.RefusedError](err)
	return ok || errors.Is(err, persistence.ErrInvalid)
}

// Unwritten tells whether a transaction of an owner is known not to have been carried
// out, for whatever reason but that it is the owner no more.
func Unwritten(err error) bool {
	fault, faulty := errors.AsType[*persistence.Fault](err)
	return Refused(err) || errors.Is(err, persistence.ErrTooLarge) || faulty && fault.Unwritten
}

// Answered tells whether the store has refused a write, as opposed to having failed.
func Answered(err error) bool {
	return Refused(err) || errors.Is(err, persistence.ErrLeaseLost) || errors.Is(err, persistence.ErrTooLarge)
}
