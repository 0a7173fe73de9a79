package idempotent

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// Call is the guarded call that a context belongs to.
type Call struct {
	// Operation is the guard's.
	Operation string
	// Key is the record's key: the same in every try of one request, and so the
	// idempotency key to hand to downstream services.
	Key string
	// Attempt counts the acquisitions of the record, from 1: it is 2 where the run
	// before died. A run that fails removes the record, and the count with it.
	// Never make a downstream key of it.
	Attempt int
}

type callKey struct{}

// CallFrom returns the guarded call that ctx belongs to. There is none outside
// of one, and none where the function runs unprotected.
func CallFrom(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(Call)
	return c, ok
}

func withCall(ctx context.Context, operation string, r persistence.Record) context.Context {
	return context.WithValue(withoutObserver(ctx), callKey{}, Call{Operation: operation, Key: r.Key, Attempt: r.Attempt})
}

// withoutCall hides the call of a guard further out from a function that runs
// unprotected.
func withoutCall(ctx context.Context) context.Context {
	ctx = withoutObserver(ctx)
	if _, guarded := CallFrom(ctx); !guarded {
		return ctx
	}
	return context.WithValue(ctx, callKey{}, nil)
}
