package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Write is a write of the application that commits in one transaction with the record:
// the [storekit.Write] of this store. It does what it likes with tx, reads included,
// but for ending it. An error refuses the transaction: nothing of it happens, and the
// error is the guarded call's.
//
// A write must have no effect but through tx. It is carried out after the function has
// returned, and more than once where the transaction has to be repeated: after a
// serialization failure, a deadlock, or a lost connection. It passes on what tx answers,
// wrapped at most: PostgreSQL commits no transaction in which a statement has failed,
// unless it was taken back to a savepoint. It closes its rows.
//
// With READ COMMITTED what a write has read may have changed by the time it writes: let
// it decide in the statement that writes (UPDATE … SET balance = balance - 5 WHERE
// balance >= 5), read FOR UPDATE, or see [Config.Isolation].
type Write func(ctx context.Context, tx *sql.Tx) error

// Enlist adds writes to the transaction in which the guarded call that ctx belongs to
// records how it, or its current step, ended. They are carried out then, in order, all of
// them with the record or none: not before, not if the function fails, and not if the
// lease is lost.
//
// [persistence.ErrInvalid] where a write is nil; nothing is enlisted then.
// [persistence.ErrNotEnlisted] where there is no such call.
func Enlist(ctx context.Context, writes ...Write) error {
	enlisted := make([]storekit.Write, len(writes))
	for i, w := range writes {
		enlisted[i] = w
	}
	return storekit.Enlist(ctx, func(all []storekit.Write) error {
		_, err := admit(all[len(all)-len(enlisted):]) // the others were admitted before
		return err
	}, enlisted...)
}

// admit returns the writes in this store's terms, or all that is wrong with them.
func admit(enlisted []storekit.Write) ([]Write, error) {
	writes := make([]Write, len(enlisted))
	var faults []error
	for i, given := range enlisted {
		w, ours := given.(Write)
		switch {
		case !ours:
			faults = append(faults, fmt.Errorf("%w: write %d is a %T, not a sqlstore.Write", persistence.ErrInvalid, i, given))
		case w == nil:
			faults = append(faults, fmt.Errorf("%w: write %d is nil", persistence.ErrInvalid, i))
		}
		writes[i] = w
	}
	return writes, errors.Join(faults...)
}

// CompleteWith implements [storekit.Transactor]: the writes are [Write] values, and
// the record's own update is the first statement of the transaction.
//
// That an owner finds its record finished by itself means that its writes were committed
// with it: an owner is one run and completes with one set of writes, and what was refused
// was not committed. A constraint that is only looked at in the commit blames the last
// write, and so does a failed statement that no write has reported.
func (s *Store) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	admitted, err := admit(writes)
	if err != nil {
		return err
	}
	return s.completeWith(ctx, l, o, admitted)
}

// CheckpointWith implements [storekit.Transactor]. A step that is there was written
// with its own writes, for the same reason.
func (s *Store) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	admitted, err := admit(writes)
	if err != nil {
		return err
	}
	return s.checkpointWith(ctx, l, step, output, admitted)
}

// CompleteAtOnce implements [storekit.Transactor]. Of several callers that meet, one
// carries its writes out while the others wait, and they are then answered with its record.
func (s *Store) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	admitted, err := admit(writes)
	if err := errors.Join(checkClaim(c), o.Check(), err); err != nil {
		return persistence.Record{}, err
	}
	fit, err := s.fit(ctx)
	if err != nil {
		return persistence.Record{}, fault("complete", err)
	}
	finish := change{fit.finish, append([]any{
		c.Key, c.Owner, string(o.Status), expiry(o.ExpiresAt), c.Fingerprint, c.Now.UnixMilli(), c.Now.Unix(), result(o), "", "",
	}, s.run(fit, c.Run, nil)...), s.statement.finished, string(o.Status)}
	for range maxRounds {
		applied, err := s.apply(ctx, finish, admitted)
		if err != nil {
			return persistence.Record{}, fault("complete", err)
		}
		if applied {
			finished := o.Of(c.Fresh().Lease())
			finished.Attempt = 1
			return finished, nil
		}
		record, found, err := s.look(ctx, c.Key)
		switch {
		case err != nil:
			return persistence.Record{}, fault("complete", err)
		case found && record.Owner == c.Owner && !record.Status.Finished():
			return persistence.Record{}, fmt.Errorf("%w: the claim was acquired before", persistence.ErrInvalid)
		case found && c.Judge(record) != persistence.Vacant:
			return record, nil
		}
		// What was in the way is gone.
	}
	return persistence.Record{}, fault("complete", errContended)
}

// Commit implements [storekit.Transactor]. There is no record to tell whether a commit
// that was not answered has been carried out, so that one is not repeated.
func (s *Store) Commit(ctx context.Context, writes []storekit.Write) error {
	admitted, err := admit(writes)
	if len(admitted) == 0 || err != nil {
		return err
	}
	repeatable := func(err error) bool {
		_, unknown := errors.AsType[*unknownError](err)
		return !unknown && s.passing(err)
	}
	_, err = s.transactAgain(ctx, repeatable, nil, admitted)
	return fault("commit", err)
}
