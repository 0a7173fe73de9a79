package eventguard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

var (
	errTryAgain = errors.New("try again")
	byOrderID   = idempotency.MustJMESPath("order_id")
	silent      = slog.New(slog.DiscardHandler)
)

type order struct {
	ID     string `json:"order_id"`
	Amount int    `json:"amount"`
}

func newGuard(t testing.TB, store persistence.Store, config idempotent.Config) *idempotent.Guard {
	t.Helper()
	config.Operation = "order"
	config.Logger = silent
	guard, err := idempotent.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// consumer returns an SQS handler of the config.
func consumer[T any](t testing.TB, guard *idempotent.Guard, config eventguard.Config, fn func(context.Context, T, events.SQSMessage) error) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	t.Helper()
	if config.Logger == nil {
		config.Logger = silent
	}
	handler, err := eventguard.SQS(guard, config, fn)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// message is one as a standard queue delivers it.
func message(id, body string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: id, ReceiptHandle: "receipt of " + id, Body: body,
		Attributes:     map[string]string{"ApproximateReceiveCount": "1", "SentTimestamp": "1764580445123"},
		EventSource:    "aws:sqs",
		EventSourceARN: "arn:aws:sqs:eu-west-1:123456789012:orders",
	}
}

// grouped is one as a FIFO queue delivers it.
func grouped(id, group, body string) events.SQSMessage {
	m := message(id, body)
	m.Attributes["MessageGroupId"] = group
	m.Attributes["SequenceNumber"] = "18890142936401919744"
	m.EventSourceARN += ".fifo"
	return m
}

func batch(messages ...events.SQSMessage) events.SQSEvent {
	return events.SQSEvent{Records: append([]events.SQSMessage{}, messages...)}
}

func body(id string) string { return fmt.Sprintf(`{"order_id": %q, "amount": 5}`, id) }

func failedIDs(r events.SQSEventResponse) []string {
	var ids []string
	for _, f := range r.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

func wantFailed(t testing.TB, got events.SQSEventResponse, err error, want ...string) {
	t.Helper()
	if err != nil {
		t.Errorf("the batch failed: %v", err)
	}
	if ids := failedIDs(got); !slices.Equal(ids, want) {
		t.Errorf("failed: %q, want %q", ids, want)
	}
}

// ledger notes effects.
type ledger struct {
	mu    sync.Mutex
	lines []string
}

func (l *ledger) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *ledger) want(t testing.TB, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.lines, want) {
		t.Errorf("effects: %q, want %q", l.lines, want)
	}
}

// place is a handler that notes orders and fails for those named "bad".
func (l *ledger) place(_ context.Context, o order, _ events.SQSMessage) error {
	if o.ID == "bad" {
		return errTryAgain
	}
	l.add(o.ID)
	return nil
}

// delivered reads an event as Lambda delivers it.
func delivered[E any](t testing.TB, file string) E {
	t.Helper()
	data, err := os.ReadFile("../../testdata/events/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var event E
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&event); err != nil {
		t.Fatal(err)
	}
	return event
}
