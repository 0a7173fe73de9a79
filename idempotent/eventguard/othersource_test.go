package eventguard_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// Nor does it have keys that one could look for.
func TestAnEventOfAnotherSourceHasNoKeys(t *testing.T) {
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID})
	for _, event := range []any{events.SQSEvent{}, events.SNSEvent{}, events.KinesisEvent{}, events.DynamoDBEvent{}, eventguard.KafkaEvent{}} {
		if keys, err := eventguard.RecordKeys(t.Context(), guard, eventguard.Config{}, event); len(keys) != 0 || !errors.Is(err, eventguard.ErrPayload) {
			t.Errorf("%T: %v, %v", event, keys, err)
		}
	}
}

// A trigger that belongs to another function is no batch without records: that one is done,
// and what has come would be lost.
func TestAnEventOfAnotherSourceIsNotDone(t *testing.T) {
	run := func() error {
		t.Error("the function ran")
		return nil
	}
	guarded := func(t *testing.T) *idempotent.Guard {
		return newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID})
	}
	none := eventguard.Config{}
	handlers := map[string]func(*testing.T) (any, error){
		"SQS": func(t *testing.T) (any, error) {
			return eventguard.SQS(guarded(t), none, func(context.Context, order, events.SQSMessage) error { return run() })
		},
		"SNS": func(t *testing.T) (any, error) {
			return eventguard.SNS(guarded(t), none, func(context.Context, order, events.SNSEventRecord) error { return run() })
		},
		"Kinesis": func(t *testing.T) (any, error) {
			return eventguard.Kinesis(guarded(t), none, func(context.Context, order, events.KinesisEventRecord) error { return run() })
		},
		"DynamoDB": func(t *testing.T) (any, error) {
			return eventguard.DynamoDB(guarded(t), none, func(context.Context, events.DynamoDBEventRecord) error { return run() })
		},
		"DynamoDB, typed": func(t *testing.T) (any, error) {
			return eventguard.Changes(guarded(t), none, func(map[string]events.DynamoDBAttributeValue, any) error { return nil }, func(context.Context, eventguard.Change[order]) error { return run() })
		},
		"Kafka": func(t *testing.T) (any, error) {
			return eventguard.Kafka(guarded(t), none, func(context.Context, order, eventguard.KafkaRecord) error { return run() })
		},
		"EventBridge": func(t *testing.T) (any, error) {
			return eventguard.EventBridge(guarded(t), none, func(context.Context, order) error { return run() })
		},
	}
	for event, of := range map[string]struct {
		payload string
		empty   bool
	}{
		"of a function URL":     {`{"version": "2.0", "rawPath": "/orders", "body": "{}"}`, false},
		"of nobody":             {`{}`, false},
		"null records":          {`{"Records": null, "records": null}`, false},
		"nothing to be done":    {`{"Records": [], "records": {}}`, true},
		"of a schedule, cut":    {`{"version": "0", "source": "aws.events"}`, false},
		"of a step's own input": {`{"order_id": "o1", "amount": 5}`, false},
	} {
		for name, open := range handlers {
			t.Run(name+", "+event, func(t *testing.T) {
				handler, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				_, err = lambda.NewHandler(handler).Invoke(t.Context(), []byte(of.payload))
				if refused := errors.Is(err, eventguard.ErrPayload); refused == (of.empty && name != "EventBridge") {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
