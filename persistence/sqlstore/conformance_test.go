package sqlstore_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestTheContractIsKept(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := counted{newLedger(t, newLab(t, d, nil))}
		storetest.Run(t, func(*testing.T) persistence.Store { return store })
	})
}

// counted is a store beside a ledger whose accounts count entries.
type counted struct{ ledger }

// Entry implements storetest.Ledger.
func (c counted) Entry(name string) storekit.Write {
	return sqlstore.Write(func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO `+c.table+` (id, balance) VALUES (`+c.place(1)+`, 1)
			ON CONFLICT (id) DO UPDATE SET balance = `+c.table+`.balance + 1`, name)
		return err
	})
}

// Refusal implements storetest.Ledger.
func (counted) Refusal() storekit.Write {
	return sqlstore.Write(func(context.Context, *sql.Tx) error { return errOverdrawn })
}

// Entries implements storetest.Ledger.
func (c counted) Entries(ctx context.Context, name string) (n int, err error) {
	err = c.db.QueryRowContext(ctx, `SELECT COALESCE(SUM(balance), 0) FROM `+c.table+` WHERE id = `+c.place(1), name).Scan(&n)
	return n, err
}
