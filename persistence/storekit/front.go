package storekit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ikkai-go/idempotency/persistence"
)

// Front is a store in front of another one that passes everything on to it. A store
// that changes what goes through it embeds one and overrides what it changes, and so
// keeps the abilities of the store behind. Where that one lacks an ability, its
// methods fail with an error that wraps [errors.ErrUnsupported].
//
// Safe for concurrent use if the store behind it is, as every store must be.
type Front struct{ behind persistence.Store }

// NewFront returns a front of a store.
func NewFront(behind persistence.Store) Front { return Front{behind} }

var (
	_ persistence.Store        = Front{}
	_ persistence.Reader       = Front{}
	_ Refresher                = Front{}
	_ BatchReader              = Front{}
	_ persistence.Checkpointer = Front{}
	_ persistence.Renewer      = Front{}
	_ Sizer                    = Front{}
	_ Transactor               = Front{}
	_ Literal                  = Front{}
)

// Unwrap returns the store behind: the abilities are its own.
func (f Front) Unwrap() persistence.Store { return f.behind }

// Acquire implements [persistence.Store].
func (f Front) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	return f.behind.Acquire(ctx, c)
}

// Complete implements [persistence.Store].
func (f Front) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return f.behind.Complete(ctx, l, o)
}

// Release implements [persistence.Store].
func (f Front) Release(ctx context.Context, l persistence.Lease) error {
	return f.behind.Release(ctx, l)
}

// Read implements [persistence.Reader].
func (f Front) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	store, ok := f.behind.(persistence.Reader)
	if !ok {
		return persistence.Record{}, false, f.unsupported("reading")
	}
	return store.Read(ctx, key)
}

// Refresh implements [Refresher]. Of a store that remembers nothing it is Read.
func (f Front) Refresh(ctx context.Context, key string) (persistence.Record, bool, error) {
	if store, ok := f.behind.(Refresher); ok {
		return store.Refresh(ctx, key)
	}
	return f.Read(ctx, key)
}

// ReadMany implements [BatchReader].
func (f Front) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	store, ok := f.behind.(BatchReader)
	if !ok {
		return nil, f.unsupported("reading of many")
	}
	return store.ReadMany(ctx, keys)
}

// Checkpoint implements [persistence.Checkpointer].
func (f Front) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	store, ok := f.behind.(persistence.Checkpointer)
	if !ok {
		return f.unsupported("checkpoints")
	}
	return store.Checkpoint(ctx, l, step, output)
}

// Renew implements [persistence.Renewer].
func (f Front) Renew(ctx context.Context, l persistence.Lease) error {
	store, ok := f.behind.(persistence.Renewer)
	if !ok {
		return f.unsupported("renewals")
	}
	return store.Renew(ctx, l)
}

// Room implements [Sizer]. A store that is none has room for everything.
func (f Front) Room(l persistence.Lease) int {
	if store, ok := f.behind.(Sizer); ok {
		return store.Room(l)
	}
	return math.MaxInt
}

// HoldsEnvelopes implements [Literal].
func (f Front) HoldsEnvelopes() bool { return HoldsEnvelopes(f.behind) }

// CompleteWith implements [Transactor].
func (f Front) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []Write) error {
	store, ok := f.behind.(Transactor)
	if !ok {
		return f.unsupported("transactions")
	}
	return store.CompleteWith(ctx, l, o, writes)
}

// CheckpointWith implements [Transactor].
func (f Front) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []Write) error {
	store, ok := f.behind.(Transactor)
	if !ok {
		return f.unsupported("transactions")
	}
	return store.CheckpointWith(ctx, l, step, output, writes)
}

// CompleteAtOnce implements [Transactor].
func (f Front) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []Write) (persistence.Record, error) {
	store, ok := f.behind.(Transactor)
	if !ok {
		return persistence.Record{}, f.unsupported("transactions")
	}
	return store.CompleteAtOnce(ctx, c, o, writes)
}

// Commit implements [Transactor].
func (f Front) Commit(ctx context.Context, writes []Write) error {
	store, ok := f.behind.(Transactor)
	if !ok {
		return f.unsupported("transactions")
	}
	return store.Commit(ctx, writes)
}

func (f Front) unsupported(what string) error {
	return fmt.Errorf("storekit: %T has no %s: %w", f.behind, what, errors.ErrUnsupported)
}
