package main

import (
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	paymentsTable = "payments"
	timeout       = 10 * time.Second // as in template.yaml
)

// settings are those of the function as it is deployed.
var settings = map[string]string{"IDEMPOTENCY_TABLE": lambdatest.IdempotencyTable, "PAYMENTS_TABLE": paymentsTable, "KEY_SCOPE": "jwt"}

func newDatabase(t *testing.T) *dynamotest.DB {
	t.Helper()
	return lambdatest.NewDatabase(t, paymentsTable)
}

// newEnvironment starts the function as it is deployed, with a provider of the
// given settings.
func newEnvironment(t *testing.T, db *dynamotest.DB, behaviour, keys string) *lambdatest.Environment {
	t.Helper()
	return start(t, db, map[string]string{"SIMULATED_PROVIDER": behaviour, "PROVIDER_IDEMPOTENT": keys})
}

func start(t *testing.T, db *dynamotest.DB, more map[string]string) *lambdatest.Environment {
	t.Helper()
	return lambdatest.Start(t, db, timeout, func(client *dynamodb.Client) (any, error) { return wiring.Build(newFunction, client, settings, more) })
}

// event reads a file of testdata/events.
func event(t *testing.T, name string) []byte {
	t.Helper()
	return lambdatest.Event(t, name)
}

// withBody is an event with another body.
func withBody(t *testing.T, name, body string) []byte {
	t.Helper()
	return lambdatest.With(t, event(t, name), body, "body")
}

// wantRows counts the rows of the payments table.
func wantRows(t *testing.T, db *dynamotest.DB, charges, payments int) {
	t.Helper()
	got := lambdatest.Rows(db, paymentsTable)
	if got["charge"] != charges || got["payment"] != payments {
		t.Errorf("%d charges and %d payments, want %d and %d", got["charge"], got["payment"], charges, payments)
	}
}

// wantRecord looks at the only record of the idempotency table; no status means
// that there is to be none.
func wantRecord(t *testing.T, db *dynamotest.DB, status string) {
	t.Helper()
	want := make(map[string]int)
	if status != "" {
		want[status] = 1
	}
	if got := lambdatest.Records(db); !maps.Equal(got, want) {
		t.Errorf("the records are %v, want %v", got, want)
	}
}
