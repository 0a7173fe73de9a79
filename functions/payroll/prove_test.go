package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A start says how many it has paid itself, so two answers are not the same.
func TestThePayrollIsProved(t *testing.T) {
	idempotenttest.Prove(t, idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			return wiring.Build(newFunction, e.Client(), settings)
		},
		Request: november,
		Other:   []byte(`{"month":"2026-12"}`),
		Setup: func(t testing.TB, db *dynamotest.DB) {
			db.MustCreateTable(payrollTable, "pk")
			employ(t, db, "e-000", 3000_00)
			employ(t, db, "e-001", 3000_00)
		},
		Books:   func(w *idempotenttest.World) idempotenttest.Books { return lambdatest.Rows(w.DB(), payrollTable) },
		Same:    func(_, _ idempotenttest.Answer) bool { return true },
		Timeout: timeout,
	})
}
