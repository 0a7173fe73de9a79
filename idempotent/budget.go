package idempotent

import (
	"context"
	"time"
)

// budget is the time of one call, divided once, when the call begins: asking the store,
// running the function, recording what came of it, and answering. Everything that is
// given a context or a time limit gets it from here. Lambda kills a function that has
// not answered at its deadline: what is not recorded by then runs again, and what is
// not answered was not said.
type budget struct {
	storeTimeout time.Duration
	// deadline is that of the caller's context; zero where there is none, and then
	// there are no other limits either.
	deadline time.Time
	// startBy is when the function has to be started, if at all.
	startBy time.Time
	// runUntil is when the function's context ends.
	runUntil time.Time
	// settleUntil is when the outcome has to be recorded, so that what is known can
	// still be answered.
	settleUntil time.Time
}

// How the time that is left is divided where Config.Reserve does not say. A second is
// what a write takes that is sent again two or three times; a tenth, because a function
// with a timeout of a few seconds wants to run.
const (
	defaultReserve  = time.Second
	reserveFraction = 10
	// answerFraction is the part of the reserve that is kept for answering.
	answerFraction = 5
)

// newBudget divides the time of a call.
func (g *Guard) newBudget(ctx context.Context) budget {
	if g.shared != nil {
		return g.shared.budget()
	}
	b := budget{storeTimeout: g.config.StoreTimeout}
	deadline, ok := ctx.Deadline()
	if !ok {
		return b
	}
	left := max(deadline.Sub(wallClock()), 0)
	reserve := min(defaultReserve, left/reserveFraction)
	if g.config.Reserve > 0 {
		reserve = min(g.config.Reserve, left/2)
	}
	b.deadline = deadline
	b.runUntil = deadline.Add(-reserve)
	b.settleUntil = deadline.Add(-reserve / answerFraction)
	b.startBy = b.runUntil
	return b
}

// asking is the context of a request to the store that comes before the function. The
// store gets no more than half of the time that is left: the rest is for running, or
// for saying that the store has failed.
func (b budget) asking(ctx context.Context) (context.Context, context.CancelFunc) {
	now := wallClock()
	limit := now.Add(b.storeTimeout)
	if b.settleUntil.After(now) {
		limit = earlier(limit, now.Add(b.settleUntil.Sub(now)/2))
	}
	return context.WithDeadline(ctx, limit)
}

// firstHalf is a context with half of the time that ctx has.
func firstHalf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	now := wallClock()
	return context.WithDeadline(ctx, now.Add(deadline.Sub(now)/2))
}

// running is the context of the function, as far as its call's time goes.
func (b budget) running(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.runUntil.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, b.runUntil)
}

// settling is the context of the writes that settle a record. The function's own may
// be over by then; the record must be settled all the same, and before the call's time
// is over. A function that has used nearly all of it, and more, leaves half of what there
// is. Outside of Lambda a process outlives its deadline: then the store has its usual time.
func (b budget) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	now := wallClock()
	limit := now.Add(b.storeTimeout)
	if left := b.deadline.Sub(now); left > 0 {
		limit = earlier(limit, later(b.settleUntil, now.Add(left/2)))
	}
	return context.WithDeadline(context.WithoutCancel(ctx), limit)
}

// late says that it is too late to start the function, if it is. The clock is read each
// time: an environment may have been frozen, and a frozen context's timer need not have
// fired yet.
func (b budget) late(ctx context.Context, key string) error { return b.lateAt(ctx, wallClock(), key) }

func (b budget) lateAt(ctx context.Context, at time.Time, key string) error {
	err := ctx.Err()
	if err == nil && !b.startBy.IsZero() && at.After(b.startBy) {
		err = context.DeadlineExceeded
	}
	if err == nil {
		return nil
	}
	return &NotStartedError{Key: key, Err: err}
}
