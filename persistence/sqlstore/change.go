package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
)

// change is a statement that changes the record, if its condition holds.
type change struct {
	statement string
	args      []any  // the key and the owner first
	made      string // counts the row as it is when changed; of one that writes can follow
	as        any    // third parameter of made
}

// execer is a database or a transaction.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// stands tells whether the change has been made, as far as e sees.
func (c change) stands(ctx context.Context, e execer) (bool, error) {
	rows := 0
	err := e.QueryRowContext(ctx, c.made, c.args[0], c.args[1], c.as).Scan(&rows)
	return rows > 0, err
}

func (c change) on(ctx context.Context, e execer) (applied bool, err error) {
	done, err := e.ExecContext(ctx, c.statement, c.args...)
	if err != nil {
		return false, err
	}
	rows, err := done.RowsAffected()
	return rows > 0, err
}

// apply makes a change, together with writes of the application if there are any, and
// again if the answer was lost: a change that has been made is then not applied a second
// time, and the record says by whom it was.
func (s *Store) apply(ctx context.Context, c change, writes []Write) (applied bool, err error) {
	if len(writes) > 0 {
		return s.transactAgain(ctx, s.passing, &c, writes)
	}
	err = persist(ctx, s.passing, func() error {
		applied, err = c.on(ctx, s.db)
		return err
	})
	return applied, err
}

// transactAgain is transact, repeated while again says so of its error. The error that
// remains is marked where none of the tries can have been committed.
func (s *Store) transactAgain(ctx context.Context, again func(error) bool, record *change, writes []Write) (applied bool, err error) {
	doubtful := false
	err = persist(ctx, again, func() error {
		applied, err = s.transact(ctx, record, writes)
		doubtful = doubtful || inDoubt(err)
		return err
	})
	if err != nil && !doubtful {
		err = &unwrittenError{err}
	}
	return applied, err
}

// inDoubt tells whether a transaction that came back with err may have been committed:
// the commit was sent and not answered, or a write has ended the transaction itself.
// Everything else comes before the commit, or is its refusal.
func inDoubt(err error) bool {
	_, unknown := errors.AsType[*unknownError](err)
	return unknown || errors.Is(err, ErrTransactionEnded)
}

// transact carries out writes in a transaction, with a change of the record unless that
// is nil, and commits it where the change is applied.
//
// The record comes first. From then on its row is locked, which keeps all others away
// from it until the end, and those who don't own it don't get to the writes.
func (s *Store) transact(ctx context.Context, record *change, writes []Write) (applied bool, err error) {
	tx, err := s.db.BeginTx(ctx, &s.options)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // of no effect after Commit; a write may panic
	if record != nil {
		if applied, err := record.on(ctx, tx); !applied || err != nil {
			return false, err
		}
	}
	if _, err := tx.ExecContext(ctx, mark); err != nil {
		return false, err
	}
	if err := s.carryOut(ctx, tx, record, writes); err != nil {
		return false, err
	}
	// A driver may end the commit with the context. Here it is known that none was sent.
	if err := ctx.Err(); err != nil {
		return false, err
	}
	switch err := tx.Commit(); {
	case err == nil:
		return true, nil
	case errors.Is(err, sql.ErrTxDone) && ctx.Err() == nil:
		return false, ErrTransactionEnded
	case refused(err):
		return false, &persistence.RefusedError{Index: len(writes) - 1, Err: err}
	case busy(err):
		return false, err
	default:
		return false, &unknownError{err}
	}
}

// A savepoint that is set before each write marks the transaction: one that has been ended,
// or is another one, does not have it. Both dialects know these words.
const (
	savepoint = "ikkai_write"
	mark      = "SAVEPOINT " + savepoint
	remark    = "RELEASE SAVEPOINT " + savepoint + "; " + mark
	unmark    = "ROLLBACK TO SAVEPOINT " + savepoint
)

// unmarked tells whether a statement has failed because the savepoint is not there.
func unmarked(err error) bool {
	state := sqlState(err)
	return state == "3B001" || state == "25P01" || // invalid_savepoint_specification, no_active_sql_transaction
		err != nil && says(err, "no such savepoint") // SQLite
}

// carryOut carries out writes of the application in a transaction. After each it looks
// whether the transaction still is the one that the record was changed in: what a write has
// ended is not gone on with, and a failed statement that it has not told of is its own.
func (s *Store) carryOut(ctx context.Context, tx *sql.Tx, record *change, writes []Write) error {
	for i, write := range writes {
		if err := write(ctx, tx); err != nil {
			return s.blame(ctx, tx, record, i, err)
		}
		switch _, err := tx.ExecContext(ctx, remark); {
		case unmarked(err):
			return fmt.Errorf("%w: it was write %d", ErrTransactionEnded, i)
		case err != nil:
			return s.blame(ctx, tx, record, i, err)
		}
	}
	return nil
}

// blame says what the error of a write means. Where its transaction is still there to be
// rolled back, the write has failed; otherwise it was the connection. One that SQLite has
// rolled back for its failure (ON CONFLICT ROLLBACK) has left the record as it was.
func (s *Store) blame(ctx context.Context, tx *sql.Tx, record *change, index int, err error) error {
	_, looking := tx.ExecContext(ctx, unmark)
	lost := tx.Rollback()
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), err)
	case unmarked(looking) && record != nil && undone(err):
		if stands, looking := record.stands(ctx, s.db); stands || looking != nil {
			return endedBy(err)
		}
		return &persistence.RefusedError{Index: index, Err: err}
	case unmarked(looking), errors.Is(lost, sql.ErrTxDone):
		return endedBy(err)
	case looking != nil, lost != nil:
		return &brokenError{errors.Join(err, looking, lost)}
	case busy(err):
		return err
	default:
		return &persistence.RefusedError{Index: index, Err: err}
	}
}

// endedBy is ErrTransactionEnded with the error of the write that did it. It does not wrap
// that one: nobody may take it for a refusal.
func endedBy(err error) error { return fmt.Errorf("%w: %v", ErrTransactionEnded, err) }

// ErrTransactionEnded means that a write has committed or rolled back the transaction that it
// was given, which is the store's to end. What it did with it is not known. Comes inside a
// [*persistence.Fault], which is for good.
var ErrTransactionEnded = errors.New("sqlstore: a write has committed or rolled back the transaction that it was given")

// unknownError is that of a commit that the server has not answered: it may have been
// carried out.
type unknownError struct{ err error }

func (e *unknownError) Error() string { return fmt.Sprintf("the commit was not answered: %v", e.err) }

// Unwrap returns the driver's error.
func (e *unknownError) Unwrap() error { return e.err }

// brokenError is that of a transaction whose connection is gone. It was not committed.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

// Unwrap returns the errors of the write and of the driver.
func (e *brokenError) Unwrap() error { return e.err }

// unwrittenError is that of a transaction of which nothing was committed, in any try.
type unwrittenError struct{ err error }

func (e *unwrittenError) Error() string { return e.err.Error() }

// Unwrap returns the error of the last try.
func (e *unwrittenError) Unwrap() error { return e.err }
