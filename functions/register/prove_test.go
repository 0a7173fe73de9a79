package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestTheRegistrationIsProved(t *testing.T) {
	idempotenttest.Prove(t, idempotenttest.Function{
		New: func(e *idempotenttest.Environment) (any, error) {
			return wiring.Build(newFunction, e.Client(), settings)
		},
		Request:   event(t, "httpapi-registration"),
		Duplicate: event(t, "httpapi-registration-retry"),
		Other:     request(t, "0b6b2bd1-9a4b-4f3e-8a63-2f3f5a1f0d11", `{"email":"grace@example.com","name":"Grace"}`),
		Setup:     func(_ testing.TB, db *dynamotest.DB) { db.MustCreateTable(usersTable, "pk") },
		Books:     func(w *idempotenttest.World) idempotenttest.Books { return lambdatest.Rows(w.DB(), usersTable) },
		Timeout:   timeout,
	})
}
