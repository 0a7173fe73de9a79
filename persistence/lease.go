package persistence

import (
	"fmt"
	"time"
)

// Lease is what the owner of a record shows with every later write. Made by
// [Record.Lease] from the record that Acquire returned.
type Lease struct {
	Key   string
	Owner string

	// Fingerprint and Steps are what the owner knows of its record. A store may
	// use them to reckon sizes, a cache to remember; neither is ever a
	// condition, and steps that the store has and the lease has not are kept.
	Fingerprint string
	Steps       map[string][]byte

	// Reserve is how many bytes a checkpoint has to leave free in the record, for
	// what its owner must be able to write later on; in the terms of [Sizer].
	Reserve int
}

// Lease returns the lease of a record for its owner.
func (r Record) Lease() Lease {
	return Lease{Key: r.Key, Owner: r.Owner, Fingerprint: r.Fingerprint, Steps: r.Steps}
}

// Check returns an error that wraps [ErrInvalid] for a lease that nobody can have
// been given.
func (l Lease) Check() error {
	if l.Key == "" || l.Owner == "" {
		return fmt.Errorf("%w: lease of key %q and owner %q", ErrInvalid, l.Key, l.Owner)
	}
	return nil
}

// Outcome is how an operation ended.
type Outcome struct {
	// Status is StatusCompleted or StatusFailed.
	Status Status
	// Result is what is replayed: the response, or the encoded failure.
	Result []byte
	// ResultOmitted completes without a result; Result is then ignored.
	ResultOmitted bool
	// ExpiresAt is until when the outcome is replayed; whole seconds.
	ExpiresAt time.Time
}

// Check returns an error that wraps [ErrInvalid] for an outcome that ends nothing.
func (o Outcome) Check() error {
	if !o.Status.Finished() {
		return fmt.Errorf("%w: %q is no outcome", ErrInvalid, o.Status)
	}
	return nil
}

// Of returns the finished record that this outcome makes of a lease.
func (o Outcome) Of(l Lease) Record {
	r := Record{
		Key:           l.Key,
		Status:        o.Status,
		Owner:         l.Owner,
		ExpiresAt:     o.ExpiresAt,
		Fingerprint:   l.Fingerprint,
		Result:        o.Result,
		ResultOmitted: o.ResultOmitted,
		Steps:         l.Steps,
	}
	if r.ResultOmitted {
		r.Result = nil
	}
	return r
}
