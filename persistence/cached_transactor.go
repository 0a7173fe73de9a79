package persistence

import "context"

// CompleteWith implements [Transactor].
func (c *Cached) CompleteWith(ctx context.Context, l Lease, o Outcome, writes []Write) error {
	return c.complete(l, o, func() error { return c.Front.CompleteWith(ctx, l, o, writes) })
}

// CompleteAtOnce implements [Transactor].
func (c *Cached) CompleteAtOnce(ctx context.Context, claim Claim, o Outcome, writes []Write) (Record, error) {
	if r, hit := c.recall(claim.Key); hit && !r.Expired(claim.Now) {
		return r, nil
	}
	r, err := c.Front.CompleteAtOnce(ctx, claim, o, writes)
	if err == nil {
		c.remember(r)
	}
	return r, err
}
