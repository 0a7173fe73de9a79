package queuesim

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Topic is a Kafka topic, with the position of its one consumer group.
type Topic struct {
	name string

	mu         sync.Mutex
	partitions []partition
}

type partition struct {
	entries   []TopicEntry
	position  int // of the first record that was never delivered
	pending   []TopicEntry
	retries   int // of what is pending
	discarded []TopicEntry
}

// TopicEntry is a record of a topic.
type TopicEntry struct {
	Partition, Offset int
	Value             []byte // nil for a tombstone
	written           time.Time
}

// NewTopic returns an empty topic.
func NewTopic(name string, partitions int) *Topic {
	return &Topic{name: name, partitions: make([]partition, partitions)}
}

// Put adds a record to a partition.
func (t *Topic) Put(in int, value []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.partitions[in]
	p.entries = append(p.entries, TopicEntry{Partition: in, Offset: len(p.entries), Value: value, written: time.Now()})
}

// Left is how many records are neither done nor discarded.
func (t *Topic) Left() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	left := 0
	for _, p := range t.partitions {
		left += len(p.entries) - p.position + len(p.pending)
	}
	return left
}

// Discarded are the records that were retried too often.
func (t *Topic) Discarded() []TopicEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []TopicEntry
	for _, p := range t.partitions {
		all = append(all, p.discarded...)
	}
	return all
}

// TopicMapping connects a topic to a function.
type TopicMapping struct {
	Topic     *Topic
	Function  Function
	BatchSize int
	Timeout   time.Duration // the function's
	// IgnoresAnswers is a mapping without ReportBatchItemFailures: whatever the
	// function answers, the batch is done.
	IgnoresAnswers bool
	// MaxRetries is how often what has failed is delivered again before it is
	// discarded; 0 has no such limit.
	MaxRetries int
}

// Poll has one batch handled, with records of several partitions. Of a partition in
// which some have failed those are delivered again, and only those, before it goes on.
// It returns the size of the batch, and why all of it failed, if it did. One Poll runs
// at a time.
func (m TopicMapping) Poll(ctx context.Context) (int, error) {
	batch := m.Topic.next(m.BatchSize)
	if len(batch) == 0 {
		return 0, nil
	}
	event, err := json.Marshal(m.Topic.event(batch))
	if err != nil {
		return len(batch), err
	}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	response, err := m.Function(ctx, event)
	ids := make(map[place]bool)
	for _, entry := range batch {
		ids[m.Topic.place(entry)] = true
	}
	failed := map[place]bool{}
	if err == nil && !m.IgnoresAnswers {
		failed, err = failures(response, readPlace, ids)
	}
	if err != nil {
		failed = ids
	}
	m.Topic.move(m, batch, failed)
	return len(batch), err
}

// next takes records of all partitions in turn: first what has failed.
func (t *Topic) next(size int) []TopicEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	var batch []TopicEntry
	for taken := 0; ; taken++ {
		before := len(batch)
		for _, p := range t.partitions {
			waiting := p.pending
			if len(waiting) == 0 {
				waiting = p.entries[p.position:]
			}
			if taken < len(waiting) && len(batch) < size {
				batch = append(batch, waiting[taken])
			}
		}
		if len(batch) == before {
			return batch
		}
	}
}

func (t *Topic) move(m TopicMapping, batch []TopicEntry, failed map[place]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.partitions {
		p := &t.partitions[i]
		inBatch := func(e TopicEntry) bool { return e.Partition == i }
		if !slices.ContainsFunc(batch, inBatch) {
			continue
		}
		again := len(p.pending) > 0
		// What there was no room for in the batch stays pending.
		var left []TopicEntry
		for _, e := range p.pending {
			if !slices.ContainsFunc(batch, func(b TopicEntry) bool { return inBatch(b) && b.Offset == e.Offset }) {
				left = append(left, e)
			}
		}
		var still []TopicEntry
		for _, e := range batch {
			if inBatch(e) {
				p.position = max(p.position, e.Offset+1)
				if failed[t.place(e)] {
					still = append(still, e)
				}
			}
		}
		p.pending = slices.Concat(still, left)
		switch {
		case len(still) == 0:
			p.retries = 0
		case again:
			p.retries++
		default:
			p.retries = 1
		}
		if m.MaxRetries > 0 && p.retries > m.MaxRetries {
			p.discarded = append(p.discarded, still...)
			p.pending, p.retries = left, 0
		}
	}
}

// place is how an answer names a record.
type place struct {
	partition string
	offset    string // the digits of the number
}

func (t *Topic) place(e TopicEntry) place {
	return place{fmt.Sprintf("%s-%d", t.name, e.Partition), fmt.Sprint(e.Offset)}
}

// readPlace reads an identifier that is an object. The offset is a number.
func readPlace(identifier json.RawMessage) (place, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(identifier, &members) != nil {
		return place{}, false
	}
	partition, ok := name(members["partition"])
	return place{partition, string(members["offset"])}, ok
}

// event is the event of a batch.
func (t *Topic) event(batch []TopicEntry) any {
	type record struct {
		Topic         string           `json:"topic"`
		Partition     int              `json:"partition"`
		Offset        int              `json:"offset"`
		Timestamp     int64            `json:"timestamp"`
		TimestampType string           `json:"timestampType"`
		Key           *string          `json:"key"`
		Value         *string          `json:"value"`
		Headers       []map[string]any `json:"headers"`
	}
	records := make(map[string][]record)
	for _, e := range batch {
		r := record{
			Topic: t.name, Partition: e.Partition, Offset: e.Offset, Timestamp: e.written.UnixMilli(),
			TimestampType: "CREATE_TIME", Headers: []map[string]any{},
		}
		if e.Value != nil {
			value := base64.StdEncoding.EncodeToString(e.Value)
			r.Value = &value
		}
		at := t.place(e).partition
		records[at] = append(records[at], r)
	}
	return map[string]any{
		"eventSource":      "aws:kafka",
		"eventSourceArn":   "arn:aws:kafka:eu-west-1:123456789012:cluster/shop/751d2973-a626-431c-9d4e-d7975eb44dd7-2",
		"bootstrapServers": "b-1.shop.example.com:9092,b-2.shop.example.com:9092",
		"records":          records,
	}
}
