package persistence

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Write is a write of the application, in the terms of the store that carries it
// out: dynamostore.Write for DynamoDB.
type Write any

// Transactor is a [Store] that can commit writes of the application in one
// transaction with its own write of the record: all of it happens, or nothing.
// An effect that consists of such writes happens once, whatever fails: a run that
// has lost its lease commits nothing.
//
// Errors are those of [Store]. In addition, [*RefusedError] says that the
// transaction was refused for the sake of one of the application's writes: nothing
// has changed then, no try of it can arrive any more, and an owner still owns its
// record. Where an earlier try of the call has got no answer, the refusal of a later
// one is a [*Fault] instead. [ErrInvalid] says the same of writes that can never be
// committed. On a [*Fault] all of the transaction has been applied or nothing, or will
// be yet; with a record in it, the same call again tells: it is done, with a nil error,
// where it was done before, and a [*SettledError] tells of another try that came first.
type Transactor interface {
	// CompleteWith is Complete, together with writes.
	CompleteWith(ctx context.Context, l Lease, o Outcome, writes []Write) error

	// CheckpointWith is Checkpoint, together with writes. A step that is already
	// there stays as it is, and nothing is written.
	CheckpointWith(ctx context.Context, l Lease, step string, output []byte, writes []Write) error

	// CompleteAtOnce records the outcome of a claim that was never acquired,
	// together with writes, where [Claim.Judge] finds the record vacant. It returns
	// the record that now holds the key: the claim's own, finished, if and only if
	// its Owner is c.Owner. Any other one is unchanged, and nothing was written.
	CompleteAtOnce(ctx context.Context, c Claim, o Outcome, writes []Write) (Record, error)

	// Commit commits writes alone, for runs that have no record.
	Commit(ctx context.Context, writes []Write) error
}

// RefusedError says that a transaction was refused because of one of the
// application's writes: its condition did not hold, or it can't be carried out.
type RefusedError struct {
	// Index of the write, in the order in which they were enlisted.
	Index int
	// Err says why: the write's own error, if it has one, or the store's.
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("persistence: write %d was refused: %v", e.Index, e.Err)
}

// Unwrap returns the reason.
func (e *RefusedError) Unwrap() error { return e.Err }

// ErrNotEnlisted means that a write could not be enlisted: there is no run that
// would commit it.
var ErrNotEnlisted = errors.New("persistence: nothing to enlist a write with")

// Enlistment collects the writes of a run, or of one of its steps, until they are
// committed. Safe for concurrent use.
type Enlistment struct {
	mu     sync.Mutex
	writes []Write
	closed bool
}

// Close ends the enlistment and returns what was enlisted, in order. Nothing is
// enlisted with a nil Enlistment.
func (e *Enlistment) Close() []Write {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	return e.writes
}

// Drop forgets what was enlisted so far: it belongs to a part of the run that was undone.
// More can be enlisted after it.
func (e *Enlistment) Drop() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes = nil
}

type enlistmentKey struct{}

// WithEnlistment returns a context in which [Enlist] adds to e. With nil, nothing
// can be enlisted, also not with an enlistment further out.
func WithEnlistment(ctx context.Context, e *Enlistment) context.Context {
	if e == nil && ctx.Value(enlistmentKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, enlistmentKey{}, e)
}

// Enlist adds writes to those that will commit together with the record of the
// run that ctx belongs to. It is for stores, which offer it in their own terms:
// check judges all writes that would then be enlisted, and its error refuses the
// new ones. [ErrNotEnlisted] where ctx belongs to no run whose store commits
// writes, and where the run, or the step, is over.
func Enlist(ctx context.Context, check func([]Write) error, writes ...Write) error {
	e, _ := ctx.Value(enlistmentKey{}).(*Enlistment)
	if e == nil {
		return fmt.Errorf("%w: no guarded call whose store commits writes", ErrNotEnlisted)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fmt.Errorf("%w: the run or its step is over", ErrNotEnlisted)
	}
	all := append(e.writes, writes...) //nolint:gocritic // what was handed out by Close is never appended to
	if err := check(all); err != nil {
		return err
	}
	e.writes = all
	return nil
}
