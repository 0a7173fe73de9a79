// Package embedded opens stores of records on embedded DynamoDBs, for tests.
package embedded

import (
	"cmp"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Table is the name of the table, unless the config has one.
const Table = "idempotency"

// Store returns a database with a table of records, and a store on it by the SDK's client. The
// log is empty.
func Store(tb testing.TB, config dynamostore.Config) (*dynamotest.DB, *dynamostore.Store) {
	tb.Helper()
	db := dynamotest.New(tb)
	config.Table = cmp.Or(config.Table, Table)
	if err := dynamostore.CreateTable(tb.Context(), db.Client(), config); err != nil {
		tb.Fatal(err)
	}
	store, err := dynamostore.New(db.Client(), config)
	if err != nil {
		tb.Fatal(err)
	}
	db.ResetLog()
	return db, store
}
