// Package sqlstore keeps idempotency records in a table of PostgreSQL or SQLite, and can
// commit rows of the application in one transaction with them.
//
//	db, err := sql.Open("pgx", url) // the driver is the application's choice
//	store, err := sqlstore.New(db, sqlstore.Config{Dialect: sqlstore.PostgreSQL})
//
// The package itself imports database/sql and no driver. It is tested with
// github.com/jackc/pgx/v5/stdlib, in all of pgx's query modes, and with
// modernc.org/sqlite.
//
// # Writes of the application
//
// Where the effect of a function is rows in the same database, [Enlist] has them written
// in the transaction that completes the record. The effect then happens once, whatever
// fails and whoever runs twice:
//
//	err := sqlstore.Enlist(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		_, err := tx.ExecContext(ctx, "UPDATE account SET balance = balance - $1 WHERE id = $2", amount, id)
//		return err
//	})
//
// READ COMMITTED is enough for the record at any load: its own update comes first, is
// conditional on the owner, and locks the row until the end of the transaction. Whoever
// is waiting for that lock looks at the row again when it gets it, and finds that it has
// nothing to write. What the application's writes need of each other is for them to
// decide: see [Write] and [Config.Isolation].
//
// # The table
//
// [Migrate] makes it, and [Schema] shows how, for a migration tool of your own:
//
//	idempotency_key  text, primary key; at most 2048 bytes of UTF-8 without NUL
//	status           PROCESSING, PARTIAL_SUCCESS, COMPLETED or FAILED
//	owner            token of the acquisition that last took the record
//	lease_until      epoch milliseconds; while PROCESSING only
//	expire_at        epoch seconds; indexed
//	fingerprint      text, empty if the operation has none
//	result           bytes; NULL in a finished record whose result was not stored
//	steps            JSON object of the finished steps' outputs; bytes that are no text as "base64:…"
//	attempt          acquisitions so far
//	started_at       when the last run has acquired the record, in epoch milliseconds
//	function         that runs it, and its version
//	request_id       of its invocation
//	event            that it was called with, if that is kept; NULL in a finished record
//
// A table that an earlier version of this module has made has no columns for the last four. It
// goes on working, and says nothing of runs, until [Migrate] has been called: what an application
// has to do for that is to migrate first, and then to start new processes.
//
// Steps are a column rather than a table so that everything about a record is in one
// row: one lock, one condition, one statement. The version of the schema is in a table
// of its own, named after this one with "_schema".
//
// Nothing removes expired rows by itself: call [Store.Sweep] from a scheduled function.
// In PostgreSQL a record leaves a dead row version behind when it is completed, one more
// for each checkpoint, and one when it is swept, so a busy table wants autovacuum to come
// often. A checkpoint writes the whole row again, with all steps so far.
//
// # Statements
//
// Times are data from the claim in every one of them: neither the server's clock nor its
// time zone decides anything.
//
//	fresh acquire     1
//	duplicate         1; SQLite 2
//	take-over         1 of what was given up, 2 of a run that died; SQLite 3
//	complete          1
//	release           1; 2 or 3 where the lease does not know of the record's steps, or it is gone
//	checkpoint        1
//	read              1
//	list              1 for each 500 records
//	forget            1
//	with writes       2 more, BEGIN and COMMIT, and those of the writes
//
// The first call of a store asks in one more which columns the table has. Another one looks at
// the record where a condition did not hold. In PostgreSQL a duplicate
// locks the row that it meets, which is a small write, and waits for the end of the
// owner's transaction if that is under way; idempotent.Config.ReadFirst makes it a read
// where most calls are replays.
//
// # Permissions
//
// SELECT, INSERT, UPDATE and DELETE on the table. [Migrate] also needs the right to make
// tables, which a function's own user better has not.
//
// # Connections of a Lambda function
//
// Every environment has a pool of its own and seldom uses more than one connection:
// db.SetMaxOpenConns(2) or so keeps a thousand environments from exhausting the server.
// RDS Proxy or PgBouncer in transaction mode can be between them, because the store keeps
// nothing in a session: no SET, no advisory lock, no temporary table, no cursor. Named
// prepared statements are the driver's: pgx's default_query_exec_mode=exec does without.
//
// The environment may be frozen for minutes between two invocations, and the server or a
// firewall closes idle connections. pgx looks at a connection that was idle before it
// uses it. A connection that breaks in the middle of a call is replaced and the statement
// repeated, which changes nothing if it had been carried out; the record tells. One whose
// other end is silent ends only with the context: idempotent.Config.StoreTimeout bounds
// each call, and tcp_user_timeout of the server and the client does the rest. Give the
// role idle_in_transaction_session_timeout as well: a transaction whose client was frozen
// holds its locks until the server gives up on it.
//
// # Failover
//
// What was committed on the old primary and had not reached the new one is lost, records
// as well as rows, and both together: a transaction with writes is whole or gone. A
// record that is gone alone makes its operation run again, with effects elsewhere twice.
// So synchronous replication (a Multi-AZ instance of RDS, Aurora's storage, or
// synchronous_commit = on with synchronous_standby_names) is what the promises of this
// module rest on. Never point the store at a read replica.
//
// A failover takes longer than the store repeats a statement, which is half a second:
// calls end in a retryable [*persistence.Fault], and their events come again.
//
// # SQLite
//
// For tests, tools and single hosts, in WAL mode and with a busy timeout
// (_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000) with modernc.org/sqlite). Not on
// EFS or any other network file system, whose locks are not to be relied on. The whole
// database has one writer at a time: a write of the application that takes long keeps all
// operations waiting.
//
// # Failures
//
// Deadlocks and serialization failures (40P01, 40001), SQLite's locks and lost connections
// are repeated for about half a second, transactions as a whole. All else is a
// [*persistence.Fault].
package sqlstore
