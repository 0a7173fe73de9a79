package eventguard_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

func recordKeyGuard(t *testing.T, store persistence.Store, key *idempotency.Expression) *idempotent.Guard {
	t.Helper()
	guard, err := idempotent.New(store, idempotent.Config{Operation: "order", Key: key, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// What a tool finds are the records that the handler of the source writes, by the guard's Key
// and by the ids of the source.
func TestTheKeysOfRecordsAreFoundFromTheirEvent(t *testing.T) {
	quiet := eventguard.Config{Logger: slog.New(slog.DiscardHandler)}
	sent := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Body: `{"id": "a"}`}, {MessageId: "m-2", Body: `{"id": "b"}`},
	}}
	published := events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Body: `{"Type": "Notification", "MessageId": "n-1", "Message": "{\"id\": \"a\"}"}`},
	}}
	data := func(id, text string) (r events.KinesisEventRecord) {
		r.EventID, r.EventSourceArn = "shardId-000000000000:"+id, "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
		r.Kinesis.SequenceNumber, r.Kinesis.Data = id, []byte(text)
		return r
	}
	stream := events.KinesisEvent{Records: []events.KinesisEventRecord{data("1", `{"id": "a"}`), data("2", `{"id": "b"}`)}}
	halves := func(r events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
		first, second := r, r
		second.Kinesis.Data = []byte(`{"id": "c"}`)
		return []events.KinesisEventRecord{first, second}, nil
	}
	table := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{{
		EventID: "e-1", EventName: "INSERT",
		Change: events.DynamoDBStreamRecord{SequenceNumber: "1", Keys: map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute("a")}},
	}}}
	var kafka eventguard.KafkaEvent
	if err := json.Unmarshal([]byte(`{"eventSource":"aws:kafka","eventSourceArn":"arn:aws:kafka:eu-west-1:123456789012:cluster/c","bootstrapServers":"b:9092","records":{"orders-0":[{"topic":"orders","partition":0,"offset":7,"timestamp":1,"timestampType":"CREATE_TIME","value":"`+
		base64.StdEncoding.EncodeToString([]byte(`{"id": "a"}`))+`","headers":[]}]}}`), &kafka); err != nil {
		t.Fatal(err)
	}
	topic := events.SNSEvent{Records: []events.SNSEventRecord{{SNS: events.SNSEntity{MessageID: "n-1", Message: `{"id": "a"}`}}}}
	rule := json.RawMessage(`{"id": "e-1", "source": "shop", "detail-type": "order", "detail": {"id": "a"}}`)

	with := func(change func(*eventguard.Config)) eventguard.Config {
		c := quiet
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		key    string // selected from a payload; empty for the ids of the source
		config eventguard.Config
		event  any
		handle handled
		ids    []string
	}{
		"SQS":              {"", quiet, sent, runSQS(sent), []string{"m-1", "m-2"}},
		"SQS, by Key":      {"id", quiet, sent, runSQS(sent), []string{"m-1", "m-2"}},
		"SNS through SQS":  {"", with(func(c *eventguard.Config) { c.Content = eventguard.SNSEnvelope }), published, runSQS(published), []string{"m-1"}},
		"Kinesis":          {"", quiet, stream, runKinesis(stream), []string{"1", "2"}},
		"Kinesis, apart":   {"", with(func(c *eventguard.Config) { c.Split = halves }), stream, runKinesis(stream), []string{"1", "1", "2", "2"}},
		"DynamoDB":         {"", quiet, table, runTable(table), []string{"1"}},
		"DynamoDB, by Key": {"dynamodb.Keys.id.S", quiet, table, runTable(table), []string{"1"}},
		"Kafka":            {"", quiet, kafka, runKafka(kafka), []string{"orders-0@7"}},
		"SNS":              {"", quiet, topic, runSNS(topic), []string{"n-1"}},
		"EventBridge":      {"", quiet, rule, runRule(rule), []string{"e-1"}},
		"EventBridge, Key": {"detail.id", quiet, rule, runRule(rule), []string{"e-1"}},
	} {
		for _, tenant := range []string{"", "blue"} {
			t.Run(name+tenant, func(t *testing.T) {
				var key *idempotency.Expression
				if test.key != "" {
					key = idempotency.MustJMESPath(test.key)
				}
				store := persistence.NewMemory()
				ctx := t.Context()
				if tenant != "" {
					ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: tenant})
				}
				if err := test.handle(ctx, recordKeyGuard(t, store, key), test.config); err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, r := range store.Records() {
					want = append(want, r.Key)
				}
				// Another process, without the table.
				keys, err := eventguard.RecordKeys(ctx, recordKeyGuard(t, persistence.NewMemory(), key), test.config, test.event)
				if err != nil {
					t.Fatal(err)
				}
				var got, ids []string
				for _, k := range keys {
					if k.Err != nil {
						t.Error(k.Err)
					}
					got, ids = append(got, k.Key), append(ids, k.ID)
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) || len(want) != len(test.ids) || !slices.Equal(ids, test.ids) {
					t.Errorf("found %q of %q, written are %q", got, ids, want)
				}
			})
		}
	}
}

