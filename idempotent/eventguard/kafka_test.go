package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// kafka returns a handler of raw values.
func kafka[T any](t *testing.T, guard idempotent.Config, config eventguard.Config, fn func(T, eventguard.KafkaRecord) error) func(context.Context, eventguard.KafkaEvent) (eventguard.KafkaResponse, error) {
	t.Helper()
	handle, err := eventguard.Kafka(newGuard(t, persistence.NewMemory(), guard), quieter(config), func(_ context.Context, value T, r eventguard.KafkaRecord) error { return fn(value, r) })
	if err != nil {
		t.Fatal(err)
	}
	return handle
}

// kafkaEvent reads an event whose records are given as JSON, under any name.
func kafkaEvent(t *testing.T, records ...string) eventguard.KafkaEvent {
	t.Helper()
	var event eventguard.KafkaEvent
	text := `{"eventSource": "aws:kafka", "records": {"any": [` + strings.Join(records, ",") + `]}}`
	if err := json.Unmarshal([]byte(text), &event); err != nil {
		t.Fatal(err)
	}
	return event
}

func TestAKafkaEventIsDecoded(t *testing.T) {
	var got []eventguard.KafkaRecord
	handle := kafka(t, idempotent.Config{}, eventguard.Config{}, func(_ json.RawMessage, r eventguard.KafkaRecord) error {
		got = append(got, r)
		return nil
	})
	if response, err := handle(t.Context(), delivered[eventguard.KafkaEvent](t, "kafka-orders.json")); err != nil || response.BatchItemFailures == nil || len(response.BatchItemFailures) > 0 {
		t.Fatalf("%v, %v, want [] failed", response.BatchItemFailures, err)
	}
	want := []eventguard.KafkaRecord{
		{Topic: "shop-orders", Partition: 0, Offset: 9007199254740993, Timestamp: time.UnixMilli(1764580440000), TimestampType: "LOG_APPEND_TIME", Key: []byte{}, Value: []byte{}},
		{
			Topic: "shop-orders", Partition: 1, Offset: 204, Timestamp: time.UnixMilli(1764580445123), TimestampType: "CREATE_TIME",
			Key: []byte("customer-7"), Value: []byte(`{"order_id":"o-1","amount":5}`),
			Headers: []eventguard.KafkaHeader{{Name: "traceparent", Value: []byte("00")}, {Name: "raw", Value: []byte{118, 220, 0, 127, 128}}, {Name: "raw", Value: []byte{}}},
		},
		{Topic: "shop-orders", Partition: 1, Offset: 205, Timestamp: time.UnixMilli(1764580445200), TimestampType: "CREATE_TIME", Key: []byte("customer-8")},
	}
	// Their Go syntax tells nil from empty.
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

func TestAKafkaRecordIsWrittenAsItIsRead(t *testing.T) {
	event := delivered[eventguard.KafkaEvent](t, "kafka-orders.json")
	text, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	var again eventguard.KafkaEvent
	if err := json.Unmarshal(text, &again); err != nil || fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", event) {
		t.Errorf("%v: got  %#v\nwant %#v", err, again, event)
	}
	// Lambda's own type reads the same places.
	var theirs events.KafkaEvent
	if err := json.Unmarshal(text, &theirs); err != nil || theirs.Records["shop-orders-1"][0].Headers[1]["raw"][1] != 220 {
		t.Errorf("%v: %v", err, theirs)
	}
}

// The answer is an object for each record, with the names and kinds that Lambda reads.
func TestAKafkaAnswerIsWhatLambdaUnderstands(t *testing.T) {
	handle := kafka(t, idempotent.Config{}, eventguard.Config{}, func(json.RawMessage, eventguard.KafkaRecord) error { return errTryAgain })
	response, err := handle(t.Context(), delivered[eventguard.KafkaEvent](t, "kafka-orders.json"))
	answer, _ := json.Marshal(response)
	const want = `{"batchItemFailures":[{"itemIdentifier":{"partition":"shop-orders-0","offset":9007199254740993}},` +
		`{"itemIdentifier":{"partition":"shop-orders-1","offset":204}},{"itemIdentifier":{"partition":"shop-orders-1","offset":205}}]}`
	if err != nil || string(answer) != want {
		t.Errorf("%s, %v, want %s", answer, err, want)
	}
	none := kafka(t, idempotent.Config{}, eventguard.Config{}, func(json.RawMessage, eventguard.KafkaRecord) error { return nil })
	response, err = none(t.Context(), eventguard.KafkaEvent{Records: map[string][]eventguard.KafkaRecord{}})
	if answer, _ := json.Marshal(response); err != nil || string(answer) != `{"batchItemFailures":[]}` {
		t.Errorf("of nothing: %s, %v", answer, err)
	}
}

