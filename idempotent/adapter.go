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

// Observing returns a guard of the same operation that tells observe of the events of its
// calls, on the goroutine of the call and after Config.Observe. What happens while the
// function runs is not among them: its steps, renewals, and what it calls in turn.
//
// It is for adapters: the function's own error comes out unchanged, and only the
// events tell what became of its record. A permanent failure is recorded if the last
// event is EventExecuted or EventReplayed.
func (g *Guard) Observing(observe func(context.Context, Event)) *Guard {
	observed := *g
	if before := g.observe; before != nil {
		after := observe
		observe = func(ctx context.Context, e Event) {
			before(ctx, e)
			after(ctx, e)
		}
	}
	observed.observe = observe
	return &observed
}

// KeepingEvent returns a guard of the same operation for calls of one event, which
// [Config].KeepEvent keeps in their record. The bytes are what the function has to be invoked
// with so that it goes on with this request, under the same key; nil keeps nothing. It is asked for
// each call, once, and only where events are kept; otherwise g itself is returned.
//
// It is for adapters that identify requests by other means than the event as it came.
func (g *Guard) KeepingEvent(event func() []byte) *Guard {
	if !g.config.KeepEvent {
		return g
	}
	keeping := *g
	keeping.event = event
	return &keeping
}

// Batch returns a guard of the same operation for the calls of one batch, for which the
// time until the context's deadline is divided once: what is kept for recording and
// answering ([Config].Reserve) does not shrink with the time that is left.
//
// Slowest is about how long the slowest call takes. A function is started only with so
// much time ahead of it until its context ends; but any is that starts in the first half of
// the time. Where slowest is 0, that is twice what the slowest of the batch has taken so
// far, and at least as much as is kept. Calls that would be later end with
// *NotStartedError, and leave no record behind.
//
// It is for adapters that run many calls in the time of one, and have to answer for all
// of them. Without a deadline g itself is returned.
func (g *Guard) Batch(ctx context.Context, slowest time.Duration) *Guard {
	shared := g.shareTime(ctx, slowest)
	if shared == nil {
		return g
	}
	sharing := *g
	sharing.shared = shared
	return &sharing
}

// Late returns the *NotStartedError that a call would end with that begins at that time,
// because it is too late to start a function; nil where there is time. For adapters, which
// have to do things before they call.
func (g *Guard) Late(ctx context.Context, at time.Time) error {
	return g.newBudget(ctx).lateAt(ctx, at.Round(0), "")
}

// Report tells the guard's observers and its logger of something that has happened to a
// request outside of a call. For adapters.
func (g *Guard) Report(ctx context.Context, e Event) { g.report(ctx, e) }

// Off tells whether the environment switches guards off at this moment. For adapters: what
// they refuse before a guard is asked would have to pass as well.
func (g *Guard) Off() bool {
	_, off := disabled()
	return off
}
