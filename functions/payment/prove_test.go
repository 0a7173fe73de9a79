package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// The provider is part of the function here: its charges are rows, like the payments.
func TestThePaymentIsProved(t *testing.T) {
	idempotenttest.Prove(t, idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			return wiring.Build(newFunction, e.Client(), settings)
		},
		Request:   event(t, "httpapi-payment"),
		Duplicate: event(t, "httpapi-payment-retry"),
		Other:     event(t, "httpapi-payment-other-caller"),
		Setup:     func(_ testing.TB, db *dynamotest.DB) { db.MustCreateTable(paymentsTable, "pk") },
		Books:     func(w *idempotenttest.World) idempotenttest.Books { return lambdatest.Rows(w.DB(), paymentsTable) },
		Timeout:   timeout,
	})
}
