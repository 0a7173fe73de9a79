package simulation

import (
	"context"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// clocked is the store as a process with a clock of its own uses it. The engine
// reads the one clock that a simulation has; all times that it hands to the store
// and gets from it are shifted. (It is not comparable, so that the engine does not
// remember it for ever.)
type clocked struct {
	Store
	ahead time.Duration
	_     [0]func()
}

// clockedCache is a clocked store that has a cache in front of it.
type clockedCache struct{ clocked }

// Refresh implements [storekit.Refresher].
func (s clockedCache) Refresh(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := s.Store.(storekit.Refresher).Refresh(ctx, key)
	return s.seen(ctx, r), found, err
}

// Acquire implements [persistence.Store].
func (s clocked) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	i := invocationOf(ctx)
	i.owner, i.leased = c.Owner, true
	r, err := s.Store.Acquire(ctx, s.shifted(c))
	r = s.seen(ctx, r)
	if err == nil && r.Owner == c.Owner {
		i.holds(r.LeaseUntil)
	}
	return r, err
}

// Renew implements [persistence.Renewer]. It is asked for beside the function. Several
// may be due at the same instant, so each lets a moment of its own pass.
func (s clocked) Renew(ctx context.Context, l persistence.Lease) error {
	i := invocationOf(ctx)
	i.world.sleep(time.Duration(i.id) * time.Nanosecond)
	i.renewal.owner = i.owner
	err := s.Store.Renew(context.WithValue(ctx, invocationKey{}, i.renewal), s.longer(l))
	if err == nil {
		i.world.count(renewed)
		i.holds(l.Until)
	}
	return err
}

// Checkpoint implements [persistence.Checkpointer].
func (s clocked) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	err := s.Store.Checkpoint(ctx, s.longer(l), step, output)
	if err == nil {
		invocationOf(ctx).holds(l.Until)
	}
	return err
}

// CheckpointWith implements [storekit.Transactor].
func (s clocked) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	err := s.Store.CheckpointWith(ctx, s.longer(l), step, output, writes)
	if err == nil {
		invocationOf(ctx).holds(l.Until)
	}
	return err
}

// longer is a lease by the process's clock.
func (s clocked) longer(l persistence.Lease) persistence.Lease {
	if !l.Until.IsZero() {
		l.Until = l.Until.Add(s.ahead)
	}
	if !l.ExpiresAt.IsZero() {
		l.ExpiresAt = s.expiry(l.ExpiresAt)
	}
	return l
}

func (s clocked) shifted(c persistence.Claim) persistence.Claim {
	c.Now = c.Now.Add(s.ahead)
	c.LeaseUntil = c.LeaseUntil.Add(s.ahead)
	c.ExpiresAt = s.expiry(c.ExpiresAt)
	return c
}

// Complete implements [persistence.Store].
func (s clocked) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	o.ExpiresAt = s.expiry(o.ExpiresAt)
	return s.Store.Complete(ctx, l, o)
}

// CompleteWith implements [storekit.Transactor].
func (s clocked) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	o.ExpiresAt = s.expiry(o.ExpiresAt)
	return s.Store.CompleteWith(ctx, l, o, writes)
}

// CompleteAtOnce implements [storekit.Transactor].
func (s clocked) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	invocationOf(ctx).owner = c.Owner
	o.ExpiresAt = s.expiry(o.ExpiresAt)
	r, err := s.Store.CompleteAtOnce(ctx, s.shifted(c), o, writes)
	return s.seen(ctx, r), err
}

// Read implements [persistence.Reader].
func (s clocked) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := s.Store.Read(ctx, key)
	return s.seen(ctx, r), found, err
}

// expiry is in whole seconds by the process's clock.
func (s clocked) expiry(t time.Time) time.Time {
	return t.Add(s.ahead + time.Second - time.Nanosecond).Truncate(time.Second)
}

func (s clocked) seen(ctx context.Context, r persistence.Record) persistence.Record {
	invocationOf(ctx).met = r.Owner
	if !r.LeaseUntil.IsZero() {
		r.LeaseUntil = r.LeaseUntil.Add(-s.ahead)
	}
	if !r.ExpiresAt.IsZero() {
		r.ExpiresAt = r.ExpiresAt.Add(-s.ahead)
	}
	return r
}
