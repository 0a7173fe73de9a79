package queuesim

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Entry is a record of a shard.
type Entry struct {
	Partition string
	Data      []byte
	sequence  int
}

// Sequence is the entry's sequence number.
func (e Entry) Sequence() string { return fmt.Sprintf("%056d", e.sequence) }

// Shard is a shard of a stream, with the position of its one reader.
type Shard struct {
	mu        sync.Mutex
	entries   []Entry
	position  int
	retries   int // of the batch at the position
	limit     int // of the next batch, while a failed one is bisected
	discarded []Entry
}

// Put adds a record.
func (s *Shard) Put(partition string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, Entry{Partition: partition, Data: data, sequence: len(s.entries) + 1})
}

// Left is how many records have not been passed.
func (s *Shard) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries) - s.position
}

// Discarded are the records that were retried too often.
func (s *Shard) Discarded() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Entry(nil), s.discarded...)
}

// ShardMapping connects a shard to a function.
type ShardMapping struct {
	Shard *Shard
	// Event makes the event of a batch: [KinesisEvent] or [DynamoDBEvent].
	Event     func([]Entry) any
	Function  Function
	BatchSize int
	Timeout   time.Duration // the function's
	// Bisects cuts a batch in half whose invocation has failed.
	Bisects bool
	// MaxRetries is how often a batch is tried again before it is discarded; 0 has
	// no such limit.
	MaxRetries int
}

// Poll has one batch handled and moves on behind it, or to its lowest failure. It
// returns the size of the batch, and why all of it failed, if it did. One Poll runs
// at a time.
func (m ShardMapping) Poll(ctx context.Context) (int, error) {
	batch := m.Shard.next(m.BatchSize)
	if len(batch) == 0 {
		return 0, nil
	}
	event, err := json.Marshal(m.Event(batch))
	if err != nil {
		return len(batch), err
	}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	response, err := m.Function(ctx, event)
	done := len(batch)
	if err == nil {
		ids := make(map[string]bool)
		for _, entry := range batch {
			ids[entry.Sequence()] = true
		}
		var failed map[string]bool
		if failed, err = failures(response, name, ids); err == nil {
			done = lowest(batch, failed)
		}
	}
	if err != nil {
		done = 0
	}
	m.Shard.move(m, batch, done, err)
	return len(batch), err
}

// lowest returns how many records come before the first failure.
func lowest(batch []Entry, failed map[string]bool) int {
	for i, entry := range batch {
		if failed[entry.Sequence()] {
			return i
		}
	}
	return len(batch)
}

func (s *Shard) next(size int) []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 {
		size = min(size, s.limit)
	}
	return s.entries[s.position:min(s.position+size, len(s.entries))]
}

func (s *Shard) move(m ShardMapping, batch []Entry, done int, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.position += done
	switch {
	case done == len(batch):
		s.retries, s.limit = 0, 0
	case done > 0:
		s.retries = 1
	default:
		s.retries++
	}
	if failed != nil && m.Bisects && len(batch) > 1 {
		s.limit, s.retries = (len(batch)+1)/2, 0
	}
	if m.MaxRetries > 0 && s.retries > m.MaxRetries {
		s.discarded = append(s.discarded, batch...)
		s.position += len(batch)
		s.retries, s.limit = 0, 0
	}
}

// KinesisEvent is the event of a batch of a Kinesis stream.
func KinesisEvent(batch []Entry) any {
	var event events.KinesisEvent
	for _, entry := range batch {
		event.Records = append(event.Records, events.KinesisEventRecord{
			AwsRegion: "eu-west-1", EventID: "shardId-000000000000:" + entry.Sequence(), EventName: "aws:kinesis:record",
			EventSource: "aws:kinesis", EventSourceArn: "arn:aws:kinesis:eu-west-1:123456789012:stream/orders", EventVersion: "1.0",
			Kinesis: events.KinesisRecord{
				ApproximateArrivalTimestamp: events.SecondsEpochTime{Time: time.Now()}, Data: entry.Data, PartitionKey: entry.Partition,
				SequenceNumber: entry.Sequence(), KinesisSchemaVersion: "1.0",
			},
		})
	}
	return event
}

// DynamoDBEvent is the event of a batch of a table's stream, in which the items of
// the table are strings.
func DynamoDBEvent(batch []Entry) any {
	var event events.DynamoDBEvent
	for _, entry := range batch {
		key := map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(entry.Partition)}
		event.Records = append(event.Records, events.DynamoDBEventRecord{
			AWSRegion: "eu-west-1", EventID: fmt.Sprintf("%032x", entry.sequence), EventName: "MODIFY", EventSource: "aws:dynamodb",
			EventVersion: "1.1", EventSourceArn: "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-01-01T00:00:00.000",
			Change: events.DynamoDBStreamRecord{
				ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Now()}, Keys: key,
				NewImage: map[string]events.DynamoDBAttributeValue{
					"pk": events.NewStringAttribute(entry.Partition), "data": events.NewStringAttribute(string(entry.Data)),
				},
				SequenceNumber: entry.Sequence(), StreamViewType: "NEW_IMAGE",
			},
		})
	}
	return event
}
