package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
)

// payment is an order that was charged.
type payment struct {
	ID string `json:"id"`
	order
	ChargeID  string    `json:"charge_id"` // the provider's
	CreatedAt time.Time `json:"created_at"`
}

// The row of a payment is "payment#" + its ID.

func findPayment(ctx context.Context, payments *ledger.Ledger, id string) (payment, bool, error) {
	row, err := payments.Get(ctx, "payment#"+id)
	if err != nil || row == nil {
		return payment{}, false, err
	}
	p, err := paymentOf(id, row)
	return p, err == nil, err
}

// addPayment records the payment unless it is there already, and returns the one
// that is there.
func addPayment(ctx context.Context, payments *ledger.Ledger, p payment) (payment, error) {
	row := p.row()
	maps.Copy(row, ledger.Row{
		"charge_id":  ledger.Text(p.ChargeID),
		"created_at": ledger.Text(p.CreatedAt.Format(time.RFC3339Nano)),
	})
	row, err := payments.Add(ctx, "payment#"+p.ID, row)
	if err != nil {
		return payment{}, err
	}
	return paymentOf(p.ID, row)
}

func paymentOf(id string, row ledger.Row) (payment, error) {
	o, err := orderOf(row)
	if err != nil {
		return payment{}, fmt.Errorf("payment %s: %w", id, err)
	}
	createdAt, err := time.Parse(time.RFC3339Nano, row.Text("created_at"))
	if err != nil {
		return payment{}, fmt.Errorf("payment %s: %w", id, err)
	}
	return payment{
		order:     o,
		ID:        id,
		ChargeID:  row.Text("charge_id"),
		CreatedAt: createdAt,
	}, nil
}

// row is how an order is written, in the row of a payment or of a charge.
func (o order) row() ledger.Row {
	return ledger.Row{
		"amount":   ledger.Number(o.Amount),
		"currency": ledger.Text(o.Currency),
		"customer": ledger.Text(o.Customer),
	}
}

func orderOf(row ledger.Row) (order, error) {
	amount, err := row.Number("amount")
	return order{Amount: amount, Currency: row.Text("currency"), Customer: row.Text("customer")}, err
}
