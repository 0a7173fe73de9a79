package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

const (
	ordersTable = "orders"
	timeout     = 10 * time.Second // as in template.yaml
)

// settings are those of the function as it is deployed.
var settings = map[string]string{"IDEMPOTENCY_TABLE": lambdatest.IdempotencyTable, "ORDERS_TABLE": ordersTable}

// Messages of the sample events.
const (
	first   = "5d3f6b0a-7a43-4f2e-9e58-2b1f9a1f0c01"
	second  = "5d3f6b0a-7a43-4f2e-9e58-2b1f9a1f0c02"
	invalid = "5d3f6b0a-7a43-4f2e-9e58-2b1f9a1f0c03"
	garbage = "5d3f6b0a-7a43-4f2e-9e58-2b1f9a1f0c05"
)

func newDatabase(t *testing.T) *dynamotest.DB {
	t.Helper()
	return lambdatest.NewDatabase(t, ordersTable)
}

// newEnvironment starts the function with a warehouse of the given settings.
func newEnvironment(t *testing.T, db *dynamotest.DB, behaviour, keys string) *lambdatest.Environment {
	t.Helper()
	return lambdatest.Start(t, db, timeout, func(client *dynamodb.Client) (any, error) {
		return wiring.Build(newFunction, client, settings, map[string]string{"SIMULATED_WAREHOUSE": behaviour, "WAREHOUSE_IDEMPOTENT": keys})
	})
}

// event reads a file of testdata/events.
func event(t *testing.T, name string) []byte {
	t.Helper()
	return lambdatest.Event(t, name)
}

// message is a batch of one message with that id and body.
func message(t *testing.T, id, body string) []byte {
	t.Helper()
	batch, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{MessageId: id, Body: body}}})
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// wantFailed sends a batch and wants these messages, and no others, to come back.
func wantFailed(t *testing.T, e *lambdatest.Environment, batch []byte, ids ...string) {
	t.Helper()
	answer, err := e.Invoke(batch)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	var response events.SQSEventResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, failure := range response.BatchItemFailures {
		failed = append(failed, failure.ItemIdentifier)
	}
	if !slices.Equal(failed, ids) {
		t.Errorf("%v come back, want %v", failed, ids)
	}
}

// wantRows counts the rows of the orders table.
func wantRows(t *testing.T, db *dynamotest.DB, shipments, orders int) {
	t.Helper()
	got := lambdatest.Rows(db, ordersTable)
	if got["shipment"] != shipments || got["order"] != orders {
		t.Errorf("%d shipments and %d orders, want %d and %d", got["shipment"], got["order"], shipments, orders)
	}
}

// wantRecords counts the records of the idempotency table.
func wantRecords(t *testing.T, db *dynamotest.DB, completed, failed int) {
	t.Helper()
	got := lambdatest.Records(db)
	if got["COMPLETED"] != completed || got["FAILED"] != failed {
		t.Errorf("the records are %v, want %d completed and %d failed", got, completed, failed)
	}
}
