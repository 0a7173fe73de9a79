package cached

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// CompleteWith implements [storekit.Transactor].
func (c *Store) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	return c.complete(l, o, func() error { return c.Front.CompleteWith(ctx, l, o, writes) })
}

// CompleteAtOnce implements [storekit.Transactor].
func (c *Store) CompleteAtOnce(ctx context.Context, claim persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	if r, hit := c.recall(claim.Key); hit && !r.Expired(claim.Now) {
		return r, nil
	}
	r, err := c.Front.CompleteAtOnce(ctx, claim, o, writes)
	if err == nil {
		c.remember(r)
	}
	return r, err
}
