package idempotent

import (
	"context"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// longestRun bounds what runs without a record and without a deadline: Lambda's longest
// timeout.
const longestRun = 15 * time.Minute

// unprotected runs the function without a record. Its steps run, its writes commit,
// and a failure for good is undone, but nothing is remembered.
func (g *Guard) unprotected(ctx context.Context, b budget, key string, why error, run body) error {
	return g.runUnprotected(ctx, b, key, why, run, new(effect))
}

// failOpen runs the function without a record, because the store did not answer. The
// claim may have been applied all the same, or may yet be: then there is a record after
// all, which must not keep others out, nor let the function run again. So the store is
// asked to settle it. That may fail as well: nobody but the log has to know, and the
// lease bounds it.
//
// Where the guard declares steps the claim is given up, and not completed: it may have
// taken a record over whose steps this run knows nothing of.
func (g *Guard) failOpen(ctx context.Context, b budget, c persistence.Claim, why error, run body) error {
	var left effect
	err := errUnwound
	defer func() { g.settleClaim(ctx, b, c, left, err) }() // also after a panic
	err = g.runUnprotected(ctx, b, c.Key, why, run, &left)
	return err
}

// settleClaim settles the record of a claim whose fate is not known, by what its function
// has left.
func (g *Guard) settleClaim(ctx context.Context, b budget, c persistence.Claim, left effect, err error) {
	settling, cancel := b.settling(ctx)
	defer cancel()
	settling, cancel = context.WithTimeout(settling, giveUpTimeout) // it may be down still
	defer cancel()
	lease, status := c.Fresh().Lease(), persistence.StatusCompleted
	stored, permanent := recordable(err)
	switch {
	case c.Execution != "" && err != nil && !permanent && !left.done && !errors.Is(err, errExecutionFailed):
		return // the execution goes on
	case c.Execution != "":
		lease = g.takeExecution(settling, c)
	}
	switch {
	case g.config.Steps != nil, err != nil && !permanent && !left.done:
		_ = g.store.Release(settling, lease)
		return
	case permanent:
		left, status = effect{result: stored}, persistence.StatusFailed
	case err != nil: // what came after the function must not make it run again
		left.omit = err
	}
	outcome := g.outcome(status, left, wallClock())
	if errors.Is(g.store.Complete(settling, lease, outcome), persistence.ErrTooLarge) {
		outcome.ResultOmitted = true
		_ = g.store.Complete(settling, lease, outcome)
	}
}

// takeExecution returns the lease of a claim of an execution that is over. The record is that of
// an invocation before, most likely, and nobody but this one will ever settle it.
func (g *Guard) takeExecution(ctx context.Context, c persistence.Claim) persistence.Lease {
	c.Now = wallClock()
	if r, err := g.store.Acquire(ctx, c); err == nil && owns(c, r) {
		return r.Lease()
	}
	return c.Fresh().Lease()
}

// runUnprotected runs the function, waits for its steps, and settles what it leaves.
func (g *Guard) runUnprotected(ctx context.Context, b budget, key string, why error, run body, left *effect) error {
	// Guards that are switched off pass everything on, but for what has to be answered in
	// time together with others.
	if !g.Off() || g.shared != nil {
		if err := b.late(ctx, key); err != nil {
			return err
		}
	}
	g.report(ctx, Event{Kind: EventUnprotected, Key: key, Err: why})
	c := g.newCalling(key, 0)
	c.Unrecorded = true
	steps := g.openUnrecorded(b, c)
	enlisted, err := g.runWithout(ctx, b, c, steps, run, left)
	if err == nil && !steps.Backward() {
		err = g.commitUnprotected(c.within(ctx), b, key, enlisted.Close())
	}
	return steps.Settle(ctx, err)
}

func (g *Guard) runWithout(ctx context.Context, b budget, c *calling, steps journal.Journal, run body, left *effect) (*storekit.Enlistment, error) {
	inner, enlisted := g.enlisting(c.within(ctx))
	inner, end := steps.Begin(inner, enlisted)
	defer end()
	if !b.runUntil.IsZero() {
		var cancel context.CancelFunc
		inner, cancel = context.WithDeadline(inner, b.runUntil)
		defer cancel()
	}
	defer enlisted.Close()
	started := time.Now()
	err := g.during(inner, Event{Kind: EventRun, Key: c.Key}, func(ctx context.Context) error {
		return origin.PassOn(run(ctx, left), c.Key)
	})
	g.shared.took(time.Since(started))
	return enlisted, err
}

func (g *Guard) commitUnprotected(ctx context.Context, b budget, key string, writes []storekit.Write) error {
	if len(writes) == 0 {
		return nil
	}
	settling, cancel := b.settling(ctx)
	defer cancel()
	err := g.transactor.Commit(settling, writes)
	if err == nil || journal.Unwritten(err) {
		return uncommitted(key, err, DoneMaybe)
	}
	failed := notCompleted(key, nil, err)
	failed.told = Verdict{Done: DoneMaybe, Code: CodeNotStored} // nothing would recognise it
	return failed
}
