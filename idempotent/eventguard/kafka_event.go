package eventguard

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// KafkaEvent is the event of a Kafka topic, of Amazon MSK or a cluster of one's own. It
// takes the place of [events.KafkaEvent], which can't tell a value that is null, as of a
// deleted entry, from one that is empty.
type KafkaEvent struct {
	// EventSource is "aws:kafka" for MSK and "SelfManagedKafka" otherwise.
	EventSource string `json:"eventSource"`
	// EventSourceARN is that of the MSK cluster; empty for others.
	EventSourceARN string `json:"eventSourceArn,omitempty"`
	// BootstrapServers are host names and ports, separated by commas.
	BootstrapServers string `json:"bootstrapServers"`
	// Records are those of the batch, under names that are made of topic and partition.
	// Each record says itself where it is from.
	Records map[string][]KafkaRecord `json:"records"`
}

// KafkaRecord is a record of a topic, with its bytes decoded.
type KafkaRecord struct {
	// Topic, Partition and Offset are the record's place, which is its own for good.
	Topic     string
	Partition int64
	Offset    int64
	// Timestamp is when the producer has made the record, or the broker has appended it:
	// which one, TimestampType says (CREATE_TIME, LOG_APPEND_TIME).
	Timestamp     time.Time
	TimestampType string
	// Key is nil where the record has none.
	Key []byte
	// Value is nil where the record has none: a tombstone, which deletes what its key
	// stands for.
	Value []byte
	// Headers are in the order of the record, in which a name may come more than once.
	Headers []KafkaHeader

	err error // why it can't be understood, if it can't
}

// KafkaHeader is a header of a record.
type KafkaHeader struct {
	Name  string // several headers may have the same
	Value []byte // any bytes
}

// wirePlace is the place of a record as Lambda delivers it, which it is reported by.
type wirePlace struct {
	Topic     string `json:"topic"`
	Partition int64  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// wireRecord is a record as Lambda delivers it.
type wireRecord struct {
	wirePlace
	Timestamp     events.MilliSecondsEpochTime         `json:"timestamp"`
	TimestampType string                               `json:"timestampType"`
	Key           *string                              `json:"key"`
	Value         *string                              `json:"value"`
	Headers       []map[string]*events.JSONNumberBytes `json:"headers"`
}

// UnmarshalJSON reads a record as Lambda delivers it: key and value are base64, the
// bytes of headers are signed numbers. What is wrong with them is the record's fault
// only, and is told by [Kafka] when it comes to the record.
func (r *KafkaRecord) UnmarshalJSON(data []byte) error {
	var w wireRecord
	if wrong := json.Unmarshal(data, &w); wrong != nil {
		var place wirePlace
		if err := json.Unmarshal(data, &place); err != nil {
			return err
		}
		*r = KafkaRecord{Topic: place.Topic, Partition: place.Partition, Offset: place.Offset, err: misfit("the record can't be read", wrong)}
		return nil
	}
	*r = KafkaRecord{
		Topic: w.Topic, Partition: w.Partition, Offset: w.Offset,
		Timestamp: w.Timestamp.Time, TimestampType: w.TimestampType,
	}
	var err error
	if r.Key, err = unbase64(w.Key); err != nil {
		r.err = misfit("the key is not base64", err)
	}
	if r.Value, err = unbase64(w.Value); err != nil {
		r.err = misfit("the value is not base64", err)
	}
	for _, header := range w.Headers {
		for _, name := range slices.Sorted(maps.Keys(header)) { // there is one
			h := KafkaHeader{Name: name}
			if value := header[name]; value != nil {
				h.Value = *value
			}
			r.Headers = append(r.Headers, h)
		}
	}
	return nil
}

// unbase64 decodes a text, and keeps null apart from what is empty.
func unbase64(text *string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(*text)
}

// MarshalJSON writes a record as Lambda delivers it.
func (r KafkaRecord) MarshalJSON() ([]byte, error) {
	w := wireRecord{
		wirePlace: wirePlace{r.Topic, r.Partition, r.Offset},
		Timestamp: events.MilliSecondsEpochTime{Time: r.Timestamp}, TimestampType: r.TimestampType,
		Key: rebase64(r.Key), Value: rebase64(r.Value), Headers: make([]map[string]*events.JSONNumberBytes, len(r.Headers)),
	}
	for i, h := range r.Headers {
		w.Headers[i] = map[string]*events.JSONNumberBytes{h.Name: nil}
		if h.Value != nil {
			w.Headers[i][h.Name] = (*events.JSONNumberBytes)(&h.Value)
		}
	}
	return json.Marshal(w)
}

func rebase64(data []byte) *string {
	if data == nil {
		return nil
	}
	text := base64.StdEncoding.EncodeToString(data)
	return &text
}

// partition is how Lambda names the partition of a record; empty where the record does
// not say which one.
func (r KafkaRecord) partition() string {
	if r.Topic == "" {
		return ""
	}
	return r.Topic + "-" + strconv.FormatInt(r.Partition, 10)
}

// inOrder returns the records of an event by topic, partition and offset: those of a map
// come in any.
func (e KafkaEvent) inOrder() []KafkaRecord {
	all := slices.Concat(slices.Collect(maps.Values(e.Records))...)
	slices.SortStableFunc(all, func(a, b KafkaRecord) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return all
}

// KafkaResponse is the answer of a batch: which records failed.
type KafkaResponse struct {
	// BatchItemFailures are the records that are to come back.
	BatchItemFailures []KafkaBatchItemFailure `json:"batchItemFailures"`
}

// KafkaBatchItemFailure is a record that failed.
type KafkaBatchItemFailure struct {
	// ItemIdentifier says which.
	ItemIdentifier KafkaItemIdentifier `json:"itemIdentifier"`
}

// KafkaItemIdentifier says which record. Unlike other sources, Kafka has an object here.
type KafkaItemIdentifier struct {
	// Partition is topic and partition: "orders-3".
	Partition string `json:"partition"`
	Offset    int64  `json:"offset"`
}

// String returns partition and offset.
func (i KafkaItemIdentifier) String() string { return fmt.Sprintf("%s@%d", i.Partition, i.Offset) }
