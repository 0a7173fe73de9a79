package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// operation is part of every key that this function has stored.
const operation = "order"

// remembered is longer than a message can come back in: it may spend 14 days in the
// dead-letter queue, and then, sent to the queue again, 4 days there.
const remembered = 30 * 24 * time.Hour

// atOnce is how many orders of a batch run at the same time. template.yaml says how
// many batches do.
const atOnce = 5

// settings are the function's environment variables.
type settings struct {
	idempotencyTable    string
	ordersTable         string
	simulatedWarehouse  string
	warehouseIdempotent string
}

// function is what Lambda runs.
type function = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// newFunction is the function: the handler, guarded.
func newFunction(client *dynamodb.Client, s settings) (function, error) {
	store, err := dynamostore.New(client, dynamostore.Config{Table: s.idempotencyTable})
	if err != nil {
		return nil, fmt.Errorf("IDEMPOTENCY_TABLE: %w", err)
	}
	orders, err := ledger.New(client, s.ordersTable)
	if err != nil {
		return nil, fmt.Errorf("ORDERS_TABLE: %w", err)
	}
	warehouse, err := simulated.New(orders, "shipment", s.simulatedWarehouse, s.warehouseIdempotent)
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_WAREHOUSE: %w", err)
	}
	guard, err := idempotent.New(store, idempotent.Config{
		Operation:   operation,
		Key:         idempotency.MustJMESPath("order_id"),
		Fingerprint: idempotency.MustJMESPath("[customer, items]"),
	})
	if err != nil {
		return nil, err
	}
	h := &handler{orders: orders, warehouse: warehouse}
	return eventguard.SQS(guard, eventguard.Config{Concurrency: atOnce, Retention: remembered}, h.place)
}
