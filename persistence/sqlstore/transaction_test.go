package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// transactional is a call of a Transactor, and how it shows in the record.
type transactional struct {
	name     string
	begin    func(t *testing.T, l lab) func(writes []storekit.Write) error
	recorded func(r persistence.Record, found bool) bool
	untold   bool // there is no record to tell of a commit that was not answered
}

var transactionals = []transactional{
	{
		name: "complete",
		begin: func(t *testing.T, l lab) func([]storekit.Write) error {
			lease := acquire(t, l, claim("me")).Lease()
			return func(writes []storekit.Write) error {
				return l.CompleteWith(t.Context(), lease, completed("done"), writes)
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Result) == "done" },
	},
	{
		name: "checkpoint",
		begin: func(t *testing.T, l lab) func([]storekit.Write) error {
			lease := acquire(t, l, claim("me")).Lease()
			return func(writes []storekit.Write) error {
				return l.CheckpointWith(t.Context(), lease, "pay", []byte("done"), writes)
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Steps["pay"]) == "done" },
	},
	{
		name: "complete at once",
		begin: func(t *testing.T, l lab) func([]storekit.Write) error {
			return func(writes []storekit.Write) error {
				r, err := l.CompleteAtOnce(t.Context(), claim("me"), completed("done"), writes)
				if err == nil && (r.Owner != "me" || string(r.Result) != "done") {
					return fmt.Errorf("got %+v", r)
				}
				return err
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Result) == "done" },
	},
	{
		name: "commit",
		begin: func(t *testing.T, l lab) func([]storekit.Write) error {
			return func(writes []storekit.Write) error { return l.Commit(t.Context(), writes) }
		},
		recorded: func(_ persistence.Record, found bool) bool { return !found },
		untold:   true,
	},
}

// onEveryTransactional runs a test on every database and for every call.
func onEveryTransactional(t *testing.T, test func(t *testing.T, d database, call transactional)) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		for _, call := range transactionals {
			t.Run(call.name, func(t *testing.T) { test(t, d, call) })
		}
	})
}

// Whatever request or reply of the transaction is lost, its writes happen once, and the
// caller learns of it. Only where there is no record, and the commit itself was not
// answered, nobody knows.
func TestWritesHappenOnceWhateverIsLost(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		for number := 1; ; number++ {
			var inWay []string
			for kind, lost := range map[string]loss{"request": request, "reply": reply} {
				what := ""
				through := losing(d, nil)
				books := newLedger(t, newLab(t, d, through), "a", "b")
				do := call.begin(t, books.lab)
				through.requests()
				through.lose = func(n int, sent string) loss {
					if n != number {
						return nothing
					}
					what = sent
					return lost
				}
				err := do(books.transfer("a", "b", 7))
				through.lose = nil
				if what != "" {
					inWay = append(inWay, what)
				}
				moved := 7
				if call.untold && what == "COMMIT" {
					if f, ok := errors.AsType[*persistence.Fault](err); !ok || !f.Retryable {
						t.Errorf("the %s of the commit is lost: got %v", kind, err)
					}
					if lost == request {
						moved = 0
					}
				} else if err != nil {
					t.Errorf("the %s of %q is lost: got %v", kind, what, err)
				}
				books.wants(t, "a", 100-moved)
				books.wants(t, "b", 100+moved)
				if r, found := books.record(t, claim("").Key); !call.recorded(r, found) {
					t.Errorf("the %s of %q is lost: the record is %+v", kind, what, r)
				}
			}
			if len(inWay) == 0 {
				if number < 5 {
					t.Errorf("there were only %d requests", number-1)
				}
				return
			}
		}
	})
}

