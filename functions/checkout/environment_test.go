package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	salesTable = "sales"
	timeout    = 10 * time.Second // as in template.yaml
	// lease is for how long a run that died keeps its request.
	lease = timeout + 2*time.Second
)

// settings are those of the function as it is deployed.
var settings = map[string]string{"IDEMPOTENCY_TABLE": lambdatest.IdempotencyTable, "SALES_TABLE": salesTable}

// newDatabase is one with the stock that functions/README.md tells: 10 cups, 2 pots.
func newDatabase(t *testing.T) *dynamotest.DB {
	t.Helper()
	db := lambdatest.NewDatabase(t, salesTable)
	shelve(t, db, "cup-white", 10, 4_50)
	shelve(t, db, "pot-iron", 2, 60_00)
	return db
}

// shelve puts goods into stock, in place of those that are there.
func shelve(t testing.TB, db *dynamotest.DB, sku string, quantity, price int64) {
	t.Helper()
	version, err := stockOf(db, sku).Number("version")
	if err != nil {
		version = 0
	}
	err = db.Seed(salesTable, ledger.Row{
		"pk":       ledger.Text("stock#" + sku),
		"quantity": ledger.Number(quantity),
		"price":    ledger.Number(price),
		"version":  ledger.Number(version + 1),
	})
	if err != nil {
		t.Error(err)
	}
}

func stockOf(db *dynamotest.DB, sku string) ledger.Row {
	for _, row := range db.Items(salesTable) {
		if row := ledger.Row(row); row.Text("pk") == "stock#"+sku {
			return row
		}
	}
	return nil
}

// newEnvironment starts the function as it is deployed, with a provider and a mail
// service that behave as given.
func newEnvironment(t *testing.T, db *dynamotest.DB, provider, mail string) *lambdatest.Environment {
	t.Helper()
	return start(t, db, map[string]string{"SIMULATED_PROVIDER": provider, "SIMULATED_MAIL": mail})
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

// request is a checkout with that key and body.
func request(t *testing.T, key, body string) []byte {
	t.Helper()
	return lambdatest.With(t, lambdatest.With(t, event(t, "httpapi-checkout"), key, "headers", "idempotency-key"), body, "body")
}

// books are what is in stock, and what was done.
type books struct{ cups, pots, charges, mails, sales int64 }

var (
	unsold = books{cups: 10, pots: 2}
	sold   = books{cups: 8, pots: 1, charges: 1, mails: 1, sales: 1}
)

func booksOf(db *dynamotest.DB) books {
	rows := lambdatest.Rows(db, salesTable)
	b := books{charges: int64(rows["charge"]), mails: int64(rows["mail"]), sales: int64(rows["sale"])}
	b.cups, _ = stockOf(db, "cup-white").Number("quantity")
	b.pots, _ = stockOf(db, "pot-iron").Number("quantity")
	return b
}

func wantBooks(t *testing.T, db *dynamotest.DB, want books) {
	t.Helper()
	if got := booksOf(db); got != want {
		t.Errorf("the books say %+v, want %+v", got, want)
	}
}

// wantRecord looks at the only record of the idempotency table, and at its steps; no
// status means that there is to be none.
func wantRecord(t *testing.T, db *dynamotest.DB, status string, steps ...string) {
	t.Helper()
	records := db.Items(lambdatest.IdempotencyTable)
	switch {
	case status == "" && len(records) == 0:
		return
	case len(records) != 1:
		t.Errorf("there are %d records, want %q", len(records), status)
		return
	}
	var names []string
	if m, ok := records[0]["steps"].(*types.AttributeValueMemberM); ok {
		names = slices.Sorted(maps.Keys(m.Value))
	}
	if got := ledger.Row(records[0]).Text("status"); got != status || !slices.Equal(names, steps) {
		t.Errorf("the record is %q with the steps %q, want %q with %q", got, names, status, steps)
	}
}

// killAt has the environment die at the request with that index, before it is carried
// out or right after.
func killAt(db *dynamotest.DB, e *lambdatest.Environment, request int, when string) {
	kill := func(dynamotest.Request) { e.Kill() }
	if when == "after" {
		db.Inject(dynamotest.Fault{Request: request, Do: dynamotest.After(kill)})
		return
	}
	db.Inject(
		dynamotest.Fault{Request: request, Do: dynamotest.Before(kill)},
		dynamotest.Fault{Request: request, Do: dynamotest.LoseRequest()},
	)
}

// protocol is the requests of one run, shortly.
func protocol(requests []dynamotest.Request) []string {
	var operations []string
	for _, r := range requests {
		operations = append(operations, strings.TrimSuffix(r.Operation, "Item"))
	}
	return operations
}