// handled runs an event through the handler of its source.
type handled func(context.Context, *idempotent.Guard, eventguard.Config) error

func runSQS(event events.SQSEvent) handled {
	return func(ctx context.Context, g *idempotent.Guard, c eventguard.Config) error {
		handler, err := eventguard.SQS(g, c, func(context.Context, json.RawMessage, events.SQSMessage) error { return nil })
		if err == nil {
			_, err = handler(ctx, event)
		}
		return err
	}
}

func runKinesis(event events.KinesisEvent) handled {
	return func(ctx context.Context, g *idempotent.Guard, c eventguard.Config) error {
		handler, err := eventguard.Kinesis(g, c, func(context.Context, json.RawMessage, events.KinesisEventRecord) error { return nil })
		if err == nil {
			_, err = handler(ctx, event)
		}
		return err
	}
}

func runTable(event events.DynamoDBEvent) handled {
	return func(ctx context.Context, g *idempotent.Guard, c eventguard.Config) error {
		handler, err := eventguard.DynamoDB(g, c, func(context.Context, events.DynamoDBEventRecord) error { return nil })
		if err == nil {
			_, err = handler(ctx, event)
		}
		return err
	}
}

func runKafka(event eventguard.KafkaEvent) handled {
	return func(ctx context.Context, g *idempotent.Guard, c eventguard.Config) error {
		handler, err := eventguard.Kafka(g, c, func(context.Context, json.RawMessage, eventguard.KafkaRecord) error { return nil })
		if err == nil {
			_, err = handler(ctx, event)
		}
		return err
	}
}

func runSNS(event events.SNSEvent) handled {
	return func(ctx context.Context, g *idempotent.Guard, c eventguard.Config) error {
		handler, err := eventguard.SNS(g, c, func(context.Context, json.RawMessage, events.SNSEventRecord) error { return nil })
		if err == nil {
			err = handler(ctx, event)
		}
		return err
	}
}

func runRule(event json.RawMessage) handled {
	return func(ctx context.Context, g *idempotent.Guard, c eventguard.Config) error {
		handler, err := eventguard.EventBridge(g, c, func(context.Context, json.RawMessage) error { return nil })
		if err == nil {
			err = handler(ctx, event)
		}
		return err
	}
}

func TestARecordWithoutAKeySaysWhy(t *testing.T) {
	guard := recordKeyGuard(t, persistence.NewMemory(), idempotency.MustJMESPath("id"))
	config := eventguard.Config{Skip: func(payload []byte) bool {
		if string(payload) == "panic" {
			panic("a bug")
		}
		return string(payload) == "skip"
	}}
	event := events.SQSEvent{}
	wants := []error{idempotent.ErrKey, idempotent.ErrKey, idempotent.ErrSkip, eventguard.ErrPanic, nil}
	for i, body := range []string{`{}`, `no JSON`, `skip`, `panic`, `{"id": "a"}`} {
		event.Records = append(event.Records, events.SQSMessage{MessageId: fmt.Sprint(i), Body: body})
	}
	keys, err := eventguard.RecordKeys(t.Context(), guard, config, event)
	if err != nil || len(keys) != len(wants) {
		t.Fatal(keys, err)
	}
	for i, want := range wants {
		if k := keys[i]; !errors.Is(k.Err, want) || (k.Key == "") != (want != nil) || k.ID != fmt.Sprint(i) {
			t.Errorf("%d: %+v, want %v", i, k, want)
		}
	}
	for name, event := range map[string]any{"none": nil, "a message": events.SQSMessage{}} {
		if _, err := eventguard.RecordKeys(t.Context(), guard, config, event); !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The record of a message that somebody asks about.
func ExampleRecordKeys() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "order", Key: idempotency.MustJMESPath("order_id")})
	if err != nil {
		panic(err)
	}
	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "19dd0b57", Body: `{"order_id": "o-1"}`}}}
	keys, err := eventguard.RecordKeys(context.Background(), guard, eventguard.Config{}, event)
	fmt.Println(keys[0].ID, keys[0].Key, err)
	// Output: 19dd0b57 order#00d5c8b71f851bbe47626a189b20fb19c11753e244bb658095c370ba3798f85c <nil>
}
