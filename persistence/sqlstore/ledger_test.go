package sqlstore_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// ledger is a table of the application beside a store's: accounts with a balance.
type ledger struct {
	lab
	table string
}

func newLedger(t testing.TB, l lab, accounts ...string) ledger {
	t.Helper()
	books := ledger{l, `"ledger_` + rand.Text() + `"`}
	run(t, l.db, `CREATE TABLE `+books.table+` (id text PRIMARY KEY, balance bigint NOT NULL)`)
	t.Cleanup(func() { drop(t, l.db, books.table[1:len(books.table)-1]) })
	for _, id := range accounts {
		run(t, l.db, `INSERT INTO `+books.table+` VALUES (`+l.place(1)+`, 100)`, id)
	}
	return books
}

var errOverdrawn = errors.New("overdrawn")

// add changes a balance by some amount, each time that it is carried out. No account is
// overdrawn.
func (l ledger) add(id string, amount int) sqlstore.Write {
	return func(ctx context.Context, tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `UPDATE `+l.table+` SET balance = balance + `+l.place(1)+`
			WHERE id = `+l.place(2)+` AND balance >= `+l.place(3), amount, id, -amount)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n != 0 {
			return err
		}
		return errOverdrawn
	}
}

func (l ledger) balance(t testing.TB, id string) int {
	t.Helper()
	var n int
	if err := l.db.QueryRowContext(t.Context(), `SELECT balance FROM `+l.table+` WHERE id = `+l.place(1), id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (l ledger) wants(t testing.TB, id string, want int) {
	t.Helper()
	if got := l.balance(t, id); got != want {
		t.Errorf("the balance of %s is %d, want %d", id, got, want)
	}
}

// transfer moves an amount from one account to another.
func (l ledger) transfer(from, to string, amount int) []storekit.Write {
	return []storekit.Write{l.add(from, -amount), l.add(to, amount)}
}

func refusedAs(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
