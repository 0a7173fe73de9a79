package idempotent

import (
	"context"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// longestRun bounds what runs without a record and without a deadline: Lambda's longest
// timeout.
const longestRun = 15 * time.Minute

// unprotected runs the function without a record. Its steps run, its writes commit,
// and a failure for good is undone, but nothing is remembered.
func (g *Guard) unprotected(ctx context.Context, b budget, key string, why error, run body) error {
	_, err := g.runUnprotected(ctx, b, key, why, run)
	return err
}

// failOpen runs the function without a record, because the store did not answer. The
// claim may have been applied all the same, or may yet be: then there is a record after
// all, which must not keep others out, nor let the function run again. So the store is
// asked to settle it. That may fail as well: nobody but the log has to know, and the
// lease bounds it.
func (g *Guard) failOpen(ctx context.Context, b budget, c persistence.Claim, why error, run body) error {
	settle := func(left effect, err error) {
		settling, cancel := b.settling(ctx)
		defer cancel()
		settling, cancel = context.WithTimeout(settling, giveUpTimeout) // it may be down still
		defer cancel()
		lease := c.Fresh().Lease()
		stored, permanent := recordable(err)
		switch {
		case err == nil:
			_ = g.store.Complete(settling, lease, g.outcome(persistence.StatusCompleted, left, wallClock()))
		case permanent:
			_ = g.store.Complete(settling, lease, g.outcome(persistence.StatusFailed, effect{result: stored}, wallClock()))
		default:
			_ = g.store.Release(settling, lease)
		}
	}
	left, err := effect{}, error(errUnwound)
	defer func() { settle(left, err) }() // also after a panic
	left, err = g.runUnprotected(ctx, b, c.Key, why, run)
	return err
}

// runUnprotected runs the function, waits for its steps, and settles what it leaves.
func (g *Guard) runUnprotected(ctx context.Context, b budget, key string, why error, run body) (left effect, err error) {
	if ofBatch(ctx) != nil { // which has to be answered in time also where nothing is recorded
		if err := b.late(ctx, key); err != nil {
			return effect{}, err
		}
	}
	g.report(ctx, Event{Kind: EventUnprotected, Key: key, Err: why})
	c := g.newCalling(key, 0, g.unrecordedJournal(key, b))
	c.Unrecorded = true
	enlisted, left, err := g.runWithout(ctx, b, c, run)
	if err == nil && !c.journal.backward() {
		err = g.commitUnprotected(c.within(ctx), b, key, enlisted.Close())
	}
	return left, c.journal.settle(ctx, err)
}

func (g *Guard) runWithout(ctx context.Context, b budget, c *calling, run body) (*persistence.Enlistment, effect, error) {
	defer c.journal.close()
	inner, cancel := c.within(ctx), context.CancelFunc(func() {})
	if b.runUntil.IsZero() {
		inner, cancel = context.WithCancel(inner)
	} else {
		inner, cancel = context.WithDeadline(inner, b.runUntil)
	}
	defer cancel()
	inner, enlisted := g.enlisting(inner)
	if c.journal != nil {
		c.journal.enlisted = enlisted
	}
	defer enlisted.Close()
	var left effect
	err := run(inner, &left)
	ofFunction(err, c.Key)
	return enlisted, left, err
}

func (g *Guard) commitUnprotected(ctx context.Context, b budget, key string, writes []persistence.Write) error {
	if len(writes) == 0 {
		return nil
	}
	settling, cancel := b.settling(ctx)
	defer cancel()
	err := g.transactor.Commit(settling, writes)
	if err == nil || unwritten(err) {
		return uncommitted(key, err, DoneMaybe)
	}
	failed := notCompleted(key, nil, err)
	failed.told = Verdict{Done: DoneMaybe, Code: CodeNotStored} // nothing would recognise it
	return failed
}
