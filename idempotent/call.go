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

// calling is a call as its context knows it. One without a key runs unprotected.
type calling struct {
	Call
	journal *journal // nil where the guard declares no steps
}

// CallFrom returns the guarded call that ctx belongs to. There is none outside
// of one, and none where the function runs unprotected.
func CallFrom(ctx context.Context) (Call, bool) {
	c, ok := ctx.Value(callKey{}).(*calling)
	if !ok || c.Key == "" {
		return Call{}, false
	}
	return c.Call, true
}

// journalFrom returns the journal of the call that ctx belongs to; nil where there is
// none.
func journalFrom(ctx context.Context) *journal {
	if c, ok := ctx.Value(callKey{}).(*calling); ok {
		return c.journal
	}
	return nil
}

// withCall returns the context of the guarded function, in which it may enlist writes
// if the store can commit them.
func (g *Guard) withCall(ctx context.Context, c *calling) (context.Context, *persistence.Enlistment) {
	if c.journal != nil {
		c.journal.call = c
	}
	_, within := ctx.Value(callKey{}).(*calling)
	if within || c.Key != "" || c.journal != nil {
		ctx = context.WithValue(ctx, callKey{}, c)
	}
	return g.enlisting(withoutObserver(ctx))
}

// enlisting returns a context in which writes are enlisted with the enlistment that
// is returned, or with none.
func (g *Guard) enlisting(ctx context.Context) (context.Context, *persistence.Enlistment) {
	if g.transactor == nil {
		return persistence.WithEnlistment(ctx, nil), nil
	}
	e := new(persistence.Enlistment)
	return persistence.WithEnlistment(ctx, e), e
}
