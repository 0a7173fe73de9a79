package explore

import (
	"context"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// skewed is a store as a process sees it whose clock is off: what the process takes
// for now is later, by the true time, than it thinks.
type skewed struct {
	persistence.Store
	skew time.Duration
	_    [0]func() // makes it incomparable: nothing remembers the guards of millions of executions
}

// shift moves an instant, unless it is none.
func shift(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

// Acquire implements [persistence.Store].
func (s skewed) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	c.Now = shift(c.Now, s.skew)
	c.LeaseUntil = shift(c.LeaseUntil, s.skew)
	c.ExpiresAt = shift(c.ExpiresAt, s.skew)
	r, err := s.Store.Acquire(ctx, c)
	return s.seen(r), err
}

// seen is a record as the process takes it.
func (s skewed) seen(r persistence.Record) persistence.Record {
	r.LeaseUntil = shift(r.LeaseUntil, -s.skew)
	r.ExpiresAt = shift(r.ExpiresAt, -s.skew)
	return r
}

// Read implements [persistence.Reader].
func (s skewed) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := s.Store.(persistence.Reader).Read(ctx, key)
	return s.seen(r), found, err
}

// Complete implements [persistence.Store].
func (s skewed) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	o.ExpiresAt = shift(o.ExpiresAt, s.skew)
	return s.Store.Complete(ctx, l, o)
}
