package persistence

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Claim asks for the right to run the operation of a key.
type Claim struct {
	// Key of the record. Required. Key, Owner and Fingerprint are UTF-8 without NUL, and so
	// are the names of steps: what every database can hold as text.
	Key string
	// Owner is a random token, new for every claim and never used again: the
	// fencing token of all later writes. Required.
	Owner string
	// Fingerprint of the payload, or empty where none is to be compared.
	Fingerprint string
	// Now is the one clock reading that the whole decision is made with.
	Now time.Time
	// LeaseUntil is until when the owner wants to be alone; whole milliseconds,
	// and after Now.
	LeaseUntil time.Time
	// ExpiresAt is when the record may be forgotten; whole seconds, and not
	// before the lease ends.
	ExpiresAt time.Time
	// Run is who asks, as it is to be recorded. Zero records nothing, and keeps what a
	// record that is taken over says.
	Run Run
	// Event is what the operation is run with, as it is to be kept. Defaults to nothing; a
	// record that is taken over then keeps its own.
	Event []byte
	// From, if set, is the owner whose record is to be taken over; one of any other owner is
	// left alone, and is the answer. Defaults to whoever it is.
	From string
	// Execution, if set, is how the owners of all claims of one execution begin, of which
	// this claim is one: an execution that is made of invocations, one after the other, and
	// goes on with its record whatever its lease says. A PROCESSING record of another claim
	// of the execution is taken over at once; whoever had it before has lost it. It ends with
	// what is in no other execution's name. Defaults to none.
	Execution string
	// RefuseUnknown leaves a PROCESSING record alone whose lease is over, until it
	// expires: its run died, or is still going on somewhere without the right to, and
	// whether its effect has happened is not known. Without it the claim takes such a
	// record over, and the operation runs once more.
	RefuseUnknown bool
}

// Check returns an error that wraps [ErrInvalid] for a claim no store can serve.
func (c Claim) Check() error {
	switch {
	case c.Key == "":
		return fmt.Errorf("%w: claim without a key", ErrInvalid)
	case c.Owner == "":
		return fmt.Errorf("%w: claim without an owner", ErrInvalid)
	case !isText(c.Key) || !isText(c.Owner) || !isText(c.Fingerprint):
		return fmt.Errorf("%w: the claim's key, owner or fingerprint is not UTF-8, or has a NUL: it would be stored as another text", ErrInvalid)
	case !utf8.ValidString(c.Run.Function) || !utf8.ValidString(c.Run.RequestID):
		return fmt.Errorf("%w: the claim's function or request id is not UTF-8", ErrInvalid)
	case !strings.HasPrefix(c.Owner, c.Execution):
		return fmt.Errorf("%w: the claim's owner does not begin with its execution", ErrInvalid)
	case c.Now.IsZero():
		return fmt.Errorf("%w: claim without a clock reading", ErrInvalid)
	case !c.LeaseUntil.After(c.Now):
		return fmt.Errorf("%w: the claim's lease ends at %v, not after %v", ErrInvalid, c.LeaseUntil, c.Now)
	case c.ExpiresAt.Before(c.LeaseUntil):
		return fmt.Errorf("%w: the claim expires at %v, before its lease ends at %v", ErrInvalid, c.ExpiresAt, c.LeaseUntil)
	}
	return nil
}

// isText tells whether every database can hold s as text: PostgreSQL takes no NUL, and no
// store takes what is not UTF-8 without changing it.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// Judgement is what a claim may do about the record it finds.
type Judgement int

const (
	// Held leaves the record alone: it stays as it is and is the answer.
	Held Judgement = iota
	// Owned means that the record is this claim's own; an earlier try of the same claim
	// was applied and its reply was lost.
	Owned
	// Vacant means that the record counts as absent; a fresh one replaces all of it.
	Vacant
	// Stale means that the record may be taken over, by a compare-and-swap on the owner,
	// status and lease just seen. The steps stay.
	Stale
)

// Judge decides about a record that was found under the claim's key. It is the
// one place where that decision is made, for every store.
//
// A record with another fingerprint is never taken over: a retry with another
// payload is not a retry.
func (c Claim) Judge(found Record) Judgement {
	switch {
	case found.Owner == c.Owner:
		return Owned
	case found.Expired(c.Now):
		return Vacant
	case c.From != "" && found.Owner != c.From:
		return Held
	case found.Status.Finished(), found.Mismatches(c.Fingerprint):
		return Held
	case found.Status == StatusProcessing && c.continues(found):
		return Stale
	case found.LeaseLive(c.Now):
		return Held
	case found.Status == StatusPartial:
		return Stale
	case found.Status == StatusProcessing && !c.RefuseUnknown:
		return Stale
	default:
		return Held
	}
}

// continues tells whether the record is one of the claim's own execution.
func (c Claim) continues(found Record) bool {
	return c.Execution != "" && strings.HasPrefix(found.Owner, c.Execution)
}

// Mismatches tells whether the record was made for another payload. Without a
// fingerprint on either side there is nothing to compare.
func (r Record) Mismatches(fingerprint string) bool {
	return r.Fingerprint != "" && fingerprint != "" && r.Fingerprint != fingerprint
}

// Fresh is the record that a claim writes where there is none.
func (c Claim) Fresh() Record {
	return Record{
		Key:         c.Key,
		Status:      StatusProcessing,
		Owner:       c.Owner,
		LeaseUntil:  c.LeaseUntil,
		ExpiresAt:   c.ExpiresAt,
		Fingerprint: c.Fingerprint,
		Attempt:     1,
		Run:         c.Run.recorded(),
		Event:       c.Event,
	}
}

// TakeOver is the record that a claim makes of a stale one.
func (c Claim) TakeOver(stale Record) Record {
	r := c.Fresh()
	r.Steps = stale.Steps
	r.TookOver = stale.Status
	r.Attempt = stale.Attempt + 1
	if r.Fingerprint == "" {
		r.Fingerprint = stale.Fingerprint
	}
	if r.Run == (Run{}) {
		r.Run = stale.Run
	}
	if len(r.Event) == 0 {
		r.Event = stale.Event
	}
	return r
}
