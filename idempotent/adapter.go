package idempotent

import (
	"context"
	"time"
)

// Keeping returns a guard of the same operation whose outcomes are replayed for at
// least so long: g itself, if its TTL is no shorter. For adapters that know for how long
// their source may send a request again.
func (g *Guard) Keeping(least time.Duration) *Guard {
	if g.config.TTL >= least {
		return g
	}
	longer := *g
	longer.config.TTL = least
	return &longer
}

// Report tells the guard's observers and its logger of something that has happened to a
// request outside of a call. For adapters.
func (g *Guard) Report(ctx context.Context, e Event) { g.report(ctx, e) }

// Late returns the *NotStartedError that a call of a [Guard.Batch] would end with now,
// because it is too late to start a function; nil where there is time, or no batch. For
// adapters, which have to do things before they call.
func (g *Guard) Late(ctx context.Context) error {
	if ofBatch(ctx) == nil {
		return nil
	}
	return g.newBudget(ctx).late(ctx, "")
}
