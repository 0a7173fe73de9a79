package idempotent

import (
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// outcome is what is recorded of a function's effect at now.
func (g *Guard) outcome(status persistence.Status, e effect, now time.Time) persistence.Outcome {
	return persistence.Outcome{
		Status:        status,
		Result:        e.result,
		ResultOmitted: e.omit != nil || status == persistence.StatusCompleted && g.config.OnlyLock,
		ExpiresAt:     g.expiry(now),
	}
}

// notCompleted is the error of a function that has run, and whose record may not say so.
func notCompleted(key string, result []byte, err error) *StoreError {
	return &StoreError{Op: "complete", Key: key, Executed: true, Result: result, Retryable: persistence.Retryable(err), Err: err}
}

// uncommitted is the error of a function whose writes are known not to have been
// carried out: the write's own where one was refused. Done says what is known to have
// happened besides.
func uncommitted(key string, err error, done Done) error {
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused.Err
	}
	if errors.Is(err, persistence.ErrInvalid) {
		return &StoreError{Op: "complete", Key: key, Err: err, told: Verdict{Done: done, Code: CodeNotStored}}
	}
	if fault, ok := errors.AsType[*persistence.Fault](err); ok {
		failed := &StoreError{Op: "complete", Key: key, Retryable: fault.Retryable, Err: err}
		failed.told = Verdict{Done: done, Retry: fault.Retryable, Code: CodeNotStored}
		if fault.Retryable {
			failed.told.After = askAgain
		}
		return failed
	}
	return err
}