// Records say where they are from, not the names of the event's map.
func TestKafkaRecordsRunByTopicPartitionAndOffset(t *testing.T) {
	for range 20 { // orders of a map
		var ran []string
		handle := kafka(t, idempotent.Config{}, eventguard.Config{}, func(_ json.RawMessage, r eventguard.KafkaRecord) error {
			ran = append(ran, fmt.Sprint(r.Topic, " ", r.Partition, " ", r.Offset))
			return nil
		})
		at := func(topic string, partition, offset int64) []eventguard.KafkaRecord {
			return []eventguard.KafkaRecord{{Topic: topic, Partition: partition, Offset: offset, Value: []byte("{}")}}
		}
		_, err := handle(t.Context(), eventguard.KafkaEvent{Records: map[string][]eventguard.KafkaRecord{
			"a-10": at("a", 10, 1), "a-9": append(at("a", 9, 3), at("a", 9, 2)...), "a-b-1": at("a-b", 1, 1), "mislabelled": at("a", 1, 7),
		}})
		if want := []string{"a 1 7", "a 9 2", "a 9 3", "a 10 1", "a-b 1 1"}; err != nil || !slices.Equal(ran, want) {
			t.Fatalf("%q ran, %v, want %q", ran, err, want)
		}
	}
}

func TestAFailureHoldsItsPartitionOnly(t *testing.T) {
	for name, test := range map[string]struct {
		config  eventguard.Config
		ran     []string
		failed  string
		skipped bool
	}{
		"in order":       {eventguard.Config{}, []string{"0/1", "1/1", "1/2"}, "{[{t-0@2} {t-0@3}]}", false},
		"at once":        {eventguard.Config{Concurrency: 3}, []string{"0/1", "1/1", "1/2"}, "{[{t-0@2} {t-0@3}]}", false},
		"without order":  {eventguard.Config{Unordered: true}, []string{"0/1", "0/3", "1/1", "1/2"}, "{[{t-0@2}]}", false},
		"of the skipped": {eventguard.Config{}, []string{"0/1", "0/3", "1/1", "1/2"}, "{[]}", true},
	} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			handle := kafka(t, idempotent.Config{}, test.config, func(_ json.RawMessage, r eventguard.KafkaRecord) error {
				place := fmt.Sprintf("%d/%d", r.Partition, r.Offset)
				switch {
				case place == "0/2" && test.skipped:
					return idempotent.ErrSkip
				case place == "0/2":
					return errTryAgain
				}
				l.add(place)
				return nil
			})
			var records []eventguard.KafkaRecord
			for _, place := range [][2]int64{{0, 1}, {1, 1}, {0, 2}, {1, 2}, {0, 3}} {
				records = append(records, eventguard.KafkaRecord{Topic: "t", Partition: place[0], Offset: place[1]})
			}
			got, err := handle(t.Context(), eventguard.KafkaEvent{Records: map[string][]eventguard.KafkaRecord{"t": records}})
			if err != nil || fmt.Sprint(got) != test.failed {
				t.Errorf("%v, %v, want %s", got, err, test.failed)
			}
			slices.Sort(l.lines)
			l.want(t, test.ran...)
		})
	}
}

