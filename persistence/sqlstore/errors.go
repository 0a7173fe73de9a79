package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// errContended ends an operation whose record kept changing under it.
var errContended = errors.New("the record kept changing")

// fault translates what a statement came back with.
func fault(op string, err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*persistence.RefusedError](err); ok {
		return refused
	}
	if tooLarge(err) && !errors.Is(err, ErrTransactionEnded) {
		return errors.Join(persistence.ErrTooLarge, err)
	}
	_, unwritten := errors.AsType[*unwrittenError](err)
	return &persistence.Fault{Op: op, Retryable: retryable(err), Unwritten: unwritten, Err: err}
}

// sqlState returns the code that a PostgreSQL server has answered with ("PostgreSQL Error
// Codes" in its manual). The errors of pgx and of lib/pq have that method; SQLite has no
// such codes.
func sqlState(err error) string {
	if answer, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return answer.SQLState()
	}
	return ""
}

// says tells whether an error has one of SQLite's texts for its result codes
// (sqlite3_errstr). The codes themselves every driver shows in another way.
func says(err error, texts ...string) bool {
	message := err.Error()
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(message, text) })
}

// busy tells whether others were in the way. The transaction was rolled back, and the
// same one may succeed a moment later.
func busy(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return true
	case "":
		return says(err, "database is locked", "database table is locked") // SQLITE_BUSY, SQLITE_LOCKED
	default:
		return false
	}
}

// refused tells whether a commit has failed for the sake of what the transaction did: a
// constraint was only looked at then (class 23), or a statement had failed before and the
// write that it belongs to did not say so. The drivers have no codes for that one.
func refused(err error) bool {
	return strings.HasPrefix(sqlState(err), "23") || says(err, constraintFailed,
		"commit unexpectedly resulted in rollback",             // pgx
		"Could not complete operation in a failed transaction") // lib/pq
}

// undone tells whether SQLite may have rolled the whole transaction back for an error (its
// manual, "Transactions", 2.1).
func undone(err error) bool {
	return busy(err) || says(err, constraintFailed, "database or disk is full", "disk I/O error", "out of memory", "interrupted")
}

const constraintFailed = "constraint failed" // SQLITE_CONSTRAINT

// disconnected tells whether a server says that it goes away, or that it can't say what
// has become of a statement.
func disconnected(err error) bool {
	state := sqlState(err)
	return strings.HasPrefix(state, "08") || // connection_exception
		slices.Contains([]string{
			"57P01", "57P02", "57P03", // admin_shutdown, crash_shutdown, cannot_connect_now
			"53300", // too_many_connections
			"25006", // read_only_sql_transaction: of a server that is no primary any more
			"40003", // statement_completion_unknown
		}, state)
}

// transient tells whether the same statement, or transaction, may succeed at once. Of
// PostgreSQL an error without a code is that of a connection.
func (s *Store) transient(err error) bool {
	if _, refused := errors.AsType[*persistence.RefusedError](err); refused || errors.Is(err, persistence.ErrUnreadable) || errors.Is(err, ErrTransactionEnded) {
		return false
	}
	_, broken := errors.AsType[*brokenError](err)
	return busy(err) || disconnected(err) || broken || errors.Is(err, driver.ErrBadConn) ||
		s.dialect == PostgreSQL && sqlState(err) == ""
}

// short tells whether a server had too little of something that it may have later: time,
// where a lock was not to be had or a limit was reached, memory, connections, a disk that
// works. It is too soon to repeat the same statement at once.
func short(err error) bool {
	state := sqlState(err)
	return state == "55P03" || state == "57014" || // lock_not_available, query_canceled
		strings.HasPrefix(state, "53") || strings.HasPrefix(state, "58") // insufficient_resources, system_error
}

// passing tells whether the same statement, or transaction, is worth sending again within
// the time of its call.
func (s *Store) passing(err error) bool {
	_, refused := errors.AsType[*persistence.RefusedError](err)
	return s.transient(err) || !refused && short(err)
}

// retryable tells whether the same call may succeed later: not where the server has
// answered with a refusal (permissions, no such table). SQLite's refusals can't be told
// apart, and count as retryable.
func retryable(err error) bool {
	switch {
	case errors.Is(err, persistence.ErrUnreadable), errors.Is(err, ErrTransactionEnded):
		return false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return true
	default:
		return sqlState(err) == "" || busy(err) || disconnected(err) || short(err)
	}
}

// tooLarge recognises what does not fit into a row.
func tooLarge(err error) bool {
	return sqlState(err) == "54000" || // program_limit_exceeded
		says(err, "string or blob too big") // SQLITE_TOOBIG
}

// alreadyThere tells whether somebody else has made a table, an index or a row first.
func alreadyThere(err error) bool {
	return slices.Contains([]string{"23505", "42P07", "42710"}, sqlState(err)) || // unique_violation, duplicate_table, duplicate_object
		says(err, constraintFailed, "already exists")
}
