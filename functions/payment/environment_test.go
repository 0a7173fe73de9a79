package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

const (
	idempotencyTable = "idempotency"
	paymentsTable    = "payments"
	timeout          = 10 * time.Second // as in template.yaml
)

// newDatabase returns a database with the tables of template.yaml.
func newDatabase(t *testing.T) *dynamolocal.DB {
	t.Helper()
	db := dynamolocal.New()
	client := db.Client()
	if err := dynamostore.CreateTable(t.Context(), client, dynamostore.Config{Table: idempotencyTable}); err != nil {
		t.Fatal(err)
	}
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(paymentsTable),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	db.ResetLog()
	return db
}

// environment is one Lambda environment of the function, with a connection to the
// database of its own.
type environment struct {
	*testing.T
	handler lambda.Handler
	cable   *cable
}

// newEnvironment starts the function with a provider of the given settings.
func newEnvironment(t *testing.T, db *dynamolocal.DB, behaviour, keys string) *environment {
	t.Helper()
	e := &environment{T: t, cable: &cable{db: db}}
	client := db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: e.cable} })
	store, err := dynamostore.New(client, dynamostore.Config{Table: idempotencyTable})
	if err != nil {
		t.Fatal(err)
	}
	payments, err := newTable(client, paymentsTable)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := newSimulatedProvider(payments, behaviour, keys)
	if err != nil {
		t.Fatal(err)
	}
	if e.handler, err = newFunction(store, payments, provider); err != nil {
		t.Fatal(err)
	}
	return e
}

// invoke sends an event, as Lambda does: with a deadline.
func (e *environment) invoke(event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(e.Context(), timeout)
	defer cancel()
	return e.handler.Invoke(ctx, event)
}

// response sends an event and wants this status.
func (e *environment) response(event []byte, status int) events.APIGatewayV2HTTPResponse {
	e.Helper()
	raw, err := e.invoke(event)
	if err != nil {
		e.Fatalf("the function failed: %v", err)
	}
	return decode(e.T, raw, status)
}

func decode(t *testing.T, raw []byte, status int) events.APIGatewayV2HTTPResponse {
	t.Helper()
	var response events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(raw, &response); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", response.StatusCode, status, raw)
	}
	return response
}

// cable connects an environment with the database until it is cut; what the
// function does after that reaches nobody, as if its process had been killed.
type cable struct {
	db  *dynamolocal.DB
	cut atomic.Bool
}

// RoundTrip implements [http.RoundTripper].
func (c *cable) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.cut.Load() {
		return nil, syscall.ECONNREFUSED
	}
	return c.db.RoundTrip(r)
}

// event reads a file of testdata/events.
func event(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "events", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// withBody is an event with another body.
func withBody(t *testing.T, name, body string) []byte {
	t.Helper()
	var e map[string]any
	if err := json.Unmarshal(event(t, name), &e); err != nil {
		t.Fatal(err)
	}
	e["body"] = body
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// wantRows counts the rows of the payments table.
func wantRows(t *testing.T, db *dynamolocal.DB, charges, payments int) {
	t.Helper()
	got := make(map[string]int)
	for _, row := range db.Items(paymentsTable) {
		kind, _, _ := strings.Cut(attributes(row).text("pk"), "#")
		got[kind]++
	}
	if got["charge"] != charges || got["payment"] != payments {
		t.Errorf("%d charges and %d payments, want %d and %d", got["charge"], got["payment"], charges, payments)
	}
}

// wantRecord looks at the only record of the idempotency table; no status means
// that there is to be none.
func wantRecord(t *testing.T, db *dynamolocal.DB, status string) {
	t.Helper()
	records := db.Items(idempotencyTable)
	if status == "" {
		if len(records) > 0 {
			t.Errorf("there is a record: %v", records)
		}
		return
	}
	if len(records) != 1 {
		t.Fatalf("%d records, want one", len(records))
	}
	if got := attributes(records[0]).text("status"); got != status {
		t.Errorf("the record is %s, want %s", got, status)
	}
}
