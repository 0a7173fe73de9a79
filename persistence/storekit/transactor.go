package storekit

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// Write is a write of the application, in the terms of the store that carries it
// out: dynamostore.Write for DynamoDB.
type Write any

// Transactor is a [persistence.Store] that can commit writes of the application in one
// transaction with its own write of the record: all of it happens, or nothing.
// An effect that consists of such writes happens once, whatever fails: a run that
// has lost its lease commits nothing.
//
// Errors are those of [persistence.Store]. In addition, [*persistence.RefusedError] says
// that the transaction was refused for the sake of one of the application's writes:
// nothing has changed then, no try of it can arrive any more, and an owner still owns its
// record. Where an earlier try of the call has got no answer, the refusal of a later one is
// a [*persistence.Fault] instead. [persistence.ErrInvalid] says the same of writes that can
// never be committed. On a [*persistence.Fault] all of the transaction has been applied or
// nothing, or will be yet; with a record in it, the same call again tells: it is done, with
// a nil error, where it was done before, and a [*persistence.SettledError] tells of another
// try that came first.
type Transactor interface {
	// CompleteWith is Complete, together with writes.
	CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []Write) error

	// CheckpointWith is Checkpoint, together with writes. A step that is already
	// there stays as it is, and nothing is written.
	CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []Write) error

	// CompleteAtOnce records the outcome of a claim that was never acquired,
	// together with writes, where [persistence.Claim.Judge] finds the record vacant. It
	// returns the record that now holds the key: the claim's own, finished, if and only
	// if its Owner is c.Owner. Any other one is unchanged, and nothing was written.
	CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []Write) (persistence.Record, error)

	// Commit commits writes alone, for runs that have no record.
	Commit(ctx context.Context, writes []Write) error
}
