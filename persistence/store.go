package persistence

import "context"

// Store remembers records, one for each key.
//
// All methods are safe for concurrent use, and all of them may be repeated: a
// second call with the same arguments changes nothing and gives the same
// answer. That is what lets a caller survive a reply that was lost on its way.
//
// Errors: [ErrLeaseLost] and [ErrTooLarge] as described at the methods,
// [ErrInvalid] for arguments that can never be right, a [*Fault] for anything
// that went wrong below the store. On a nil error the promise of the method has
// been kept; on any other the record may or may not have changed.
type Store interface {
	// Acquire returns the record that now holds c.Key. The caller owns it if
	// and only if the record is PROCESSING and its Owner is c.Owner; otherwise
	// the record is somebody else's, or finished, and is unchanged.
	//
	// The steps of a record that is somebody else's need not be shown.
	//
	// What happens to a record that is already there is for [Claim.Judge] to
	// say; a store carries the verdict out atomically. Of any number of callers
	// that meet the same vacant or stale record, exactly one gets it.
	Acquire(ctx context.Context, c Claim) (Record, error)

	// Complete records how the operation ended and ends the lease. Only the
	// owner of a PROCESSING record can: [ErrLeaseLost] for anyone else, also
	// where the record is gone. A record that this owner has completed before
	// stays as it is: with a nil error where the outcome is the same
	// ([Outcome.Recorded]), and with a [*SettledError] where it is another. So a
	// nil error says that this outcome is there.
	//
	// [ErrTooLarge] means that the store can't hold this result and wrote
	// nothing; the caller may complete with [Outcome.ResultOmitted] instead.
	Complete(ctx context.Context, l Lease, o Outcome) error

	// Release gives the record up without an outcome, so that a retry may run
	// at once: the record is removed, or becomes PARTIAL_SUCCESS with its steps
	// where there are finished ones. It is done, with a nil error, also where no
	// record is left. [ErrLeaseLost] where the record is somebody else's, and a
	// [*SettledError] where this owner has finished it; it is then unchanged.
	Release(ctx context.Context, l Lease) error
}

// Checkpointer is a [Store] that can also keep the outputs of finished steps.
type Checkpointer interface {
	// Checkpoint adds the output of a finished step to the record of a running
	// operation. Only the owner can: [ErrLeaseLost] for anyone else, and a
	// [*SettledError] where this owner has finished the record. A step that is
	// already there stays as it is: with a nil error where the output is the same,
	// and with a [*SettledError] where it is another. Steps survive Release and
	// take-over.
	//
	// The checkpoint of a [Renewer] renews the lease too where l.Until says so, in the
	// same write. On a nil error that has been done, also where the step was there.
	//
	// [ErrTooLarge] means that the record can't hold this output and what
	// Lease.Reserve asks to be left free; nothing was written.
	Checkpoint(ctx context.Context, l Lease, step string, output []byte) error
}

// Renewer is a [Store] whose leases can be renewed: a run that goes on for longer than its
// lease stays alone, and one that dies locks its key for no longer than that.
type Renewer interface {
	// Renew moves the end of the lease to l.Until, and the record's expiry so that it
	// does not come before: see [Lease.Renewed]. It is done, with a nil error, where the
	// lease ends later anyway. Only the owner of a PROCESSING record can: [ErrLeaseLost]
	// for anyone else, also where the record is gone. A lease that is over can be
	// renewed until somebody takes the record over; a claim that has seen the lease
	// before the renewal does not take it over any more.
	//
	// [ErrInvalid] for a lease that [Lease.CheckRenewal] refuses.
	Renew(ctx context.Context, l Lease) error
}

// Reader is a [Store] that can also look at a record without claiming it,
// which is cheaper where most calls are replays or are waiting for one.
type Reader interface {
	// Read returns the record of a key and whether there is one. The answer may
	// be stale, so nothing but a finished, unexpired record may be relied on:
	// for everything else Acquire decides. [ErrInvalid] for a key that [Lease.CheckKey] refuses.
	Read(ctx context.Context, key string) (Record, bool, error)
}
