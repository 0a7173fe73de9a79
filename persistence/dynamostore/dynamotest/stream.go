package dynamotest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of DynamoDB Streams ("Change data capture for DynamoDB Streams"). The number of records is this database's own,
// for it keeps them in memory.
const (
	streamRetention  = 24 * time.Hour
	maxStreamRecords = 100_000
	streamLabel      = "2006-01-02T15:04:05.000"
)

const (
	viewKeys = "KEYS_ONLY"
	viewNew  = "NEW_IMAGE"
	viewOld  = "OLD_IMAGE"
	viewBoth = "NEW_AND_OLD_IMAGES"
)

// streamSpecification says whether a table has a stream, and what its records show.
type streamSpecification struct {
	Enabled *bool  `json:"StreamEnabled"`
	View    string `json:"StreamViewType,omitempty"`
}

func (s *streamSpecification) check() error {
	if s == nil {
		return nil
	}
	var faults constraints
	faults.addIf(s.Enabled == nil, "null", "streamSpecification.streamEnabled", "Member must not be null")
	checkEnum(&faults, s.View, "streamSpecification.streamViewType", viewNew, viewOld, viewBoth, viewKeys)
	if err := faults.err(); err != nil {
		return err
	}
	switch {
	case *s.Enabled && s.View == "":
		return invalidParameter("StreamViewType must be specified when StreamEnabled is true")
	case !*s.Enabled && s.View != "":
		return invalidParameter("StreamViewType cannot be specified when StreamEnabled is false")
	}
	return nil
}

// stream is what happened to a table's items, in one shard. It outlives the table, or its own end, by a day.
type stream struct {
	table   string
	arn     string
	label   string
	shard   string
	view    string
	keys    keySchema
	created time.Time
	now     func() time.Time
	ended   time.Time // zero while it goes on
	trimmed int       // how many of the oldest records are gone
	records []streamRecord
}

// streamRecord is a change of one item.
type streamRecord struct {
	at         time.Time
	before     item // nil if there was none
	after      item // nil if there is none
	timeToLive bool // made by DynamoDB itself, since the item had expired
}

// openStream gives the table a stream from now on.
func (c *call) openStream(t *table, view string) {
	at := c.at.UTC()
	for taken := true; taken; at = at.Add(time.Millisecond) {
		label := at.Format(streamLabel)
		taken = slices.ContainsFunc(c.streams, func(s *stream) bool { return s.table == t.name && s.label == label })
		if !taken {
			t.stream = &stream{
				table: t.name, arn: t.arn() + "/stream/" + label, label: label, view: view, keys: t.keys, created: c.at, now: c.now,
				shard: fmt.Sprintf("shardId-%020d-%.8s", at.UnixMilli(), t.id),
			}
		}
	}
	c.streams = append(c.streams, t.stream)
}

// closeStream ends the table's stream, if it has one.
func (c *call) closeStream(t *table) {
	if t.stream.flows() {
		t.stream.ended = c.at
	}
}

// flows reports whether the stream takes records.
func (s *stream) flows() bool { return s != nil && s.ended.IsZero() }

// specification is nil for a table that has no stream.
func (s *stream) specification() *streamSpecification {
	if !s.flows() {
		return nil
	}
	return &streamSpecification{Enabled: new(true), View: s.view}
}

// record takes a change of an item; what leaves an item as it was is none.
func (s *stream) record(before, after item, timeToLive bool) {
	if !s.flows() || (before == nil) == (after == nil) && document(before).equal(document(after)) {
		return
	}
	s.records = append(s.records, streamRecord{at: s.now(), before: before, after: after, timeToLive: timeToLive})
	s.trim()
}

// trim forgets records of more than a day ago, and the oldest of too many.
func (s *stream) trim() {
	expired := max(0, len(s.records)-maxStreamRecords)
	for expired < len(s.records) && s.now().Sub(s.records[expired].at) > streamRetention {
		expired++
	}
	if expired > 0 {
		clear(s.records[:expired]) // append leaves them behind when the array is full
		s.records = s.records[expired:]
		s.trimmed += expired
	}
}

// end is the position behind the last record.
func (s *stream) end() int { return s.trimmed + len(s.records) }

// sequenceNumber is how the position of a record is shown: DynamoDB's have 21 to 40 digits and only grow.
func sequenceNumber(position int) string { return fmt.Sprintf("1%020d", position+1) }

// positionOf is the position that a sequence number shows; false if it is none of ours.
func positionOf(number string) (position int, ok bool) {
	if len(number) != len(sequenceNumber(0)) || !strings.HasPrefix(number, "1") {
		return 0, false
	}
	_, err := fmt.Sscanf(number[1:], "%d", &position)
	return position - 1, err == nil && sequenceNumber(position-1) == number
}

// restream enables or disables the table's stream.
func (in *updateTableInput) restream(c *call, t *table) error {
	switch {
	case in.Stream == nil:
	case *in.Stream.Enabled && t.stream.flows():
		return invalid("Table already has an enabled stream: TableName: %s", t.name)
	case *in.Stream.Enabled:
		c.openStream(t, in.Stream.View)
	case !t.stream.flows():
		return invalid("Table has no stream to disable: TableName: %s", t.name)
	default:
		c.closeStream(t)
	}
	return nil
}
