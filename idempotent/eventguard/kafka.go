package eventguard

import (
	"context"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Kafka returns a handler for the batches of Kafka topics, for lambda.Start: of Amazon
// MSK and of clusters of one's own. It runs fn for each record that has not been done
// before, and answers with those that are to come back, each by partition and offset.
// fn gets the record's value decoded from JSON into T; a [json.RawMessage] gets it as it
// is. A record without a value (a tombstone) gives nil where T is a pointer or a
// json.RawMessage, and fails otherwise; let Config.Skip pass over them (it and the
// guard's Key see null) where they mean nothing.
//
// The partitions of a batch run one after another, by topic and number, or at the same
// time (Config.Concurrency); the records of a partition always in their order. Lambda
// delivers again only what the answer names. So after a failure the rest of its
// partition is neither run nor acquired, and is named too, and comes back in order. Where
// no order is needed, Config.Unordered names failures only.
//
// Requests are recognised by what the guard's Key selects from the value, or, without
// one, by cluster, topic, partition and offset, and the record's time: a topic that is
// deleted and made again counts its offsets from 0. (The cluster is known by the ARN of
// MSK; give clusters of your own that have the same topics an operation each.) A
// producer that tries again, unless it is an idempotent one, makes another offset:
// against that the guard needs a Key.
//
// Panics, the time and the errors are as in [SQS].
func Kafka[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T, KafkaRecord) error) (func(context.Context, KafkaEvent) (KafkaResponse, error), error) {
	p, err := newProcessor(guard, config, topic, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event KafkaEvent) (KafkaResponse, error) {
		if err := ofSource(event); err != nil {
			return KafkaResponse{}, err
		}
		all := event.inOrder()
		records := p.partitions(event, all)
		for i, r := range all {
			records[i].run = valued(func(ctx context.Context, value T) error { return fn(ctx, value, r) }, r.Value)
		}
		failed, err := p.failed(ctx, records, p.process(ctx, records))
		response := KafkaResponse{BatchItemFailures: make([]KafkaBatchItemFailure, len(failed))}
		for n, i := range failed {
			response.BatchItemFailures[n].ItemIdentifier = identifier(all[i])
		}
		return response, err
	}, nil
}

// partitions returns the records of a topic's event, in their order.
func (p processor) partitions(event KafkaEvent, all []KafkaRecord) []record {
	records := make([]record, len(all))
	for i, r := range all {
		records[i].content = func() ([]byte, string, error) { return r.content(event.EventSourceARN) }
		records[i].alone = func() any {
			alone := event
			alone.Records = map[string][]KafkaRecord{r.partition(): {r}}
			return alone
		}
		if r.Topic != "" {
			records[i].id = identifier(r).String()
		}
		if !p.config.Unordered {
			records[i].group = r.partition()
		}
	}
	return records
}

// valued is decoded for what may be missing.
func valued[T any](fn func(context.Context, T) error, value []byte) func(context.Context, []byte) error {
	return func(ctx context.Context, _ []byte) error {
		decoded, err := decodeValue[T](value)
		if err != nil {
			return err
		}
		return fn(ctx, decoded)
	}
}

func identifier(r KafkaRecord) KafkaItemIdentifier {
	return KafkaItemIdentifier{Partition: r.partition(), Offset: r.Offset}
}

// content is what a record is about. Neither a topic's name nor an ARN holds a space.
func (r KafkaRecord) content(cluster string) (payload []byte, id string, err error) {
	if r.err != nil {
		return nil, "", r.err
	}
	payload = r.Value
	if payload == nil {
		payload = []byte("null")
	}
	if r.Topic == "" {
		return payload, "", nil // which is no key
	}
	for _, number := range []int64{r.Partition, r.Offset, r.Timestamp.UnixMilli()} {
		id += " " + strconv.FormatInt(number, 10)
	}
	return payload, cluster + " " + r.Topic + id, nil
}

// decodeValue is decode for what may be missing.
func decodeValue[T any](value []byte) (T, error) {
	if value != nil {
		return decode[T](value)
	}
	var none T
	if _, raw := any(none).(json.RawMessage); raw || reflect.TypeFor[T]().Kind() == reflect.Pointer {
		return none, nil
	}
	return none, &PayloadError{Problem: "the record has no value (a tombstone)"}
}
