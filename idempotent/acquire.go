package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
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
		g.report(ctx, Event{Kind: EventWaited, Key: a.record.Key, Attempt: a.record.Attempt, Elapsed: a.waited})
	}
}

// acquire claims the record until it is the caller's, or finished, or the caller
// has waited long enough. What comes back without an error is either owned or a
// finished record of the same payload.
func (g *Guard) acquire(ctx context.Context, b budget, c *persistence.Claim, of *execution) (acquisition, error) {
	g.lookAhead(ctx, b)
	for wait := g.newWait(ctx); ; {
		if err := g.date(ctx, b, c); err != nil {
			return acquisition{}, err
		}
		if of != nil {
			c.LeaseUntil = later(c.LeaseUntil, of.leaseEnd(c.Now, g.config.ExecutionTimeout))
			c.ExpiresAt = ceil(c.LeaseUntil.Add(g.config.TTL), time.Second) // one that ended unseen is not forgotten at once
		}
		record, err := g.meet(ctx, b, *c, wait.polling())
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
func (g *Guard) date(ctx context.Context, b budget, c *persistence.Claim) error {
	if err := b.late(ctx, c.Key); err != nil {
		return err
	}
	c.Now = wallClock()
	c.Run.StartedAt = c.Now
	c.ExpiresAt = g.expiry(c.Now)
	c.LeaseUntil = earlier(g.leaseEnd(c.Now, b), c.ExpiresAt)
	return nil
}

// meet finds out who holds the record, by claiming it or, where that may save a
// write, by looking first. A look that fails decides nothing: the claim does.
func (g *Guard) meet(ctx context.Context, b budget, c persistence.Claim, polling bool) (persistence.Record, error) {
	record, finished, looked := g.foundAhead(c)
	if finished {
		return record, nil
	}
	asking, cancel := b.asking(ctx)
	defer cancel()
	if g.reader != nil && (g.config.ReadFirst && !looked || polling) {
		record, settled := g.look(asking, b, c)
		if settled || polling && record.LeaseLive(c.Now) && c.Judge(record) == persistence.Held {
			return record, nil
		}
	}
	record, err := g.store.Acquire(asking, c)
	if err != nil {
		return record, g.notAcquired(ctx, b, c, err)
	}
	g.claimed(c, record)
	return record, nil
}

// look reads the record of a claim, and tells whether it is finished. What it finds is
// empty where there is none, or where it can't be read. One that has expired may only
// be what a cache remembers, and have been replaced since.
func (g *Guard) look(ctx context.Context, b budget, c persistence.Claim) (record persistence.Record, finished bool) {
	asking, cancel := b.asking(ctx)
	defer cancel()
	looking, cancel := firstHalf(asking) // so that a claim has some time left
	defer cancel()
	record, found, err := g.reader.Read(looking, c.Key)
	if cache, ok := g.reader.(storekit.Refresher); ok && err == nil && found && record.Expired(c.Now) {
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
// try that was applied, unless the store knows that none was.
func (g *Guard) notAcquired(ctx context.Context, b budget, c persistence.Claim, err error) error {
	failed := &StoreError{Op: "acquire", Key: c.Key, Retryable: persistence.Retryable(err), Err: err}
	fault, _ := errors.AsType[*persistence.Fault](err)
	unwritten := fault != nil && fault.Unwritten
	if unwritten {
		// Most likely it was asked too much. Callers that were turned away together are not
		// to come back together.
		failed.after = askAgain + jitter(2*askAgain)
	}
	// The next invocation of an execution takes over what this one may have left.
	if !g.config.FailOpen && c.Execution == "" && !unwritten && !errors.Is(err, persistence.ErrInvalid) && !errors.Is(err, persistence.ErrUnreadable) {
		giving, cancel := b.asking(context.WithoutCancel(ctx))
		defer cancel()
		giving, cancel = context.WithTimeout(giving, giveUpTimeout)
		defer cancel()
		_ = g.store.Release(giving, c.Fresh().Lease()) // most likely there is nothing to release
	}
	g.report(ctx, Event{Kind: EventStoreFailed, Key: c.Key, Err: failed})
	return failed
}

// failsOpen tells whether the function may run although its record could not be
// acquired: by choice, with time left, and not where the store did answer.
func (g *Guard) failsOpen(ctx context.Context, err error) bool {
	return g.config.FailOpen &&
		!errors.Is(err, persistence.ErrUnreadable) &&
		!errors.Is(err, persistence.ErrInvalid) &&
		ctx.Err() == nil
}

func owns(c persistence.Claim, r persistence.Record) bool {
	return r.Owner == c.Owner && r.Status == persistence.StatusProcessing
}

// refusal says why the holder of a record keeps this claim from going on; nil
// where the claim owns the record or may replay it.
func refusal(c persistence.Claim, r persistence.Record) error {
	switch {
	case r.Mismatches(c.Fingerprint):
		return &MismatchError{Key: c.Key, Record: r}
	case r.Status.Finished(), owns(c, r):
		return nil
	case r.Status == persistence.StatusProcessing && !r.LeaseLive(c.Now) && c.RefuseUnknown:
		return &OutcomeUnknownError{Key: c.Key, LeaseUntil: r.LeaseUntil}
	default:
		return &InProgressError{Key: c.Key, LeaseUntil: r.LeaseUntil, RetryAfter: retryAfter(c, r)}
	}
}

func kindOf(refusal error) EventKind {
	switch {
	case errors.Is(refusal, ErrMismatch):
		return EventMismatch
	case errors.Is(refusal, ErrOutcomeUnknown):
		return EventStuck
	default:
		return EventInProgress
	}
}
