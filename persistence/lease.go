package persistence

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// Lease is what the owner of a record shows with every later write. Made by
// [Record.Lease] from the record that Acquire returned.
type Lease struct {
	// Key of the record.
	Key string
	// Owner is the token of the acquisition: [Claim.Owner].
	Owner string

	// Fingerprint, Steps, Run and Event are what the owner knows of its record. A store
	// may use them to reckon sizes, a cache to remember; none is ever a condition, and
	// steps that the store has and the lease has not are kept.
	Fingerprint string
	Steps       map[string][]byte
	Run         Run
	Event       []byte

	// Until is until when the owner wants to be alone from now on, in whole
	// milliseconds; zero leaves the record's lease as it is. What a [Renewer] does
	// with it says [Lease.Renewed].
	Until time.Time

	// ExpiresAt is when the owner wants its record to be forgotten at the earliest, in
	// whole seconds. A renewal sees to that, and to nothing else. Zero is no wish.
	ExpiresAt time.Time

	// Reserve is how many bytes a checkpoint has to leave free in the record, for
	// what its owner must be able to write later on; in the terms of storekit.Sizer.
	Reserve int
}

// Lease returns the lease of a record for its owner.
func (r Record) Lease() Lease {
	return Lease{Key: r.Key, Owner: r.Owner, Fingerprint: r.Fingerprint, Steps: r.Steps, Run: r.Run, Event: r.Event, ExpiresAt: r.ExpiresAt}
}

// Renewed returns what a renewal by this lease makes of its record, for every store: the
// lease moves on to Until and the expiry to ExpiresAt, or to Until where that is later.
// Neither is ever moved back, and what has no end gets none.
func (l Lease) Renewed(r Record) Record {
	until, expiresAt := l.Renewal()
	if !r.LeaseUntil.IsZero() {
		r.LeaseUntil = later(r.LeaseUntil, until)
	}
	if !r.ExpiresAt.IsZero() {
		r.ExpiresAt = later(r.ExpiresAt, expiresAt)
	}
	return r
}

// Renewal returns where a renewal by this lease moves the end of the lease, in whole
// milliseconds, and the expiry, in whole seconds; zero where it asks for none.
func (l Lease) Renewal() (until, expiresAt time.Time) {
	if l.Until.IsZero() {
		return until, expiresAt
	}
	return roundUp(l.Until, time.Millisecond), roundUp(later(l.ExpiresAt, l.Until), time.Second)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func roundUp(t time.Time, unit time.Duration) time.Time {
	if whole := t.Truncate(unit); whole.Before(t) {
		return whole.Add(unit)
	}
	return t
}

// Check returns an error that wraps [ErrInvalid] for a lease that nobody can have
// been given.
func (l Lease) Check() error {
	if l.Key == "" || l.Owner == "" {
		return fmt.Errorf("%w: lease of key %q and owner %q", ErrInvalid, l.Key, l.Owner)
	}
	if !isText(l.Key) || !isText(l.Owner) {
		return fmt.Errorf("%w: the lease's key or owner is not UTF-8, or has a NUL", ErrInvalid)
	}
	return nil
}

// CheckKey is Check for who only reads, and owns nothing: the key is one that records have.
func (l Lease) CheckKey() error {
	if l.Key == "" || !isText(l.Key) {
		return fmt.Errorf("%w: a key that is empty, not UTF-8, or has a NUL", ErrInvalid)
	}
	return nil
}

// CheckRenewal is Check for a lease that is to be renewed: it says until when.
func (l Lease) CheckRenewal() error {
	if l.Until.IsZero() {
		return errors.Join(l.Check(), fmt.Errorf("%w: a renewal without an end", ErrInvalid))
	}
	return l.Check()
}

// CheckStep is Check for a lease whose owner checkpoints a step: the step has a name, which
// can be kept as it is.
func (l Lease) CheckStep(name string) error {
	if name == "" || !isText(name) {
		return errors.Join(l.Check(), fmt.Errorf("%w: a step without a name, or with one that is not UTF-8 or has a NUL", ErrInvalid))
	}
	return l.Check()
}

// Outcome is how an operation ended.
type Outcome struct {
	// Status is StatusCompleted or StatusFailed.
	Status Status
	// Result is what is replayed: the response, or the encoded failure.
	Result []byte
	// ResultOmitted completes without a result; Result is then ignored.
	ResultOmitted bool
	// ExpiresAt is until when the outcome is replayed; whole seconds. Zero is for ever.
	ExpiresAt time.Time
}

// Check returns an error that wraps [ErrInvalid] for an outcome that ends nothing.
func (o Outcome) Check() error {
	if !o.Status.Finished() {
		return fmt.Errorf("%w: %q is no outcome", ErrInvalid, o.Status)
	}
	return nil
}

// Recorded tells whether a finished record says what the outcome says: status and result.
// When it expires is another matter.
func (o Outcome) Recorded(r Record) bool {
	if r.Status != o.Status || r.ResultOmitted != o.ResultOmitted {
		return false
	}
	return o.ResultOmitted || bytes.Equal(r.Result, o.Result)
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
		Run:           l.Run,
	}
	if r.ResultOmitted {
		r.Result = nil
	}
	return r
}
