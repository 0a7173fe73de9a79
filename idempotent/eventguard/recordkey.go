package eventguard

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// RecordKey is the key of the idempotency record that one record of an event has.
type RecordKey struct {
	// ID is that by which the source knows the record: a message's id, a sequence number,
	// partition@offset. The parts of an aggregate share that of the whole.
	ID string
	// Key is empty where there is no record.
	Key string
	// Err says why there is none: idempotent.ErrKey for one without a usable key,
	// idempotent.ErrSkip for one that is not for the function, *PayloadError.
	Err error
}

// RecordKeys returns the keys of the records that the guarded function has for an event, for
// whoever looks for them: neither the function nor the store is asked for anything. Guard and
// config are those of the function. The event is what it gets: an events.SQSEvent,
// events.KinesisEvent, events.DynamoDBEvent, events.SNSEvent, a [KafkaEvent], or, of
// EventBridge, a [json.RawMessage]. A single message is an event with one record.
//
// The order is that in which they are run. The error is an [idempotent.ErrConfig], or a
// *PayloadError for an event without records, which is another source's. Where
// Lambda isolates tenants, the tenant is the context's.
func RecordKeys(ctx context.Context, guard *idempotent.Guard, config Config, event any) ([]RecordKey, error) {
	s, ok := sourceOf(event)
	if !ok {
		return nil, fmt.Errorf("%w: eventguard: a %T is no event", idempotent.ErrConfig, event)
	}
	p, err := newProcessor(guard, config, s, false)
	if err != nil {
		return nil, err
	}
	if err := ofSource(event); err != nil {
		return nil, err
	}
	records := p.recordsOf(event)
	keys := make([]RecordKey, len(records))
	for i := range records {
		keys[i] = p.recordKey(ctx, &records[i])
	}
	return keys, nil
}

func (p processor) recordKey(ctx context.Context, r *record) (k RecordKey) {
	k.Err = contain(func() error { // functions of the user are asked
		p.identify(r)
		if r.err != nil {
			return r.err
		}
		var err error
		k.Key, err = r.identity.RecordKey(ctx)
		return err
	})
	k.ID = r.id
	return k
}

func sourceOf(event any) (source, bool) {
	switch event.(type) {
	case events.SQSEvent:
		return queue, true
	case events.KinesisEvent:
		return kinesis, true
	case events.DynamoDBEvent:
		return changes, true
	case KafkaEvent:
		return topic, true
	case events.SNSEvent, json.RawMessage:
		return single, true
	default:
		return source{}, false
	}
}

// ofSource refuses an event that lacks the list of its source's records: it is another source's,
// and whoever does nothing with it says that all of it is done. An empty list is nothing to do.
func ofSource(event any) error {
	var source string
	var there bool
	switch e := event.(type) {
	case events.SQSEvent:
		source, there = "SQS", e.Records != nil
	case events.KinesisEvent:
		source, there = "Kinesis", e.Records != nil
	case events.DynamoDBEvent:
		source, there = "DynamoDB", e.Records != nil
	case KafkaEvent:
		source, there = "Kafka", e.Records != nil
	case events.SNSEvent:
		source, there = "SNS", e.Records != nil
	default: // EventBridge has no list
		return nil
	}
	if there {
		return nil
	}
	return &PayloadError{Problem: "no " + source + " event: it has no records"}
}

func (p processor) recordsOf(event any) []record {
	switch e := event.(type) {
	case events.SQSEvent:
		return p.messages(e)
	case events.KinesisEvent:
		records, _ := p.shard(e)
		return records
	case events.DynamoDBEvent:
		return changesOf(e)
	case KafkaEvent:
		return p.partitions(e, e.inOrder())
	case events.SNSEvent:
		return notifications(e)
	case json.RawMessage:
		return []record{ruled(e)}
	default:
		return nil
	}
}