func TestWhatIsWrongWithAKafkaRecordIsItsOwnFault(t *testing.T) {
	good := `{"topic": "t", "partition": 0, "offset": 1, "value": "e30="}`
	for name, bad := range map[string]string{
		"a value that is not base64":  `{"topic": "t", "partition": 1, "offset": 1, "value": "{}"}`,
		"a key that is not base64":    `{"topic": "t", "partition": 1, "offset": 1, "key": "?", "value": "e30="}`,
		"a value that is an object":   `{"topic": "t", "partition": 1, "offset": 1, "value": {}}`,
		"a header beyond a byte":      `{"topic": "t", "partition": 1, "offset": 1, "value": "e30=", "headers": [{"h": [300]}]}`,
		"a time that is not a number": `{"topic": "t", "partition": 1, "offset": 1, "value": "e30=", "timestamp": "now"}`,
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handle := kafka(t, idempotent.Config{}, eventguard.Config{}, func(json.RawMessage, eventguard.KafkaRecord) error { runs++; return nil })
			got, err := handle(t.Context(), kafkaEvent(t, good, bad))
			if err != nil || fmt.Sprint(got) != "{[{t-1@1}]}" || runs != 1 {
				t.Errorf("%v, %v after %d runs, want the bad one only", got, err, runs)
			}
		})
	}
}

func TestKafkaRecordsWithoutAPlaceAreNeitherRunNorPassed(t *testing.T) {
	for name, test := range map[string]struct {
		guard idempotent.Config
		event eventguard.KafkaEvent
		want  error
	}{
		"no topic":              {idempotent.Config{}, kafkaEvent(t, `{"value": "e30="}`), eventguard.ErrBatch},
		"no event of Kafka":     {idempotent.Config{}, eventguard.KafkaEvent{EventSource: "aws:sqs"}, eventguard.ErrPayload},
		"no topic, with a key":  {idempotent.Config{Key: byOrderID}, kafkaEvent(t, `{"value": "e30="}`), eventguard.ErrBatch},
		"no topic, it is a bad": {idempotent.Config{}, kafkaEvent(t, `{"value": "?"}`), eventguard.ErrBatch},
	} {
		t.Run(name, func(t *testing.T) {
			handle := kafka(t, test.guard, eventguard.Config{}, func(json.RawMessage, eventguard.KafkaRecord) error { t.Error("ran"); return nil })
			if _, err := handle(t.Context(), test.event); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
		})
	}
}

// A tombstone is no value. It must not be taken for one.
func TestTombstones(t *testing.T) {
	tombstone, empty, null := `{"topic": "t", "partition": 0, "offset": 1, "value": null}`, `{"topic": "t", "partition": 0, "offset": 1, "value": ""}`, `{"topic": "t", "partition": 0, "offset": 1, "value": "bnVsbA=="}`
	skipNull := eventguard.Config{Skip: func(payload []byte) bool { return string(payload) == "null" }}
	for name, test := range map[string]struct {
		run    func(eventguard.Config) (ran []string, failed int)
		config eventguard.Config
		ran    []string
		failed int
	}{
		"a pointer":                   {values[*order](t, tombstone), eventguard.Config{}, []string{"<nil>, nil: true"}, 0},
		"raw":                         {values[json.RawMessage](t, tombstone), eventguard.Config{}, []string{"[], nil: true"}, 0},
		"raw, an empty value":         {values[json.RawMessage](t, empty), eventguard.Config{}, []string{"[], nil: false"}, 0},
		"raw, a value that is null":   {values[json.RawMessage](t, null), eventguard.Config{}, []string{"[110 117 108 108], nil: false"}, 0},
		"a struct":                    {values[order](t, tombstone), eventguard.Config{}, nil, 1},
		"a map":                       {values[map[string]any](t, tombstone), eventguard.Config{}, nil, 1},
		"an interface":                {values[any](t, tombstone), eventguard.Config{}, nil, 1},
		"a struct, an empty value":    {values[order](t, empty), eventguard.Config{}, nil, 1},
		"a pointer, one that is null": {values[*order](t, null), eventguard.Config{}, nil, 1},
		"a struct, skipped":           {values[order](t, tombstone), skipNull, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if ran, failed := test.run(test.config); !slices.Equal(ran, test.ran) || failed != test.failed {
				t.Errorf("%q ran, %d failed, want %q and %d", ran, failed, test.ran, test.failed)
			}
		})
	}
	t.Run("with a key", func(t *testing.T) {
		handle := kafka(t, idempotent.Config{Key: byOrderID}, eventguard.Config{}, func(*order, eventguard.KafkaRecord) error { t.Error("ran"); return nil })
		if got, err := handle(t.Context(), kafkaEvent(t, tombstone)); err != nil || len(got.BatchItemFailures) != 1 {
			t.Errorf("%v, %v, want it failed: it has no key", got, err)
		}
	})
}

