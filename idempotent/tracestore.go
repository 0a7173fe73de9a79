package idempotent

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// tracedStore tells Config.Trace of each request to the store. It has all abilities; the
// guard uses those that the store has.
type tracedStore struct {
	guard        *Guard
	store        persistence.Store
	reader       persistence.Reader
	many         storekit.BatchReader
	checkpointer persistence.Checkpointer
	transactor   storekit.Transactor
	renewer      persistence.Renewer
}

// traced makes a guard tell of its requests to the store, if anybody wants to know.
func (g *Guard) traced() {
	if g.config.Trace == nil {
		return
	}
	traced := &tracedStore{g, g.store, g.reader, g.many, g.checkpointer, g.transactor, g.renewer}
	g.store = traced
	if cache, remembers := g.reader.(storekit.Refresher); remembers {
		g.reader = &tracedCache{traced, cache}
	} else if g.reader != nil {
		g.reader = traced
	}
	if g.many != nil {
		g.many = traced
	}
	if g.checkpointer != nil {
		g.checkpointer = traced
	}
	if g.transactor != nil {
		g.transactor = traced
	}
	if g.renewer != nil {
		g.renewer = traced
	}
}

func (s *tracedStore) request(ctx context.Context, name, key string, send func(context.Context) error) (err error) {
	ctx, end := s.guard.begin(ctx, Event{Kind: EventRequest, Request: name, Key: key})
	ctx, units := storekit.CountUnits(ctx)
	err = errUnwound
	defer func() { end(err, units.Total()) }()
	return send(ctx)
}

// Acquire implements [persistence.Store].
func (s *tracedStore) Acquire(ctx context.Context, c persistence.Claim) (r persistence.Record, err error) {
	err = s.request(ctx, "acquire", c.Key, func(ctx context.Context) error {
		r, err = s.store.Acquire(ctx, c)
		return err
	})
	return r, err
}

// Complete implements [persistence.Store].
func (s *tracedStore) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return s.request(ctx, "complete", l.Key, func(ctx context.Context) error { return s.store.Complete(ctx, l, o) })
}

// Release implements [persistence.Store].
func (s *tracedStore) Release(ctx context.Context, l persistence.Lease) error {
	return s.request(ctx, "release", l.Key, func(ctx context.Context) error { return s.store.Release(ctx, l) })
}

// Checkpoint implements [persistence.Checkpointer].
func (s *tracedStore) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	return s.request(ctx, "checkpoint", l.Key, func(ctx context.Context) error {
		return s.checkpointer.Checkpoint(ctx, l, step, output)
	})
}

// Renew implements [persistence.Renewer].
func (s *tracedStore) Renew(ctx context.Context, l persistence.Lease) error {
	return s.request(ctx, "renew", l.Key, func(ctx context.Context) error { return s.renewer.Renew(ctx, l) })
}

func (s *tracedStore) Read(ctx context.Context, key string) (r persistence.Record, found bool, err error) {
	err = s.request(ctx, "read", key, func(ctx context.Context) error {
		r, found, err = s.reader.Read(ctx, key)
		return err
	})
	return r, found, err
}

// ReadMany implements [storekit.BatchReader].
func (s *tracedStore) ReadMany(ctx context.Context, keys []string) (found []persistence.Record, err error) {
	err = s.request(ctx, "read", "", func(ctx context.Context) error {
		found, err = s.many.ReadMany(ctx, keys)
		return err
	})
	return found, err
}

// CheckpointWith implements [storekit.Transactor].
func (s *tracedStore) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	return s.request(ctx, "checkpoint", l.Key, func(ctx context.Context) error {
		return s.transactor.CheckpointWith(ctx, l, step, output, writes)
	})
}

// CompleteWith implements [storekit.Transactor].
func (s *tracedStore) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	return s.request(ctx, "complete", l.Key, func(ctx context.Context) error {
		return s.transactor.CompleteWith(ctx, l, o, writes)
	})
}

// CompleteAtOnce implements [storekit.Transactor].
func (s *tracedStore) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (r persistence.Record, err error) {
	err = s.request(ctx, "complete", c.Key, func(ctx context.Context) error {
		r, err = s.transactor.CompleteAtOnce(ctx, c, o, writes)
		return err
	})
	return r, err
}

// Commit implements [storekit.Transactor].
func (s *tracedStore) Commit(ctx context.Context, writes []storekit.Write) error {
	return s.request(ctx, "commit", "", func(ctx context.Context) error { return s.transactor.Commit(ctx, writes) })
}

// tracedCache is a tracedStore in front of what remembers records.
type tracedCache struct {
	*tracedStore
	cache storekit.Refresher
}

// Refresh implements [storekit.Refresher].
func (s *tracedCache) Refresh(ctx context.Context, key string) (r persistence.Record, found bool, err error) {
	err = s.request(ctx, "read", key, func(ctx context.Context) error {
		r, found, err = s.cache.Refresh(ctx, key)
		return err
	})
	return r, found, err
}
