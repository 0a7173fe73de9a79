package powertools

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Store keeps records in a table that a peer uses too. It is a [dynamostore.Store]
// without steps: where the lease of a record is over, the peer replaces all of it, so
// the steps that have been taken would be forgotten and taken again. It is immutable
// and safe for concurrent use.
type Store struct{ table *dynamostore.Store }

var (
	_ persistence.Store   = (*Store)(nil)
	_ persistence.Renewer = (*Store)(nil)
	_ persistence.Reader  = (*Store)(nil)
	_ storekit.Transactor = (*Store)(nil)
	_ storekit.Literal    = (*Store)(nil)
)

// Store returns a store on the peer's table. The errors are those of
// [dynamostore.New].
func (p *Peer) Store(api dynamostore.API) (*Store, error) {
	table, err := dynamostore.New(api, p.Table())
	if err != nil {
		return nil, err
	}
	return &Store{table}, nil
}

// Acquire implements [persistence.Store].
func (s *Store) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	return s.table.Acquire(ctx, c)
}

// Complete implements [persistence.Store]. A result that the peer's format can't hold
// is [persistence.ErrTooLarge].
func (s *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return s.table.Complete(ctx, l, o)
}

// Release implements [persistence.Store].
func (s *Store) Release(ctx context.Context, l persistence.Lease) error {
	return s.table.Release(ctx, l)
}

// Renew implements [persistence.Renewer]: the peer goes by the same end of the lease.
func (s *Store) Renew(ctx context.Context, l persistence.Lease) error { return s.table.Renew(ctx, l) }

// Read implements [persistence.Reader].
func (s *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	return s.table.Read(ctx, key)
}

// HoldsEnvelopes implements [storekit.Literal]: the peer reads results as values, so
// none is sealed or kept elsewhere.
func (s *Store) HoldsEnvelopes() bool { return s.table.HoldsEnvelopes() }

// CompleteWith implements [storekit.Transactor]. The writes commit only if the
// record is still the owner's, whatever the peer has done to it.
func (s *Store) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	return s.table.CompleteWith(ctx, l, o, writes)
}

// CompleteAtOnce implements [storekit.Transactor].
func (s *Store) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	return s.table.CompleteAtOnce(ctx, c, o, writes)
}

// Commit implements [storekit.Transactor].
func (s *Store) Commit(ctx context.Context, writes []storekit.Write) error {
	return s.table.Commit(ctx, writes)
}

// CheckpointWith implements [storekit.Transactor], and always refuses: there are no
// steps in a shared table.
func (s *Store) CheckpointWith(context.Context, persistence.Lease, string, []byte, []storekit.Write) error {
	return fmt.Errorf("%w: a table that is shared with Powertools keeps no steps", persistence.ErrInvalid)
}