// values has a function of T run for a record, and tells what it got.
func values[T any](t *testing.T, record string) func(eventguard.Config) ([]string, int) {
	return func(config eventguard.Config) (ran []string, failed int) {
		handle := kafka(t, idempotent.Config{}, config, func(value T, r eventguard.KafkaRecord) error {
			ran = append(ran, fmt.Sprintf("%v, nil: %t", value, r.Value == nil))
			return nil
		})
		response, err := handle(t.Context(), kafkaEvent(t, record))
		if err != nil {
			t.Error(err)
		}
		return ran, len(response.BatchItemFailures)
	}
}

func TestKafkaRecordsAreKnownByTheirPlace(t *testing.T) {
	record := func(topic string, partition, offset, written int64, cluster string) eventguard.KafkaEvent {
		return eventguard.KafkaEvent{EventSourceARN: cluster, Records: map[string][]eventguard.KafkaRecord{"r": {
			{Topic: topic, Partition: partition, Offset: offset, Timestamp: time.UnixMilli(written), Value: []byte(body("o1"))},
		}}}
	}
	first := record("t", 1, 2, 3, "arn")
	for name, test := range map[string]struct {
		second eventguard.KafkaEvent
		key    *idempotency.Expression
		runs   int
	}{
		"delivered again":           {first, nil, 1},
		"another offset":            {record("t", 1, 3, 3, "arn"), nil, 2},
		"another partition":         {record("t", 0, 2, 3, "arn"), nil, 2},
		"another topic":             {record("u", 1, 2, 3, "arn"), nil, 2},
		"another cluster":           {record("t", 1, 2, 3, "other"), nil, 2},
		"a topic that is made anew": {record("t", 1, 2, 4, "arn"), nil, 2},
		"digits that run together":  {record("t", 12, 3, 3, "arn"), nil, 2},
		"produced again":            {record("t", 1, 3, 4, "arn"), nil, 2},
		"produced again, by key":    {record("t", 1, 3, 4, "arn"), byOrderID, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handle := kafka(t, idempotent.Config{Key: test.key}, eventguard.Config{}, func(json.RawMessage, eventguard.KafkaRecord) error { runs++; return nil })
			for _, event := range []eventguard.KafkaEvent{first, test.second} {
				if got, err := handle(t.Context(), event); err != nil || len(got.BatchItemFailures) > 0 {
					t.Error(got, err)
				}
			}
			if runs != test.runs {
				t.Errorf("%d runs, want %d", runs, test.runs)
			}
		})
	}
}

// Whatever an event says, a record is run or is named as failed, or all of the batch is.
func FuzzKafkaEvent(f *testing.F) {
	f.Add([]byte(`{"records": {"a-0": [{"topic": "a", "partition": 0, "offset": 1, "value": "e30="}, {"topic": "a", "value": "?"}]}}`))
	f.Add([]byte(`{"records": {"x": [{"headers": [{"h": [-1]}], "key": null}], "y": null}}`))
	f.Add([]byte(`{"records": null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var event eventguard.KafkaEvent
		if json.Unmarshal(text, &event) != nil {
			return
		}
		ran := make(map[string]bool)
		guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "order", Logger: silent})
		if err != nil {
			t.Fatal(err)
		}
		handle, err := eventguard.Kafka(guard, eventguard.Config{Logger: silent, Unordered: true}, func(_ context.Context, _ json.RawMessage, r eventguard.KafkaRecord) error {
			ran[fmt.Sprint(r.Topic, r.Partition, " ", r.Offset)] = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		response, err := handle(t.Context(), event)
		if err != nil {
			return // all of it
		}
		named := make(map[eventguard.KafkaItemIdentifier]bool)
		for _, failed := range response.BatchItemFailures {
			named[failed.ItemIdentifier] = true
		}
		for _, records := range event.Records {
			for _, r := range records {
				id := eventguard.KafkaItemIdentifier{Partition: fmt.Sprintf("%s-%d", r.Topic, r.Partition), Offset: r.Offset}
				if !named[id] && !ran[fmt.Sprint(r.Topic, r.Partition, " ", r.Offset)] {
					t.Errorf("%v is neither run nor named", id)
				}
			}
		}
	})
}