// A commit may still be under way when its connection is taken for lost. Who repeats the
// transaction waits for the row that it holds, and finds that all is done.
func TestACommitThatIsLateIsWaitedFor(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		if call.untold {
			return
		}
		through := losing(d, nil)
		books := newLedger(t, newLab(t, d, through), "a", "b")
		do := call.begin(t, books.lab)
		through.arrival = make(chan struct{})
		commits := 0
		through.lose = func(_ int, sent string) loss {
			switch {
			case sent == "COMMIT" && commits == 0:
				commits++
				return late
			case sent != "BEGIN" && commits == 1:
				commits++
				close(through.arrival) // with the first statement of the second try
			}
			return nothing
		}
		if err := do(books.transfer("a", "b", 7)); err != nil {
			t.Error(err)
		}
		through.underWay.Wait()
		books.wants(t, "a", 93)
		books.wants(t, "b", 107)
		if r, found := books.record(t, claim("").Key); !call.recorded(r, found) {
			t.Errorf("the record is %+v", r)
		}
	})
}

// Two transactions that want the same rows in another order are a deadlock, which the
// server ends: neither caller learns of it.
func TestADeadlockIsRepeated(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		for _, call := range transactionals[:1] {
			t.Run(call.name, func(t *testing.T) {
				books := newLedger(t, newLab(t, d, nil), "a", "b")
				var bothHaveOne sync.WaitGroup
				bothHaveOne.Add(2)
				var all sync.WaitGroup
				tries := make(chan string, 100)
				for _, ids := range [][]string{{"a", "b"}, {"b", "a"}} {
					c := claim("me")
					c.Key = "from " + ids[0]
					lease := acquire(t, books, c).Lease()
					meet := sync.OnceFunc(func() {
						bothHaveOne.Done()
						bothHaveOne.Wait()
					})
					all.Go(func() {
						err := books.CompleteWith(t.Context(), lease, completed("done"), []storekit.Write{
							books.add(ids[0], 1),
							sqlstore.Write(func(context.Context, *sql.Tx) error {
								tries <- ids[0]
								meet()
								return nil
							}),
							books.add(ids[1], 1),
						})
						if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if len(tries) < 3 {
					t.Errorf("%d tries: there was no deadlock", len(tries))
				}
				books.wants(t, "a", 102)
				books.wants(t, "b", 102)
			})
		}
	})
}

// With SERIALIZABLE the writes may rest on what they have read.
func TestASerializationFailureIsRepeated(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		plain := newLab(t, d, nil)
		config := plain.config
		config.Isolation = sql.LevelSerializable
		var err error
		if plain.Store, err = sqlstore.New(plain.db, config); err != nil {
			t.Fatal(err)
		}
		books := newLedger(t, plain, "a")
		var bothHaveRead, all sync.WaitGroup
		bothHaveRead.Add(2)
		for i := range 2 {
			meet := sync.OnceFunc(func() {
				bothHaveRead.Done()
				bothHaveRead.Wait()
			})
			c := claim("me")
			c.Key = fmt.Sprint("payment ", i)
			lease := acquire(t, books, c).Lease()
			all.Go(func() {
				err := books.CompleteWith(t.Context(), lease, completed("done"), []storekit.Write{
					sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
						var balance int
						if err := tx.QueryRowContext(ctx, `SELECT balance FROM `+books.table).Scan(&balance); err != nil {
							return err
						}
						meet()
						_, err := tx.ExecContext(ctx, `UPDATE `+books.table+` SET balance = $1`, balance+1)
						return err
					}),
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		books.wants(t, "a", 102)
	})
}

// A constraint that is only looked at in the commit refuses the last write.
func TestAConstraintThatFailsInTheCommitRefuses(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		books := newLedger(t, newLab(t, d, nil, d.enforcing...), "a")
		child := strings.Replace(books.table, "ledger", "child", 1)
		run(t, books.db, `CREATE TABLE `+child+` (id text REFERENCES `+books.table+` DEFERRABLE INITIALLY DEFERRED)`)
		defer run(t, books.db, `DROP TABLE `+child)
		do := call.begin(t, books.lab)
		err := do([]storekit.Write{
			books.add("a", 7),
			sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `INSERT INTO `+child+` VALUES ('nobody')`)
				return err
			}),
		})
		if refused, ok := errors.AsType[*persistence.RefusedError](err); !ok || refused.Index != 1 {
			t.Errorf("got %v", err)
		}
		books.wants(t, "a", 100)
		if err := do([]storekit.Write{books.add("a", 7)}); err != nil {
			t.Error(err)
		}
		books.wants(t, "a", 107)
	})
}

