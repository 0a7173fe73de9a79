package idempotent

import (
	"context"
	"time"
)

// The parts of calls that Config.Trace is told of. They lie in each other: a batch has
// calls, a call has requests to the store and a run, a run has steps. They are no events
// of Config.Observe, and are not logged.
const (
	// EventBatch is many calls that are answered for together: an event with many records,
	// or a start of a batch (package batch). Its Err is that of the first record that is not done.
	EventBatch EventKind = "batch"
	// EventCall is a guarded call as a whole. Its Err is the caller's.
	EventCall EventKind = "call"
	// EventRun is the guarded function itself, with a record or without. Its Err is the
	// function's own.
	EventRun EventKind = "run"
	// EventStep is a step that the function has come to, whether it runs or its output is
	// there already.
	EventStep EventKind = "step"
	// EventCompensation is a step's compensation.
	EventCompensation EventKind = "compensation"
	// EventRequest is a call of the store, all its retries included; Event.Request says
	// which. Its Err is the store's.
	EventRequest EventKind = "request"
)

// Begin says that a part begins, and returns the context in which it goes on, and a
// function to be called when it has ended: once, also after a panic. Operation is filled
// in. For adapters that answer for many calls together ([EventBatch]); the parts of calls
// are begun by the guard.
func (g *Guard) Begin(ctx context.Context, e Event) (context.Context, func(error)) {
	ctx = entering(ctx)
	if g.config.Trace == nil {
		return ctx, func(error) {}
	}
	inner, end := g.begin(ctx, e)
	return inner, func(err error) { end(err, 0) }
}

func (g *Guard) begin(ctx context.Context, e Event) (context.Context, func(err error, units float64)) {
	e.Operation = g.config.Operation
	started := time.Now()
	inner, end := g.config.Trace(ctx, e)
	if inner == nil {
		inner = ctx
	}
	return inner, func(err error, units float64) {
		if end != nil {
			e.Err, e.Elapsed, e.Units = err, time.Since(started), units
			end(e)
		}
	}
}

// during runs a part, whose end is told on every way out of it.
func (g *Guard) during(ctx context.Context, e Event, part func(context.Context) error) (err error) {
	if g.config.Trace == nil {
		return part(ctx)
	}
	ctx, end := g.begin(ctx, e)
	err = errUnwound
	defer func() { end(err, 0) }()
	return part(ctx)
}
