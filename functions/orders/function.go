package main

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/functions/internal/metrics"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/eventguard/sqsvisibility"
)

// operation is part of every key that this function has stored.
const operation = "order"

// remembered is longer than a message can come back in: it may spend 14 days in the
// dead-letter queue, and then, sent to the queue again, 4 days there.
const remembered = 30 * 24 * time.Hour

// atOnce is how many orders of a batch run at the same time. template.yaml says how
// many batches do.
const atOnce = 5

// function is what Lambda runs.
type function = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// newFunction is the function: the handler, guarded.
func newFunction(p wiring.Parts) (function, error) {
	orders, err := p.Ledger("ORDERS_TABLE")
	if err != nil {
		return nil, err
	}
	warehouse, err := p.Service(orders, "shipment", "WAREHOUSE")
	if err != nil {
		return nil, err
	}
	guard, err := idempotent.New(p.Store, metrics.Watch(idempotent.Config{
		Operation:   operation,
		Key:         idempotency.MustJMESPath("order_id"),
		Fingerprint: idempotency.MustJMESPath("[customer, items]"),
	}))
	if err != nil {
		return nil, err
	}
	h := &handler{orders: orders, warehouse: warehouse}
	backoff, err := backoffOf(p)
	if err != nil {
		return nil, err
	}
	return eventguard.SQS(guard, eventguard.Config{Concurrency: atOnce, Retention: remembered, Backoff: backoff}, h.place)
}

// backoffOf says when orders that come back do so: when the queue says, unless the setting is
// on. Then SQS is asked with the credentials of the function's other client.
func backoffOf(p wiring.Parts) (eventguard.Backoff, error) {
	switch value := p.Setting("BACK_OFF"); value {
	case "", "off":
		return eventguard.Backoff{}, nil
	case "on":
		o := p.Client.Options()
		return eventguard.Backoff{Change: sqsvisibility.New(aws.Config{Credentials: o.Credentials, HTTPClient: o.HTTPClient})}, nil
	default:
		return eventguard.Backoff{}, fmt.Errorf("BACK_OFF: %q is neither on nor off", value)
	}
}
