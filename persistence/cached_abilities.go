package persistence

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// What follows is there only where the store behind the cache has it. Otherwise it
// fails with an error that wraps [errors.ErrUnsupported].
var (
	_ Checkpointer = (*Cached)(nil)
	_ Sizer        = (*Cached)(nil)
	_ Transactor   = (*Cached)(nil)
)

// Unwrap returns the store behind the cache. A cache has no abilities of its own:
// whether there are checkpoints and transactions depends on that store.
func (c *Cached) Unwrap() Store { return c.store }

// Checkpoint implements [Checkpointer].
func (c *Cached) Checkpoint(ctx context.Context, l Lease, step string, output []byte) error {
	store, ok := c.store.(Checkpointer)
	if !ok {
		return c.unsupported("checkpoints")
	}
	return store.Checkpoint(ctx, l, step, output)
}

// Room implements [Sizer]. A store that is none has room for everything.
func (c *Cached) Room(l Lease) int {
	if store, ok := c.store.(Sizer); ok {
		return store.Room(l)
	}
	return math.MaxInt
}

// CompleteWith implements [Transactor].
func (c *Cached) CompleteWith(ctx context.Context, l Lease, o Outcome, writes []Write) error {
	store, ok := c.store.(Transactor)
	if !ok {
		return c.unsupported("transactions")
	}
	return c.complete(l, o, func() error { return store.CompleteWith(ctx, l, o, writes) })
}

// CheckpointWith implements [Transactor].
func (c *Cached) CheckpointWith(ctx context.Context, l Lease, step string, output []byte, writes []Write) error {
	store, ok := c.store.(Transactor)
	if !ok {
		return c.unsupported("transactions")
	}
	return store.CheckpointWith(ctx, l, step, output, writes)
}

// CompleteAtOnce implements [Transactor].
func (c *Cached) CompleteAtOnce(ctx context.Context, claim Claim, o Outcome, writes []Write) (Record, error) {
	store, ok := c.store.(Transactor)
	if !ok {
		return Record{}, c.unsupported("transactions")
	}
	if r, hit := c.recall(claim.Key); hit && !r.Expired(claim.Now) {
		return r, nil
	}
	r, err := store.CompleteAtOnce(ctx, claim, o, writes)
	if err == nil {
		c.remember(r)
	}
	return r, err
}

// Commit implements [Transactor].
func (c *Cached) Commit(ctx context.Context, writes []Write) error {
	store, ok := c.store.(Transactor)
	if !ok {
		return c.unsupported("transactions")
	}
	return store.Commit(ctx, writes)
}

func (c *Cached) unsupported(what string) error {
	return fmt.Errorf("persistence: %T has no %s: %w", c.store, what, errors.ErrUnsupported)
}
