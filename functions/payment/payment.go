package main

import (
	"context"
	"fmt"
	"time"
)

// payment is an order that was charged.
type payment struct {
	ID string `json:"id"`
	order
	ChargeID  string    `json:"charge_id"` // the provider's
	CreatedAt time.Time `json:"created_at"`
}

// The row of a payment is "payment#" + its ID.

func findPayment(ctx context.Context, t *table, id string) (payment, bool, error) {
	row, err := t.get(ctx, "payment#"+id)
	if err != nil || row == nil {
		return payment{}, false, err
	}
	p, err := paymentOf(id, row)
	return p, err == nil, err
}

// addPayment records the payment unless it is there already, and returns the one
// that is there.
func addPayment(ctx context.Context, t *table, p payment) (payment, error) {
	row, err := t.add(ctx, "payment#"+p.ID, attributes{
		"amount":     number(p.Amount),
		"currency":   text(p.Currency),
		"customer":   text(p.Customer),
		"charge_id":  text(p.ChargeID),
		"created_at": text(p.CreatedAt.Format(time.RFC3339Nano)),
	})
	if err != nil {
		return payment{}, err
	}
	return paymentOf(p.ID, row)
}

func paymentOf(id string, row attributes) (payment, error) {
	o, err := orderOf(row)
	if err != nil {
		return payment{}, fmt.Errorf("payment %s: %w", id, err)
	}
	createdAt, err := time.Parse(time.RFC3339Nano, row.text("created_at"))
	if err != nil {
		return payment{}, fmt.Errorf("payment %s: %w", id, err)
	}
	return payment{
		order:     o,
		ID:        id,
		ChargeID:  row.text("charge_id"),
		CreatedAt: createdAt,
	}, nil
}

// orderOf reads the order that a row of a payment or of a charge is about.
func orderOf(row attributes) (order, error) {
	amount, err := row.number("amount")
	return order{Amount: amount, Currency: row.text("currency"), Customer: row.text("customer")}, err
}
