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
	err := g.runUnprotected(ctx, c, run)
	return c.journal.settle(ctx, err)
}

func (g *Guard) runUnprotected(ctx context.Context, c *calling, run body) error {
	defer c.journal.close()
	inner, enlisted := g.withCall(ctx, c)
	if err := run(inner, new(effect)); err != nil {
		return err
	}
	writes := enlisted.Close()
	if len(writes) == 0 {
		return nil
	}
	settling, cancel := g.settling(ctx)
	defer cancel()
	err := g.transactor.Commit(settling, writes)
	if err != nil && !refused(err) {
		return &StoreError{Op: "complete", Executed: true, Retryable: persistence.Retryable(err), Err: err}
	}
	return reason(err)
}
