package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestTheCheckoutIsProved(t *testing.T) {
	idempotenttest.Prove(t, idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			return wiring.Build(newFunction, e.Client(), settings)
		},
		Request:   event(t, "httpapi-checkout"),
		Duplicate: event(t, "httpapi-checkout-retry"),
		Setup: func(t testing.TB, db *dynamotest.DB) {
			db.MustCreateTable(salesTable, "pk")
			shelve(t, db, "cup-white", 10, 4_50)
			shelve(t, db, "pot-iron", 2, 60_00)
		},
		Books: func(w *idempotenttest.World) idempotenttest.Books {
			books := idempotenttest.Books(lambdatest.Rows(w.DB(), salesTable))
			for _, sku := range []string{"cup-white", "pot-iron"} {
				quantity, _ := stockOf(w.DB(), sku).Number("quantity")
				books[sku+" in stock"] = int(quantity)
			}
			return books
		},
		Timeout: timeout,
	})
}
