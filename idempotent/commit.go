package idempotent

import (
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
)

// refused tells whether a transaction was not carried out because of the writes that
// were enlisted.
func refused(err error) bool {
	_, ok := errors.AsType[*persistence.RefusedError](err)
	return ok || errors.Is(err, persistence.ErrInvalid)
}

// unwritten tells whether a transaction of an owner is known not to have been carried
// out, for whatever reason but that it is the owner no more.
func unwritten(err error) bool {
	fault, faulty := errors.AsType[*persistence.Fault](err)
	return refused(err) || errors.Is(err, persistence.ErrTooLarge) || faulty && fault.Unwritten
}

// uncommitted is the error of a function whose writes are known not to have been
// carried out: the write's own where one was refused.
func (g *Guard) uncommitted(key string, err error) error {
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused.Err
	}
	if fault, ok := errors.AsType[*persistence.Fault](err); ok {
		return &StoreError{Op: "complete", Key: key, Retryable: fault.Retryable, Err: err}
	}
	return err
}
