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
	b := budget{storeTimeout: g.config.StoreTimeout}
	if shared := ofBatch(ctx); shared != nil {
		b = *shared
		b.storeTimeout = g.config.StoreTimeout
		return b.startingBy(ctx)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return b.startingBy(ctx)
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
	return b.startingBy(ctx)
}

// startingBy keeps to what the context says of when to start.
func (b budget) startingBy(ctx context.Context) budget {
	by := startBy(ctx)
	if !by.IsZero() && (b.startBy.IsZero() || by.Before(b.startBy)) {
		b.startBy = by
	}
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
func (b budget) late(ctx context.Context, key string) error {
	err := ctx.Err()
	if err == nil && !b.startBy.IsZero() && wallClock().After(b.startBy) {
		err = context.DeadlineExceeded
	}
	if err == nil {
		return nil
	}
	return &NotStartedError{Key: key, Err: err}
}

type (
	startByKey struct{}
	batchKey   struct{}
)

// StartBy returns a context in which guarded calls start their functions at that time
// at the latest, or not at all: those that would be later end with *NotStartedError, and leave no
// record behind. It is for adapters that run many calls in the time of one, and have to
// answer for all of them; of several times the earliest counts. A guarded function's own calls are not bound by it.
func StartBy(ctx context.Context, by time.Time) context.Context {
	if earliest := startBy(ctx); !earliest.IsZero() {
		by = earlier(by, earliest)
	}
	return context.WithValue(ctx, startByKey{}, by)
}

// Batch returns a context for the calls of one batch, for which the time until its
// deadline is divided once: what is kept for recording and answering ([Config.Reserve])
// does not shrink with the time that is left. Their functions are started only with least
// ahead of them until their contexts end, or, where least is 0, with as much as is kept;
// but any is that starts in the first half of the time. Calls that would be later end
// with *NotStartedError, and leave no record behind.
//
// It is for adapters that run many calls in the time of one, and have to answer for all
// of them. A guarded function's own calls are not bound by it.
func (g *Guard) Batch(ctx context.Context, least time.Duration) context.Context {
	b := g.newBudget(ctx)
	if b.deadline.IsZero() {
		return ctx
	}
	if least <= 0 {
		least = b.deadline.Sub(b.runUntil)
	}
	half := b.deadline.Add(-max(b.deadline.Sub(wallClock()), 0) / 2)
	b.startBy = later(b.runUntil.Add(-least), earlier(half, b.runUntil))
	return context.WithValue(ctx, batchKey{}, &b)
}

func startBy(ctx context.Context) time.Time {
	by, _ := ctx.Value(startByKey{}).(time.Time)
	return by
}

// ofBatch returns the budget of the batch that a call belongs to; nil where it belongs to
// none.
func ofBatch(ctx context.Context) *budget {
	b, _ := ctx.Value(batchKey{}).(*budget)
	return b
}
