package cached_test

import (
	"context"
	"hash/maphash"
	"testing"

	"github.com/ikkai-go/idempotency/internal/proof/lincheck"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
)

// fleet is a table that is shared by environments with a cache each. An owner
// stays in the environment that it began in.
type fleet struct {
	environments []*cached.Store
	seed         maphash.Seed
}

func newFleet(shared persistence.Store) fleet {
	f := fleet{seed: maphash.MakeSeed()}
	for range 3 {
		f.environments = append(f.environments, cached.New(shared, cached.Limits{}))
	}
	return f
}

func (f fleet) of(owner string) *cached.Store {
	return f.environments[maphash.String(f.seed, owner)%uint64(len(f.environments))]
}

func (f fleet) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	return f.of(c.Owner).Acquire(ctx, c)
}

func (f fleet) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return f.of(l.Owner).Complete(ctx, l, o)
}

func (f fleet) Release(ctx context.Context, l persistence.Lease) error {
	return f.of(l.Owner).Release(ctx, l)
}

func (f fleet) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	return f.of(l.Owner).Checkpoint(ctx, l, step, output)
}

// Read asks any environment.
func (f fleet) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	return f.of(key).Read(ctx, key)
}

// What a cache shows of a finished record is what a replay needs. Where clocks
// agree, nobody has replaced a record that has not expired for the next caller, so
// Acquire is as linearizable as the store behind. A read knows no clock: it may show
// what has expired and was replaced.
func TestCachedIsLinearizableWhereClocksAgree(t *testing.T) {
	options := lincheck.Options{
		Clocks:   lincheck.Agreeing,
		Acquires: lincheck.Outcome, Reads: lincheck.FormerOutcome,
	}
	t.Run("one environment", func(t *testing.T) {
		lincheck.Run(t, cached.New(persistence.NewMemory(), cached.Limits{}), options)
	})
	t.Run("three environments", func(t *testing.T) {
		lincheck.Run(t, newFleet(persistence.NewMemory()), options)
	})
}

// Where clocks differ, a claim with a fast one may have replaced a record that a
// slow one still replays from its cache. That is not linearizable; but it is an outcome
// that the key has had, and one that has not expired by the caller's clock.
func TestCachedReplaysWhatHasBeenWhereClocksDiffer(t *testing.T) {
	options := lincheck.Options{
		Acquires: lincheck.FormerOutcome, Reads: lincheck.FormerOutcome,
	}
	t.Run("one environment", func(t *testing.T) {
		lincheck.Run(t, cached.New(persistence.NewMemory(), cached.Limits{}), options)
	})
	t.Run("three environments", func(t *testing.T) {
		lincheck.Run(t, newFleet(persistence.NewMemory()), options)
	})
}
