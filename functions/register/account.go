package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
)

// account is a user's.
type account struct {
	ID string `json:"id"`
	registration
	CreatedAt time.Time `json:"created_at"`
}

// addAccount adds the account unless its mailbox has one already, and returns the
// one that it has. The row is "user#" + the mailbox: that there is one row for a
// key is all that it takes to have one account for a mailbox.
func addAccount(ctx context.Context, users *ledger.Ledger, a account) (account, error) {
	row, err := users.Add(ctx, "user#"+a.mailbox(), ledger.Row{
		"id":         ledger.Text(a.ID),
		"email":      ledger.Text(a.Email),
		"name":       ledger.Text(a.Name),
		"created_at": ledger.Text(a.CreatedAt.Format(time.RFC3339Nano)),
	})
	if err != nil {
		return account{}, err
	}
	createdAt, err := time.Parse(time.RFC3339Nano, row.Text("created_at"))
	if err != nil {
		return account{}, fmt.Errorf("account %s: %w", row.Text("id"), err)
	}
	return account{
		ID:           row.Text("id"),
		registration: registration{Email: row.Text("email"), Name: row.Text("name")},
		CreatedAt:    createdAt,
	}, nil
}
