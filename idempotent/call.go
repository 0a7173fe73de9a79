package idempotent

import (
	"context"
	"crypto/rand"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Call is the guarded call that a context belongs to.
type Call struct {
	// Operation is the guard's.
	Operation string
	// Key is the record's key: the same in every try of one request, and so the
	// idempotency key to hand to downstream services ([DownstreamKey]).
	Key string
	// Attempt counts the acquisitions of the record, from 1: it is 2 where the run
	// before died. A run that fails removes the record, and the count with it. It is 0
	// where nothing is recorded. Never make a downstream key of it.
	Attempt int
	// Unrecorded says that the function runs without a record: the store could not be
	// reached and the guard fails open, or the guards are switched off. Nothing but the
	// key that is handed on then keeps the request from being carried out twice.
	Unrecorded bool
}

// Token is the call's key in at most 36 characters, for services that limit the length
// of an idempotency key: 32 hexadecimal digits, the same in every try of the request.
func (c Call) Token() string { return journal.Token(c.Key) }

// calling is a call as its context knows it.
type calling struct {
	Call
	journal journal.Journal // nil where the guard declares no steps
	random  string          // in place of a key that is not known
}

// CallFrom returns the guarded call that ctx belongs to, also where it runs without a
// record ([Call.Unrecorded]). There is none outside of a guarded call, and none where
// the request has no key ([Config].RunWithoutKey).
func CallFrom(ctx context.Context) (Call, bool) {
	c, ok := journal.FrameFrom(ctx).(*calling)
	if !ok || c.Key == "" {
		return Call{}, false
	}
	return c.Call, true
}

// DownstreamKey returns the idempotency key to hand to the services that the guarded
// function calls: in a step its token (package saga), otherwise the call's key. It is the
// same in every try of a request, and another one for every other request, also where
// the function runs without a record.
//
// It is never empty, so that no provider takes a call for one without a key. Where the
// request has none, and outside of a guarded call, it is a random text: one call's own,
// and a new one every time where there is no call.
//
// A key may have up to 2 KB. [Call.Token] has 32 characters.
func DownstreamKey(ctx context.Context) string {
	if s, ok := journal.StepFrom(ctx); ok {
		return s.Token
	}
	c, ok := journal.FrameFrom(ctx).(*calling)
	switch {
	case !ok:
		return rand.Text()
	case c.Key != "":
		return c.Key
	default:
		return c.random
	}
}

// Journal implements [journal.Frame].
func (c *calling) Journal() journal.Journal { return c.journal }

// newCalling returns a call as its context will know it.
func (g *Guard) newCalling(key string, attempt int) *calling {
	c := new(calling)
	g.beginCalling(c, key, attempt)
	return c
}

func (g *Guard) beginCalling(c *calling, key string, attempt int) {
	c.Call = Call{Operation: g.config.Operation, Key: key, Attempt: attempt}
	if key == "" {
		c.random = rand.Text()
	}
}

// within returns the context of what happens in a call: its function, and the writes
// that it has enlisted.
func (c *calling) within(ctx context.Context) context.Context {
	return journal.Within(ctx, c)
}

// enlisting returns a context in which writes are enlisted with the enlistment that
// is returned, or with none.
func (g *Guard) enlisting(ctx context.Context) (context.Context, *storekit.Enlistment) {
	if g.transactor == nil {
		return storekit.WithEnlistment(ctx, nil), nil
	}
	return storekit.Enlisting(ctx)
}
