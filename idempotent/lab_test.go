package idempotent_test

import (
	"context"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// table is the name of the embedded DynamoDB's table in these tests.
const table = lab.Table

// newTestGuard returns a guard for the operation "payment" unless the config
// names another, with a key by the field id.
func newTestGuard(t testing.TB, store persistence.Store, config idempotent.Config) *idempotent.Guard {
	t.Helper()
	if config.Key == nil && config.Dialect == nil {
		config.Key = idempotency.MustJMESPath("id")
	}
	return lab.NewKeylessGuard(t, store, config)
}

// within is a context that ends in d, as Lambda's do.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// order is the event of these tests.
type order struct {
	ID     string `json:"id"`
	Amount int    `json:"amount,omitempty"`
}
