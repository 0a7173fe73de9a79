package main

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	usersTable = "users"
	timeout    = 10 * time.Second // as in template.yaml
)

// settings are those of the function as it is deployed.
var settings = map[string]string{"IDEMPOTENCY_TABLE": lambdatest.IdempotencyTable, "USERS_TABLE": usersTable}

func newDatabase(t *testing.T) *dynamotest.DB {
	t.Helper()
	return lambdatest.NewDatabase(t, usersTable)
}

// newEnvironment starts the function with a mail service of the given settings.
func newEnvironment(t *testing.T, db *dynamotest.DB, behaviour, keys string) *lambdatest.Environment {
	t.Helper()
	return lambdatest.Start(t, db, timeout, func(client *dynamodb.Client) (any, error) {
		return wiring.Build(newFunction, client, settings, map[string]string{"SIMULATED_MAIL": behaviour, "MAIL_IDEMPOTENT": keys})
	})
}

// event reads a file of testdata/events.
func event(t *testing.T, name string) []byte {
	t.Helper()
	return lambdatest.Event(t, name)
}

// request is a registration with that key and body.
func request(t *testing.T, key, body string) []byte {
	t.Helper()
	return lambdatest.With(t, lambdatest.With(t, event(t, "httpapi-registration"), key, "headers", "idempotency-key"), body, "body")
}

// wantRows counts the rows of the users table.
func wantRows(t *testing.T, db *dynamotest.DB, accounts, mails int) {
	t.Helper()
	got := lambdatest.Rows(db, usersTable)
	if got["user"] != accounts || got["mail"] != mails {
		t.Errorf("%d accounts and %d mails, want %d and %d", got["user"], got["mail"], accounts, mails)
	}
}
