package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// sale is an order that was paid for.
type sale struct {
	ID string `json:"id"`
	order
	Amount    int64     `json:"amount"`    // cents
	ChargeID  string    `json:"charge_id"` // the provider's
	CreatedAt time.Time `json:"created_at"`
}

// The row of a sale is "sale#" + its ID.

func findSale(ctx context.Context, sales *ledger.Ledger, id string) (s sale, found bool, err error) {
	row, err := sales.Get(ctx, "sale#"+id)
	if err != nil || row == nil {
		return sale{}, false, err
	}
	if err := json.Unmarshal([]byte(row.Text("document")), &s); err != nil {
		return sale{}, false, fmt.Errorf("sale %s: %w", id, err)
	}
	return s, true, nil
}

// enlistSale has the sale written when the request is recorded as done: there is a
// sale if and only if the record says so.
func enlistSale(ctx context.Context, sales *ledger.Ledger, s sale) error {
	document, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return dynamostore.Enlist(ctx, sales.Adding("sale#"+s.ID, ledger.Row{
		"customer": ledger.Text(s.Customer),
		"amount":   ledger.Number(s.Amount),
		"document": ledger.Text(string(document)),
	}))
}
