package lab

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Around returns a store with something around its claims, outcomes, releases, renewals and
// reads: it may fail one before it is applied (do) or after, or take its time.
func Around(behind persistence.Store, request func(op, key string, do func() error) error) persistence.Store {
	return around{storekit.NewFront(behind), request}
}

// Before returns a store on which something happens before each request of a kind, which
// fails with its error.
func Before(behind persistence.Store, op string, happens func() error) persistence.Store {
	return Around(behind, func(of, _ string, do func() error) error {
		if of == op {
			if err := happens(); err != nil {
				return err
			}
		}
		return do()
	})
}

// Down returns a store that can't be reached.
func Down(err error) persistence.Store {
	return Around(persistence.NewMemory(), func(op, _ string, _ func() error) error {
		return &persistence.Fault{Op: op, Retryable: true, Err: err}
	})
}

// Dying returns the store of a process that dies before it settles anything.
func Dying(behind persistence.Store, err error) persistence.Store {
	return Before(Before(behind, "complete", func() error { return err }), "release", func() error { return err })
}

type around struct {
	storekit.Front
	request func(op, key string, do func() error) error
}

// Acquire implements [persistence.Store].
func (s around) Acquire(ctx context.Context, c persistence.Claim) (r persistence.Record, err error) {
	err = s.request("acquire", c.Key, func() (err error) { r, err = s.Front.Acquire(ctx, c); return err })
	return r, err
}

// Complete implements [persistence.Store].
func (s around) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return s.request("complete", l.Key, func() error { return s.Front.Complete(ctx, l, o) })
}

// Release implements [persistence.Store].
func (s around) Release(ctx context.Context, l persistence.Lease) error {
	return s.request("release", l.Key, func() error { return s.Front.Release(ctx, l) })
}

// Renew implements [persistence.Renewer].
func (s around) Renew(ctx context.Context, l persistence.Lease) error {
	return s.request("renew", l.Key, func() error { return s.Front.Renew(ctx, l) })
}

// Read implements [persistence.Reader].
func (s around) Read(ctx context.Context, key string) (r persistence.Record, found bool, err error) {
	err = s.request("read", key, func() (err error) { r, found, err = s.Front.Read(ctx, key); return err })
	return r, found, err
}
