package entrysuite

import (
	"context"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

var errDown = &persistence.Fault{Op: "request", Retryable: true, Err: errors.New("the table can't be reached")}

// unreachable is a store that can't be reached.
type unreachable struct{ _ byte }

// Acquire implements [persistence.Store].
func (*unreachable) Acquire(context.Context, persistence.Claim) (persistence.Record, error) {
	return persistence.Record{}, errDown
}

// Complete implements [persistence.Store].
func (*unreachable) Complete(context.Context, persistence.Lease, persistence.Outcome) error {
	return errDown
}

// Release implements [persistence.Store].
func (*unreachable) Release(context.Context, persistence.Lease) error { return errDown }

// deaf is a store whose first reply is lost.
type deaf struct {
	*persistence.Memory
	heard bool
}

// Acquire implements [persistence.Store].
func (d *deaf) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := d.Memory.Acquire(ctx, c)
	if !d.heard {
		d.heard = true
		return persistence.Record{}, errDown
	}
	return r, err
}

// frozen is a store of an environment that is frozen after it has asked for a record, and so
// hears of it later than its context allows.
type frozen struct {
	*persistence.Memory
	wakes time.Duration // after that
}

// Acquire implements [persistence.Store].
func (f *frozen) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := f.Memory.Acquire(ctx, c)
	time.Sleep(f.wakes) // virtual
	return r, err
}

// hung is a store that never answers a completion.
type hung struct{ *persistence.Memory }

// Complete implements [persistence.Store].
func (hung) Complete(ctx context.Context, _ persistence.Lease, _ persistence.Outcome) error {
	<-ctx.Done()
	return &persistence.Fault{Op: "complete", Retryable: true, Err: ctx.Err()}
}
