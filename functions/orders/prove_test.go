package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestTheOrdersAreProved(t *testing.T) {
	batch := idempotenttest.SQS(
		`{"order_id":"ord-1","customer":"c","items":[{"sku":"cup","quantity":1}]}`,
		`{"order_id":"ord-2","customer":"c","items":[{"sku":"pot","quantity":2}]}`,
	)
	idempotenttest.Prove(t, idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			return wiring.Build(newFunction, e.Client(), settings)
		},
		Request:   batch,
		Duplicate: idempotenttest.Redelivered(batch),
		Other:     idempotenttest.SQS(`{"order_id":"ord-3","customer":"c","items":[{"sku":"cup","quantity":1}]}`),
		Setup:     func(_ testing.TB, db *dynamotest.DB) { db.MustCreateTable(ordersTable, "pk") },
		Books:     func(w *idempotenttest.World) idempotenttest.Books { return lambdatest.Rows(w.DB(), ordersTable) },
		Timeout:   timeout,
	})
}
