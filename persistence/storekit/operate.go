package storekit

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// What operators need of a store, and calls never do: see package records.

// Lister is a store whose records can be gone through. Safe for concurrent use.
type Lister interface {
	// List returns a page of records, in an order of the store's own. What changes
	// meanwhile may be in it as it was, or as it is, or not at all; the rest of the records
	// are in one page of all, or in two where the store says so.
	List(ctx context.Context, q Query) (Page, error)
}

// Query says which page of which records.
type Query struct {
	// Statuses of the records. Defaults to all of them.
	Statuses []persistence.Status
	// Prefix that the records' keys have. Defaults to none.
	Prefix string
	// Segment of Segments, from 0: parts of the records that can be gone through side by
	// side. Defaults to the one segment that is all of them.
	Segment, Segments int
	// Limit is how many records are looked at, at most, whether they match or not.
	// Defaults to what the store takes for a page.
	Limit int
	// Cursor is that of the page before, with all else the same. Defaults to the first page.
	Cursor string
}

// Page is a part of the records that a [Query] asks for.
type Page struct {
	// Records without their results and kept events, which may be large. Steps are as they
	// are stored, in envelopes perhaps.
	Records []persistence.Record
	// Unreadable are the keys of records that can't be understood, and why.
	Unreadable []Unreadable
	// Cursor of the next page; empty where there is none.
	Cursor string
	// Seen is how many records were looked at.
	Seen int
	// Units are the read units that this has consumed, where the store counts such.
	Units float64
}

// Unreadable is a record that can't be understood.
type Unreadable struct {
	// Key of the record.
	Key string
	// Err says why.
	Err error
}

// Forgetter is a store that can remove a record by hand.
type Forgetter interface {
	// Forget removes a record if owner, status and lease are still those of the one that
	// was seen, and where it has no owner the expiry; its steps may have become more. It is done, with a nil error, also where
	// there is no record. [persistence.ErrLeaseLost] where the record is another one by now.
	Forget(ctx context.Context, seen persistence.Record) error
}

// Opener is a store in front of another one that changes what goes through it, and can
// undo that.
type Opener interface {
	// Open returns a record whose values the store itself has put into envelopes as they
	// were before: the result, the steps and the event, as far as the record has them.
	Open(ctx context.Context, r persistence.Record) (persistence.Record, error)
}