// A write that does not pass on that its statement has failed can't have the rest of the
// transaction committed either; PostgreSQL rolls it back.
func TestAFailedStatementThatIsNotReportedRefuses(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		books := newLedger(t, newLab(t, d, nil), "a")
		lease := acquire(t, books, claim("me")).Lease()
		err := books.CompleteWith(t.Context(), lease, completed("done"), []storekit.Write{
			books.add("a", 7),
			sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
				tx.ExecContext(ctx, `INSERT INTO `+books.table+` VALUES ('a', 1)`)
				return nil
			}),
		})
		if _, ok := errors.AsType[*persistence.RefusedError](err); !ok {
			t.Errorf("got %v", err)
		}
		books.wants(t, "a", 100)
	})
}

func TestAWriteMustNotEndTheTransaction(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		for name, write := range map[string]sqlstore.Write{
			"roll back":          func(_ context.Context, tx *sql.Tx) error { return tx.Rollback() },
			"roll back and fail": func(_ context.Context, tx *sql.Tx) error { return errors.Join(tx.Rollback(), errOverdrawn) },
		} {
			books := newLedger(t, newLab(t, d, nil), "a")
			err := call.begin(t, books.lab)([]storekit.Write{books.add("a", 7), write})
			if f, ok := errors.AsType[*persistence.Fault](err); !ok || f.Retryable {
				t.Errorf("%s: got %v", name, err)
			}
			books.wants(t, "a", 100)
		}
	})
}

func TestAWriteThatPanicsLeavesNothingBehind(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		books := newLedger(t, newLab(t, d, nil), "a")
		do := call.begin(t, books.lab)
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
			}()
			do([]storekit.Write{books.add("a", 7), sqlstore.Write(func(context.Context, *sql.Tx) error { panic("oops") })})
		}()
		books.wants(t, "a", 100)
		if err := do([]storekit.Write{books.add("a", 7)}); err != nil {
			t.Error(err)
		}
	})
}

// The end of the context is no refusal: the write may have failed for its sake.
func TestAContextThatEndsInAWriteIsAFault(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		books := newLedger(t, newLab(t, d, nil), "a")
		lease := acquire(t, books, claim("me")).Lease()
		ctx, cancel := context.WithCancel(t.Context())
		err := books.CompleteWith(ctx, lease, completed("done"), []storekit.Write{
			books.add("a", 7),
			sqlstore.Write(func(context.Context, *sql.Tx) error {
				cancel()
				return errOverdrawn
			}),
		})
		if f, ok := errors.AsType[*persistence.Fault](err); !ok || !f.Retryable || !f.Unwritten || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		books.wants(t, "a", 100)
	})
}

// What was rolled back in every try is known to be unwritten: the owner can give the
// record up at once.
func TestWhatWasRolledBackIsUnwritten(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		books := newLedger(t, newLab(t, d, nil), "a")
		err := call.begin(t, books.lab)([]storekit.Write{books.add("a", 7), sqlstore.Write(func(context.Context, *sql.Tx) error {
			return inTheWay(d)
		})})
		if f, ok := errors.AsType[*persistence.Fault](err); !ok || !f.Retryable || !f.Unwritten {
			t.Errorf("got %v", err)
		}
		books.wants(t, "a", 100)
	})
}

// A commit without an answer stays in doubt, whatever becomes of the tries after it.
func TestWhatFollowsACommitThatWasNotAnsweredIsInDoubt(t *testing.T) {
	onEveryTransactional(t, func(t *testing.T, d database, call transactional) {
		through := losing(d, func(_ int, sent string) loss {
			if sent == "COMMIT" {
				return request
			}
			return nothing
		})
		books := newLedger(t, newLab(t, d, through), "a")
		tries := 0
		err := call.begin(t, books.lab)([]storekit.Write{books.add("a", 7), sqlstore.Write(func(context.Context, *sql.Tx) error {
			if tries++; tries > 1 {
				return inTheWay(d)
			}
			return nil
		})})
		if f, ok := errors.AsType[*persistence.Fault](err); !ok || !f.Retryable || f.Unwritten {
			t.Errorf("got %+v", err)
		}
		books.wants(t, "a", 100)
	})
}

