// Package journal is the seam between the engine of a guard and what a call records on its
// way to its end. The engine owns these interfaces and knows nothing of steps; package saga
// implements them, with what the engine lends it.
package journal

import (
	"context"
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Steps are declared for all calls of a guard. Safe for concurrent use.
type Steps interface {
	// Open opens the journal of a call. With an error, which says what is wrong with what
	// the record has, the call must not run, and the journal is there to settle it.
	Open(Call) (Journal, error)
}

// Call is a call whose journal is opened.
type Call struct {
	Engine

	// Key of the call's record; empty where the request has none.
	Key string
	// Tokens is what the tokens of the call's steps are made of: the key, or a random text
	// where there is none.
	Tokens string
	// Record is the record as it was acquired; the zero one where the call runs without.
	Record persistence.Record
	// Recorded says that the call has a record.
	Recorded bool
	// FailsOpen says that the call goes on where the store does not answer.
	FailsOpen bool
}

// Journal is what one attempt of a call records. Safe for concurrent use, but for the way
// out of the call, which the engine goes alone.
type Journal interface {
	// Begin returns the context of the function, and end, to be called when the function has
	// returned or panicked: it waits for what is under way, and lets no more begin. Writes
	// that the function enlists for the call as a whole are outside.
	Begin(ctx context.Context, outside *storekit.Enlistment) (inner context.Context, end func())
	// Lease returns the lease of the record with what is recorded by now.
	Lease() persistence.Lease
	// Backward tells whether the call is to be undone, whatever its function returns.
	Backward() bool
	// Settle undoes the call where its error, or the record, says that it has failed for
	// good. It returns the error that the call has then.
	Settle(ctx context.Context, err error) error
	// GiveUp records what the next attempt has to know, before the record is released.
	GiveUp(ctx context.Context)
	// Kept returns the names of what is finished, in the order in which that was finished.
	Kept() []string
	// Unfinished returns the error of a call that the next arrival of its request goes on
	// with, given what of it is kept; and what is stuck, where none will get any further.
	Unfinished(err error, kept []string) (stuck *Stuck, answer error)
}

// Stuck is what keeps a call from ever getting to its end by itself.
type Stuck struct {
	Step string
	Err  error
}

// Engine is what the engine lends to the journal of a call. Safe for concurrent use.
type Engine interface {
	// Ready tells whether anything may start now: the record is still the call's, and
	// neither its time nor the lease's is over.
	Ready(ctx context.Context) error
	// Hold returns a context of the call that is not the function's: it ends with the
	// call's time, and the record is held until stop is called.
	Hold(ctx context.Context) (held context.Context, stop func())
	// Enlist returns a context in which writes are enlisted with the enlistment that is
	// returned; nil where the store commits none.
	Enlist(ctx context.Context) (context.Context, *storekit.Enlistment)
	// Keep adds an entry to the record, together with writes, and makes the lease longer by
	// the way. Where there is no record it carries the writes out.
	Keep(ctx context.Context, lease persistence.Lease, name string, stored []byte, writes []storekit.Write) error
	// Room returns how many bytes the record has left; false where nobody can tell.
	Room(lease persistence.Lease) (int, bool)
	// Part runs a part of the call, whose beginning and end are told (EventKind).
	Part(ctx context.Context, kind, step string, part func(context.Context) error) error
	// Report tells what has happened (EventKind) to a step.
	Report(ctx context.Context, kind, step string, err error)
	// Final returns what is recorded of an error that declares a failure for good; false
	// for any other.
	Final(err error) ([]byte, bool)
}

// ErrNotUndone is matched by errors which say that a call has failed for good and is not
// undone yet. Such an error is not final, whatever it wraps.
var ErrNotUndone = errors.New("not undone")
