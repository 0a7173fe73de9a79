package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// A write that ends the transaction which it was given, in its own text, is noticed before
// the next write is carried out: that one would be committed without the record.
func TestAWriteThatEndsItsTransactionIsNoticed(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		books := newLedger(t, store, "after")
		lease := acquire(t, store, claim("me")).Lease()
		err := store.CompleteWith(t.Context(), lease, completed("done"), []storekit.Write{
			sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, "ROLLBACK")
				return err
			}),
			books.add("after", 1),
		})
		fault, ok := errors.AsType[*persistence.Fault](err)
		if !errors.Is(err, sqlstore.ErrTransactionEnded) || !ok || fault.Retryable || fault.Unwritten {
			t.Errorf("got %v (%+v), want ErrTransactionEnded", err, fault)
		}
		if r, _ := store.record(t, lease.Key); r.Status != persistence.StatusProcessing {
			t.Errorf("the record is %s", r.Status)
		}
		books.wants(t, "after", 100)
	})
}

// So is one that commits it, or goes on in another: whether it then succeeds, or fails, or a
// later write does, the error is neither a refusal nor a promise that nothing was written.
func TestAWriteThatCommitsItsTransactionIsNoticed(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		texts := []string{"COMMIT", "END", "COMMIT; BEGIN", "ROLLBACK; BEGIN"}
		if d.dialect == sqlstore.PostgreSQL {
			texts = append(texts, "COMMIT AND CHAIN", "ROLLBACK AND CHAIN")
		}
		for _, text := range texts {
			for name, fails := range map[string]error{"and succeeds": nil, "and fails": errors.New("no"), "and is refused": &persistence.RefusedError{}} {
				t.Run(text+" "+name, func(t *testing.T) {
					store := newLab(t, d, nil)
					books := newLedger(t, store, "before", "after")
					writes := []storekit.Write{
						books.add("before", 1),
						sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
							if _, err := tx.ExecContext(ctx, text); err != nil {
								t.Error(err)
							}
							return fails
						}),
						books.add("after", 1),
					}
					lease := acquire(t, store, claim("me")).Lease()
					for call, err := range map[string]error{
						"complete": store.CompleteWith(t.Context(), lease, completed("done"), writes),
						"commit":   store.Commit(t.Context(), writes),
					} {
						fault, ok := errors.AsType[*persistence.Fault](err)
						_, refused := errors.AsType[*persistence.RefusedError](err)
						if !errors.Is(err, sqlstore.ErrTransactionEnded) || !ok || refused || fault.Retryable || fault.Unwritten {
							t.Errorf("%s: got %v (%+v), want ErrTransactionEnded", call, err, fault)
						}
					}
					books.wants(t, "after", 100)
				})
			}
		}
	})
}

// A write that fails and takes its transaction along is a write that was refused: nothing
// has happened, and it is not repeated. It is told also where the write swallows the error.
func TestAWriteThatRollsBackByItsFailureIsRefused(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		if d.dialect != sqlstore.SQLite {
			return // PostgreSQL has no such clause
		}
		for name, swallow := range map[string]bool{"told": false, "swallowed": true} {
			t.Run(name, func(t *testing.T) {
				store := newLab(t, d, nil)
				books := newLedger(t, store, "after")
				lease := acquire(t, store, claim("me")).Lease()
				tries := 0
				err := store.CompleteWith(t.Context(), lease, completed("done"), []storekit.Write{
					sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
						tries++
						for range 2 {
							if _, err := tx.ExecContext(ctx, `INSERT OR ROLLBACK INTO `+books.table+` (id, balance) VALUES ('twice', 1)`); err != nil && !swallow {
								return err
							}
						}
						return nil
					}),
					books.add("after", 1),
				})
				refused, ok := errors.AsType[*persistence.RefusedError](err)
				if !swallow && (!ok || refused.Index != 0) || swallow && !errors.Is(err, sqlstore.ErrTransactionEnded) {
					t.Errorf("got %v", err)
				}
				if r, _ := store.record(t, lease.Key); r.Status != persistence.StatusProcessing || tries != 1 {
					t.Errorf("after %d tries the record is %s", tries, r.Status)
				}
				books.wants(t, "after", 100)
			})
		}
	})
}

// A statement that fails in PostgreSQL spoils the transaction, whatever the write makes of
// it: the write is blamed, and not a later one.
func TestASwallowedErrorIsItsOwnWritesFault(t *testing.T) {
	onPostgreSQL(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		books := newLedger(t, store, "before", "after")
		lease := acquire(t, store, claim("me")).Lease()
		err := store.CheckpointWith(t.Context(), lease, "pay", nil, []storekit.Write{
			books.add("before", 1),
			sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
				_, _ = tx.ExecContext(ctx, `SELECT 1/0`)
				return nil
			}),
			books.add("after", 1),
		})
		if refused, ok := errors.AsType[*persistence.RefusedError](err); !ok || refused.Index != 1 {
			t.Errorf("got %v, want write 1 to be refused", err)
		}
	})
}