// inTheWay is the error of a statement that others are in the way of.
func inTheWay(d database) error {
	if d.dialect == sqlstore.SQLite {
		return errors.New("database is locked (5) (SQLITE_BUSY)")
	}
	return serializationFailure{}
}

type serializationFailure struct{}

func (serializationFailure) Error() string { return "could not serialize access" }

func (serializationFailure) SQLState() string { return "40001" }

func TestWritesThatAreNoneAreRefused(t *testing.T) {
	store := newLab(t, onSQLite, nil)
	lease := acquire(t, store, claim("me")).Lease()
	for name, write := range map[string]storekit.Write{
		"nil":              nil,
		"a nil Write":      sqlstore.Write(nil),
		"another store's":  "UPDATE account",
		"a plain function": func(context.Context, *sql.Tx) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			writes := []storekit.Write{write}
			_, atOnce := store.CompleteAtOnce(t.Context(), claim("you"), completed("done"), writes)
			for _, err := range []error{
				store.CompleteWith(t.Context(), lease, completed("done"), writes),
				store.CheckpointWith(t.Context(), lease, "pay", nil, writes),
				store.Commit(t.Context(), writes),
				atOnce,
			} {
				refusedAs(t, err, persistence.ErrInvalid)
			}
		})
	}
	e := new(storekit.Enlistment)
	ctx := storekit.WithEnlistment(t.Context(), e)
	refusedAs(t, sqlstore.Enlist(ctx, nil), persistence.ErrInvalid)
	refusedAs(t, sqlstore.Enlist(t.Context(), func(context.Context, *sql.Tx) error { return nil }), persistence.ErrNotEnlisted)
	if got := e.Close(); len(got) != 0 {
		t.Errorf("%d writes were enlisted", len(got))
	}
}

// The record decides before the writes are carried out, in one transaction, and is looked at
// after each.
func TestTheRecordComesFirst(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		through := new(line)
		books := newLedger(t, newLab(t, d, through), "a")
		lease := acquire(t, books, claim("me")).Lease()
		through.requests()
		if err := books.CompleteWith(t.Context(), lease, completed("done"), []storekit.Write{books.add("a", 7)}); err != nil {
			t.Fatal(err)
		}
		var verbs []string
		for _, statement := range through.requests() {
			verbs = append(verbs, strings.Fields(statement)[:min(2, len(strings.Fields(statement)))]...)
		}
		want := []string{"BEGIN", "UPDATE", `"` + books.config.Table + `"`, "SAVEPOINT", "ikkai_write", "UPDATE", books.table, "RELEASE", "SAVEPOINT", "COMMIT"}
		if !slices.Equal(verbs, want) {
			t.Errorf("sent %q, want %q", verbs, want)
		}
	})
}

// A guard runs what was rolled back again, at once: nothing is left in progress.
func TestARolledBackTransactionReleasesItsRecord(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"busy":    func(context.Context) error { return inTheWay(onSQLite) },
		"timeout": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			store := newLab(t, onSQLite, nil)
			guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", StoreTimeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			_, err = idempotent.Do(t.Context(), guard, "1", func(ctx context.Context) (string, error) {
				return "", sqlstore.Enlist(ctx, func(ctx context.Context, _ *sql.Tx) error { return fail(ctx) })
			})
			if failed, ok := errors.AsType[*idempotent.StoreError](err); !ok || failed.Executed {
				t.Errorf("want a failure of the store in which nothing was executed, got %v", err)
			}
			if _, err := idempotent.Do(t.Context(), guard, "1", func(context.Context) (string, error) { return "again", nil }); err != nil {
				t.Errorf("next: %v", err)
			}
		})
	}
}

// Each write that is enlisted costs the same, however many there are: copying them all each
// time would take gigabytes.
func TestEnlistingManyWritesIsLinear(t *testing.T) {
	nothing := func(context.Context, *sql.Tx) error { return nil }
	ctx := storekit.WithEnlistment(t.Context(), new(storekit.Enlistment))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 35_000 {
		if err := sqlstore.Enlist(ctx, nothing); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 64<<20 {
		t.Errorf("35,000 writes take %d bytes", allocated)
	}
}
