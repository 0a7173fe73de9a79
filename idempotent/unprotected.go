package idempotent

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// unprotected runs the function without a record. Its steps run, its writes commit,
// and a failure for good is undone, but nothing is remembered.
func (g *Guard) unprotected(ctx context.Context, key string, why error, run body) error {
	g.report(ctx, Event{Kind: Unprotected, Key: key, Err: why})
	c := &calling{journal: g.unrecordedJournal(key)}
	enlisted, err := g.runUnprotected(ctx, c, run)
	if err == nil && !c.journal.backward() {
		err = g.commitUnprotected(ctx, enlisted.Close())
	}
	return c.journal.settle(ctx, err)
}

// runUnprotected runs the function, and waits for its steps.
func (g *Guard) runUnprotected(ctx context.Context, c *calling, run body) (*persistence.Enlistment, error) {
	defer c.journal.close()
	if c.journal != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
	}
	inner, enlisted := g.withCall(ctx, c)
	defer enlisted.Close()
	return enlisted, run(inner, new(effect))
}

func (g *Guard) commitUnprotected(ctx context.Context, writes []persistence.Write) error {
	if len(writes) == 0 {
		return nil
	}
	settling, cancel := g.settling(ctx)
	defer cancel()
	err := g.transactor.Commit(settling, writes)
	if err == nil || unwritten(err) {
		return uncommitted("", err)
	}
	return notCompleted("", nil, err)
}
