package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/rows"
)

// stock is the goods on sale, a row "stock#" + SKU each: their quantity, the price
// of one in cents, and the row's version, which every change counts up.
type stock struct{ *ledger.Ledger }

// reservation is what was taken out of stock.
type reservation struct {
	Items  []item `json:"items"`
	Amount int64  `json:"amount"` // cents, by the prices at which it was taken
}

var errSoldOut = errors.New("sold out")

// reserve takes the items out of stock, all or none, at the prices that it finds. The
// writes are enlisted: they happen with the checkpoint of the step that this is
// called in, or not at all, and if a row is not as it was read, the step fails with
// [rows.ErrVersionConflict].
func (s stock) reserve(ctx context.Context, items []item) (reservation, error) {
	r := reservation{Items: items}
	var writes []dynamostore.Write
	for _, i := range items {
		row, err := s.Get(ctx, "stock#"+i.SKU)
		if err != nil {
			return reservation{}, err
		}
		if row == nil {
			return reservation{}, &orderError{"there is no " + i.SKU}
		}
		seen, err := read(row)
		if err != nil {
			return reservation{}, fmt.Errorf("stock of %s: %w", i.SKU, err)
		}
		if seen.quantity < i.Quantity {
			return reservation{}, fmt.Errorf("%s is %w", i.SKU, errSoldOut)
		}
		r.Amount += i.Quantity * seen.price
		writes = append(writes, s.take(i, seen.version))
	}
	return r, dynamostore.Enlist(ctx, writes...)
}

// take is a write on the condition that nobody has changed the row since that version
// of it was read: neither the quantity nor the price is another one then.
func (s stock) take(i item, seen int64) dynamostore.Write {
	return rows.Update{
		Table:  s.Table(),
		Key:    ledger.Row{"pk": ledger.Text("stock#" + i.SKU)},
		Set:    []string{"quantity = quantity - :taken"},
		Values: ledger.Row{":taken": ledger.Number(i.Quantity)},
	}.IfVersion("version", seen).Write()
}

// release puts the items back. Its writes are enlisted as well, and commit with the
// record's word that the step is undone: once. They depend on nothing that was read,
// so nobody else's sale can get in their way, but it is a new version of the row.
func (s stock) release(ctx context.Context, r reservation) error {
	var writes []dynamostore.Write
	for _, i := range r.Items {
		writes = append(writes, rows.Update{
			Table:  s.Table(),
			Key:    ledger.Row{"pk": ledger.Text("stock#" + i.SKU)},
			Add:    []string{"quantity :returned", "version :one"},
			Values: ledger.Row{":returned": ledger.Number(i.Quantity), ":one": ledger.Number(1)},
		}.Write())
	}
	return dynamostore.Enlist(ctx, writes...)
}

// shelf is what a row of the stock says.
type shelf struct{ quantity, price, version int64 }

func read(row ledger.Row) (s shelf, err error) {
	var errs [3]error
	s.quantity, errs[0] = row.Number("quantity")
	s.price, errs[1] = row.Number("price")
	s.version, errs[2] = row.Number("version")
	return s, errors.Join(errs[:]...)
}
