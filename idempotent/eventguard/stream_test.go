package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestRecordsOfTwoStreamsAreDifferent(t *testing.T) {
	runs := 0
	handle, err := eventguard.Kinesis(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Logger: silent},
		func(context.Context, order, events.KinesisEventRecord) error { runs++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	event := delivered[events.KinesisEvent](t, "kinesis-payments.json")
	for _, stream := range []string{"payments", "payments", "refunds"} {
		for i := range event.Records {
			event.Records[i].EventSourceArn = "arn:aws:kinesis:eu-west-1:123456789012:stream/" + stream
		}
		if response, err := handle(t.Context(), event); err != nil || response.BatchItemFailures == nil || len(response.BatchItemFailures) > 0 {
			t.Fatalf("%v, %v, want [] failed", response.BatchItemFailures, err)
		}
	}
	if want := 2 * len(event.Records); runs != want {
		t.Errorf("%d runs, want %d", runs, want)
	}
}

// Several records in one: each is one to the guard, and a failure brings back the whole.
func TestRecordsThatAreTakenApart(t *testing.T) {
	split := func(r events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
		switch text := string(r.Kinesis.Data); text {
		case "error":
			return nil, sliceError{errTryAgain}
		case "panic":
			panic(sliceError{errTryAgain})
		default:
			var parts []events.KinesisEventRecord
			for part := range strings.FieldsSeq(text) {
				// Nothing but data and key is the part's own.
				parts = append(parts, events.KinesisEventRecord{Kinesis: events.KinesisRecord{Data: []byte(part), PartitionKey: "of " + part}})
			}
			return parts, nil
		}
	}
	for name, test := range map[string]struct {
		data   []string
		ran    []string
		failed string
		again  []string // ran when the batch comes again, with nothing wrong any more
	}{
		"several":          {[]string{"a b", "c"}, []string{"a of a in s:0:0", "b of b in s:0:1", "c of c in s:1"}, "[]", nil},
		"equal ones":       {[]string{"a a", "a"}, []string{"a of a in s:0:0", "a of a in s:0:1", "a of a in s:1"}, "[]", nil},
		"none":             {[]string{"", "c"}, []string{"c of c in s:1"}, "[]", nil},
		"a failure of one": {[]string{"a bad b", "c"}, []string{"a of a in s:0:0"}, "[{0}]", []string{"bad of bad in s:0:1", "b of b in s:0:2", "c of c in s:1"}},
		"an error":         {[]string{"a", "error", "c"}, []string{"a of a in s:0"}, "[{1}]", []string{}},
		"a panic":          {[]string{"a", "panic", "c"}, []string{"a of a in s:0"}, "[{1}]", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			ill := true
			handle, err := eventguard.Kinesis(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Split: split, Logger: silent}, func(_ context.Context, data json.RawMessage, r events.KinesisEventRecord) error {
				if string(data) == "bad" && ill {
					return errTryAgain
				}
				l.add(fmt.Sprintf("%s %s in %s", data, r.Kinesis.PartitionKey, r.EventID))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var event events.KinesisEvent
			for i, data := range test.data {
				event.Records = append(event.Records, events.KinesisEventRecord{EventID: fmt.Sprint("s:", i), Kinesis: events.KinesisRecord{SequenceNumber: fmt.Sprint(i), Data: []byte(data)}})
			}
			got, err := handle(t.Context(), event)
			if err != nil || fmt.Sprint(got.BatchItemFailures) != test.failed {
				t.Errorf("%v failed, %v, want %s", got.BatchItemFailures, err, test.failed)
			}
			l.want(t, test.ran...)
			ill, l.lines = false, nil
			if _, err := handle(t.Context(), event); err != nil {
				t.Error(err)
			}
			l.want(t, test.again...)
		})
	}
}

func TestRecordsWithoutAnIdAreNeitherRunNorPassed(t *testing.T) {
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{})
	ran := errors.New("ran")
	kinesis, err := eventguard.Kinesis(guard, eventguard.Config{Logger: silent}, func(context.Context, json.RawMessage, events.KinesisEventRecord) error { return ran })
	if err != nil {
		t.Fatal(err)
	}
	dynamodb, err := eventguard.DynamoDB(guard, eventguard.Config{Logger: silent}, func(context.Context, events.DynamoDBEventRecord) error { return ran })
	if err != nil {
		t.Fatal(err)
	}
	_, inKinesis := kinesis(t.Context(), events.KinesisEvent{Records: make([]events.KinesisEventRecord, 1)})
	_, inDynamoDB := dynamodb(t.Context(), events.DynamoDBEvent{Records: make([]events.DynamoDBEventRecord, 1)})
	for source, err := range map[string]error{"Kinesis": inKinesis, "DynamoDB": inDynamoDB} {
		if !errors.Is(err, eventguard.ErrBatch) || !errors.Is(err, idempotent.ErrKey) || errors.Is(err, ran) {
			t.Errorf("%s: %v, want a BatchError of a KeyError", source, err)
		}
	}
}

// A Key sees a change as Lambda delivers it.
func TestAKeyReadsAStreamRecord(t *testing.T) {
	event := delivered[events.DynamoDBEvent](t, "dynamodb-stream-orders.json")
	tests := map[string]struct {
		config idempotent.Config
		runs   int
	}{
		"each change": {idempotent.Config{}, 2},
		"each state":  {idempotent.Config{Key: idempotency.MustJMESPath("[dynamodb.Keys.pk.S, dynamodb.NewImage.state.S]")}, 2},
		"each item":   {idempotent.Config{Key: idempotency.MustJMESPath("dynamodb.Keys.pk.S")}, 1},
		"each place":  {idempotent.Config{Key: idempotency.MustJMESPath("dynamodb.SequenceNumber")}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handle, err := eventguard.DynamoDB(newGuard(t, persistence.NewMemory(), test.config), eventguard.Config{Logger: silent},
				func(context.Context, events.DynamoDBEventRecord) error { runs++; return nil })
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if response, err := handle(t.Context(), event); err != nil || len(response.BatchItemFailures) > 0 {
					t.Fatal(response, err)
				}
			}
			if runs != test.runs {
				t.Errorf("%d runs, want %d", runs, test.runs)
			}
		})
	}
}
