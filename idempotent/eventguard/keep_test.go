package eventguard_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// noting is a store that notes the events of the claims.
type noting struct {
	*persistence.Memory
	events map[string][]byte // by key
}

func (n noting) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	n.events[c.Key] = c.Event
	return n.Memory.Acquire(ctx, c)
}

// handling runs an event of whatever source.
func handling(t *testing.T, event any) handled {
	t.Helper()
	switch e := event.(type) {
	case events.SQSEvent:
		return runSQS(e)
	case events.KinesisEvent:
		return runKinesis(e)
	case events.DynamoDBEvent:
		return runTable(e)
	case eventguard.KafkaEvent:
		return runKafka(e)
	case events.SNSEvent:
		return runSNS(e)
	default:
		return runRule(e.(json.RawMessage))
	}
}

// TestTheEventThatIsKeptIsOneOfTheSameRecord sends each kept event, as Lambda does it, to another
// process of the function: it finds the record, and makes no other.
func TestTheEventThatIsKeptIsOneOfTheSameRecord(t *testing.T) {
	halves := func(r events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
		if strings.HasPrefix(string(r.Kinesis.Data), `{"part"`) { // as an aggregate is known by its first bytes
			return []events.KinesisEventRecord{r}, nil
		}
		first, second := r, r
		first.Kinesis.Data, second.Kinesis.Data = []byte(`{"part": 1}`), []byte(`{"part": 2}`)
		return []events.KinesisEventRecord{first, second}, nil
	}
	envelope := func(c *eventguard.Config) { c.Content = eventguard.EventBridgeEnvelope }
	for name, c := range map[string]struct {
		key    string // empty for the ids of the source
		event  any    // of which there is a file; its type says how it is read
		file   string
		config func(*eventguard.Config)
	}{
		"SQS":                     {event: events.SQSEvent{}, file: "sqs-orders"},
		"SQS, by Key":             {key: "order_id", event: events.SQSEvent{}, file: "sqs-orders"},
		"SQS, FIFO":               {event: events.SQSEvent{}, file: "sqs-payments-fifo"},
		"Kinesis":                 {event: events.KinesisEvent{}, file: "kinesis-payments"},
		"Kinesis, taken apart":    {event: events.KinesisEvent{}, file: "kinesis-payments", config: func(c *eventguard.Config) { c.Split = halves }},
		"DynamoDB":                {event: events.DynamoDBEvent{}, file: "dynamodb-stream-orders"},
		"DynamoDB, by Key":        {key: "[dynamodb.Keys, eventName]", event: events.DynamoDBEvent{}, file: "dynamodb-stream-orders"},
		"Kafka":                   {event: eventguard.KafkaEvent{}, file: "kafka-orders"},
		"SNS":                     {event: events.SNSEvent{}, file: "sns-payment"},
		"EventBridge":             {event: json.RawMessage{}, file: "eventbridge-payment"},
		"EventBridge through SQS": {event: events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m-1", Body: `{"id": "e-1", "source": "shop", "detail-type": "order", "detail": {}}`}}}, config: envelope},
	} {
		t.Run(name, func(t *testing.T) {
			event := c.event
			if c.file != "" {
				event = decodedAs(t, c.event, delivered[json.RawMessage](t, c.file+".json"))
			}
			config := eventguard.Config{Logger: slog.New(slog.DiscardHandler)}
			if c.config != nil {
				c.config(&config)
			}
			guard := func(store persistence.Store) *idempotent.Guard {
				g := idempotent.Config{Operation: "order", KeepEvent: true, Logger: slog.New(slog.DiscardHandler)}
				if c.key != "" {
					g.Key = idempotency.MustJMESPath(c.key)
				}
				made, err := idempotent.New(store, g)
				if err != nil {
					t.Fatal(err)
				}
				return made
			}
			store := noting{persistence.NewMemory(), make(map[string][]byte)}
			if err := handling(t, event)(t.Context(), guard(store), config); err != nil {
				t.Fatal(err)
			}
			if len(store.events) == 0 {
				t.Fatal("nothing has run")
			}
			for key, kept := range store.events {
				alone := decodedAs(t, c.event, kept)
				other := noting{persistence.NewMemory(), make(map[string][]byte)}
				if err := handling(t, alone)(t.Context(), guard(other), config); err != nil {
					t.Fatal(err)
				}
				if _, same := other.events[key]; !same || len(other.events) != 1 {
					t.Errorf("%s keeps %s, which has the records %v", key, kept, other.events)
				}
				keys, err := eventguard.RecordKeys(t.Context(), guard(persistence.NewMemory()), config, alone)
				if err != nil || !slices.ContainsFunc(keys, func(k eventguard.RecordKey) bool { return k.Key == key }) {
					t.Errorf("%s is not found in what it keeps: %v, %v", key, keys, err)
				}
				if strings.Contains(string(kept), "AQEB") {
					t.Errorf("it keeps the right to delete a message: %s", kept)
				}
			}
		})
	}
}

// decodedAs reads an event as the runtime reads it for a function of that type.
func decodedAs(t *testing.T, like any, event []byte) any {
	t.Helper()
	decoded := reflect.New(reflect.TypeOf(like))
	if err := json.Unmarshal(event, decoded.Interface()); err != nil {
		t.Fatalf("%v: %s", err, event)
	}
	return decoded.Elem().Interface()
}

// TestAnEventIsKeptOnlyWhereThatIsAskedFor: it is not even made otherwise.
func TestAnEventIsKeptOnlyWhereThatIsAskedFor(t *testing.T) {
	store := noting{persistence.NewMemory(), make(map[string][]byte)}
	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m-1", Body: `{}`}}}
	if err := runSQS(event)(t.Context(), recordKeyGuard(t, store, nil), eventguard.Config{}); err != nil {
		t.Fatal(err)
	}
	for key, kept := range store.events {
		if kept != nil {
			t.Errorf("%s keeps %s", key, kept)
		}
	}
}
