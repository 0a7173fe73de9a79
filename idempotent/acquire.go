package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// giveUpTimeout bounds the attempt to give a claim up: its caller is waiting to
// hear that the store has failed.
const giveUpTimeout = time.Second

// acquisition is how acquiring ended.
type acquisition struct {
	record persistence.Record
	// waited is for how long, if the call had to wait.
	waited time.Duration
	// failsOpen says that the record could not be acquired and the function is to
	// run all the same.
	failsOpen bool
}

func (a acquisition) reportWait(ctx context.Context, g *Guard) {
	if a.waited > 0 {
		g.report(ctx, Event{Kind: Waited, Key: a.record.Key, Attempt: a.record.Attempt, Elapsed: a.waited})
	}
}

// acquire claims the record until it is the caller's, or finished, or the caller
// has waited long enough. What comes back without an error is either owned or a
// finished record of the same payload.
func (g *Guard) acquire(ctx context.Context, c *persistence.Claim) (acquisition, error) {
	for wait := g.newWait(ctx); ; {
		if err := g.date(ctx, c); err != nil {
			return acquisition{}, err
		}
		record, err := g.meet(ctx, *c, wait.polling())
		if err != nil {
			// A call that has seen a run under way never runs beside it.
			return acquisition{failsOpen: !wait.polling() && g.failsOpen(ctx, err)}, err
		}
		got := acquisition{record: record, waited: wait.elapsed()}
		err = refusal(*c, record)
		switch {
		case err == nil:
			return got, nil
		case errors.Is(err, ErrInProgress) && wait.next(ctx):
			continue
		}
		got.waited = wait.elapsed()
		got.reportWait(ctx, g)
		g.report(ctx, Event{Kind: kindOf(err), Key: c.Key, Attempt: record.Attempt, Err: err})
		return got, err
	}
}

// date reads the clock, once, and fixes lease and expiry by it.
func (g *Guard) date(ctx context.Context, c *persistence.Claim) error {
	if err := ctx.Err(); err != nil {
		return &NotStartedError{Key: c.Key, Err: err}
	}
	now := wallClock()
	end := now.Add(g.config.Lease)
	if deadline, ok := ctx.Deadline(); ok {
		if !deadline.After(now) {
			return &NotStartedError{Key: c.Key, Err: context.DeadlineExceeded}
		}
		end = deadline.Add(g.config.ClockSkew)
	}
	if least := now.Add(g.config.MinLease); end.Before(least) {
		end = least
	}
	c.Now = now
	c.ExpiresAt = g.expiry(now)
	c.LeaseUntil = earlier(ceil(end, time.Millisecond), c.ExpiresAt)
	return nil
}

// meet finds out who holds the record, by claiming it or, where that may save a
// write, by looking first. A look that fails decides nothing: the claim does.
func (g *Guard) meet(ctx context.Context, c persistence.Claim, polling bool) (persistence.Record, error) {
	asking, cancel := g.asking(ctx, ctx)
	defer cancel()
	if g.reader != nil && (g.config.ReadFirst || polling) {
		record, settled := g.look(asking, c)
		if settled || polling && record.LeaseLive(c.Now) {
			return record, nil
		}
	}
	record, err := g.store.Acquire(asking, c)
	if err != nil {
		return record, g.notAcquired(ctx, c, err)
	}
	return record, nil
}

// look reads the record of a claim, and tells whether it is finished. What it finds is
// empty where there is none, or where it can't be read. One that has expired may only
// be what a cache remembers, and have been replaced since.
func (g *Guard) look(ctx context.Context, c persistence.Claim) (record persistence.Record, finished bool) {
	looking, cancel := g.asking(ctx, ctx) // half of the time, so that a claim has some left
	defer cancel()
	record, found, err := g.reader.Read(looking, c.Key)
	if cache, ok := g.reader.(persistence.Refresher); ok && err == nil && found && record.Expired(c.Now) {
		record, found, err = cache.Refresh(looking, c.Key)
	}
	if err != nil || !found {
		return persistence.Record{}, false
	}
	return record, record.Status.Finished() && !record.Expired(c.Now)
}

// notAcquired gives up a claim whose fate is not known. If it was applied and
// only the reply is lost, nobody but this caller knows the owner, and its own
// retry would be locked out until the lease is over. Even a refusal may follow a
// try that was applied.
func (g *Guard) notAcquired(ctx context.Context, c persistence.Claim, err error) error {
	failed := &StoreError{Op: "acquire", Key: c.Key, Retryable: persistence.Retryable(err), Err: err}
	if g.config.OnStoreFault == FailClosed && !errors.Is(err, persistence.ErrInvalid) && !errors.Is(err, persistence.ErrUnreadable) {
		giving, cancel := g.asking(context.WithoutCancel(ctx), ctx)
		defer cancel()
		giving, cancel = context.WithTimeout(giving, giveUpTimeout)
		defer cancel()
		_ = g.store.Release(giving, c.Fresh().Lease()) // most likely there is nothing to release
	}
	g.report(ctx, Event{Kind: StoreFailed, Key: c.Key, Err: failed})
	return failed
}

// asking is the context of a request to the store that comes before the function.
// While the call has a deadline ahead, the store gets no more than half of the time
// until then: the rest is for running, or for saying that the store has failed.
func (g *Guard) asking(parent, call context.Context) (context.Context, context.CancelFunc) {
	now := wallClock()
	limit := now.Add(g.config.StoreTimeout)
	if deadline, ok := call.Deadline(); ok && deadline.After(now) {
		limit = earlier(limit, now.Add(deadline.Sub(now)/2))
	}
	return context.WithDeadline(parent, limit)
}

// failsOpen tells whether the function may run although its record could not be
// acquired: by choice, with time left, and not where the store did answer.
func (g *Guard) failsOpen(ctx context.Context, err error) bool {
	return g.config.OnStoreFault == FailOpen &&
		!errors.Is(err, persistence.ErrUnreadable) &&
		!errors.Is(err, persistence.ErrInvalid) &&
		ctx.Err() == nil
}
