package dynamotest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxListedStreams = 100
	maxGotRecords    = 1000
	maxGotBytes      = 1 << 20
	iteratorLifetime = 15 * time.Minute
)

type (
	listStreamsInput struct {
		Table *string `json:"TableName"`
		Start *string `json:"ExclusiveStartStreamArn"`
		Limit *int
	}
	listStreamsOutput struct {
		Streams []streamSummary
		Last    string `json:"LastEvaluatedStreamArn,omitempty"`
	}
	streamSummary struct {
		StreamArn   string
		StreamLabel string
		TableName   string
	}
	describeStreamInput struct {
		Stream      *string `json:"StreamArn"`
		Start       *string `json:"ExclusiveStartShardId"`
		Limit       *int
		ShardFilter notServed
	}
	streamDescription struct {
		streamSummary
		CreationRequestDateTime epochSeconds
		KeySchema               []keySchemaElement
		Shards                  []shardDescription
		StreamStatus            string
		StreamViewType          string
	}
	shardDescription struct {
		SequenceNumberRange struct {
			StartingSequenceNumber string
			EndingSequenceNumber   string `json:",omitempty"`
		}
		ShardID string `json:"ShardId"`
	}
	shardIteratorInput struct {
		Stream   *string `json:"StreamArn"`
		Shard    *string `json:"ShardId"`
		Type     string  `json:"ShardIteratorType"`
		Sequence *string `json:"SequenceNumber"`
	}
	shardIteratorOutput struct {
		ShardIterator string
	}
	getRecordsInput struct {
		Iterator *string `json:"ShardIterator"`
		Limit    *int
	}
	getRecordsOutput struct {
		Records           []recordDescription
		NextShardIterator string `json:",omitempty"`
	}
)

// streamOperations are the operations of DynamoDB Streams, a service of its own at the same endpoint.
var streamOperations = map[string]func() input{
	"DescribeStream":   func() input { return new(describeStreamInput) },
	"GetRecords":       func() input { return new(getRecordsInput) },
	"GetShardIterator": func() input { return new(shardIteratorInput) },
	"ListStreams":      func() input { return new(listStreamsInput) },
}

var streamARNPattern = regexp.MustCompile(`^(arn:aws[a-z-]*:dynamodb:[a-z0-9-]+:[0-9]{12}:table/[a-zA-Z0-9_.-]+)/stream/[0-9T:.-]+$`)

// tableOfStream is the table that a stream's ARN names.
func tableOfStream(arn *string) []string {
	if arn == nil {
		return nil
	}
	if named := streamARNPattern.FindStringSubmatch(*arn); named != nil {
		return nonNil(&named[1])
	}
	return nil
}

func (in *listStreamsInput) subjects() []string    { return nonNil(in.Table) }
func (in *describeStreamInput) subjects() []string { return tableOfStream(in.Stream) }
func (in *shardIteratorInput) subjects() []string  { return tableOfStream(in.Stream) }
func (in *getRecordsInput) subjects() []string {
	if in.Iterator == nil {
		return nil
	}
	arn, _, _, _ := cutIterator(*in.Iterator)
	return tableOfStream(&arn)
}

func checkPage(faults *constraints, limit *int, atMost int) {
	if limit != nil {
		faults.addIf(*limit < 1, quoted(fmt.Sprint(*limit)), "limit", "Member must have value greater than or equal to 1")
		faults.addIf(*limit > atMost, quoted(fmt.Sprint(*limit)), "limit", fmt.Sprintf("Member must have value less than or equal to %d", atMost))
	}
}

func checkStreamARN(faults *constraints, arn *string) {
	faults.addIf(arn == nil, "null", "streamArn", "Member must not be null")
}

// streamOf finds the stream of an ARN, with no more than a day's records.
func (c *call) streamOf(arn string) (*stream, error) {
	c.streams = slices.DeleteFunc(c.streams, func(s *stream) bool { return !s.flows() && c.at.Sub(s.ended) > streamRetention })
	if !streamARNPattern.MatchString(arn) {
		return nil, invalid("Invalid StreamArn: %s", arn)
	}
	at := slices.IndexFunc(c.streams, func(s *stream) bool { return s.arn == arn })
	if at < 0 {
		return nil, noSuchStream(arn)
	}
	c.streams[at].trim()
	return c.streams[at], nil
}

func (in *listStreamsInput) apply(c *call) (any, error) {
	var faults constraints
	if in.Table != nil {
		checkTableName(&faults, in.Table, "")
	}
	checkPage(&faults, in.Limit, maxListedStreams)
	if err := faults.err(); err != nil {
		return nil, err
	}
	limit := maxListedStreams
	if in.Limit != nil {
		limit = *in.Limit
	}
	out := listStreamsOutput{Streams: []streamSummary{}}
	byARN := slices.SortedFunc(slices.Values(c.streams), func(a, b *stream) int { return strings.Compare(a.arn, b.arn) })
	for _, s := range byARN {
		if in.Table != nil && s.table != plainTableName(*in.Table) || in.Start != nil && s.arn <= *in.Start {
			continue
		}
		if len(out.Streams) == limit {
			out.Last = out.Streams[limit-1].StreamArn
			break
		}
		out.Streams = append(out.Streams, s.summary())
	}
	return out, nil
}

func (s *stream) summary() streamSummary { return streamSummary{s.arn, s.label, s.table} }

func (in *describeStreamInput) apply(c *call) (any, error) {
	var faults constraints
	checkStreamARN(&faults, in.Stream)
	checkPage(&faults, in.Limit, 100)
	if err := faults.err(); err != nil {
		return nil, err
	}
	s, err := c.streamOf(*in.Stream)
	if err != nil {
		return nil, err
	}
	d := streamDescription{
		streamSummary:           s.summary(),
		CreationRequestDateTime: epochSeconds(s.created),
		KeySchema:               s.keys.elements(),
		Shards:                  []shardDescription{},
		StreamStatus:            "ENABLED",
		StreamViewType:          s.view,
	}
	shard := shardDescription{ShardID: s.shard}
	shard.SequenceNumberRange.StartingSequenceNumber = sequenceNumber(0)
	if !s.flows() {
		d.StreamStatus = "DISABLED"
		shard.SequenceNumberRange.EndingSequenceNumber = sequenceNumber(s.end())
	}
	if in.Start == nil {
		d.Shards = append(d.Shards, shard)
	}
	return map[string]streamDescription{"StreamDescription": d}, nil
}

func (in *shardIteratorInput) apply(c *call) (any, error) {
	var faults constraints
	checkStreamARN(&faults, in.Stream)
	faults.addIf(in.Shard == nil, "null", "shardId", "Member must not be null")
	faults.addIf(in.Type == "", "null", "shardIteratorType", "Member must not be null")
	checkEnum(&faults, in.Type, "shardIteratorType", "AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER", "TRIM_HORIZON", "LATEST")
	if err := faults.err(); err != nil {
		return nil, err
	}
	s, err := c.streamOf(*in.Stream)
	if err != nil {
		return nil, err
	}
	if *in.Shard != s.shard {
		return nil, failure("ResourceNotFoundException", "Requested resource not found: Shard does not exist")
	}
	position, err := in.position(s)
	if err != nil {
		return nil, err
	}
	return shardIteratorOutput{s.iterator(position, c.at)}, nil
}

// position is where the iterator starts.
func (in *shardIteratorInput) position(s *stream) (int, error) {
	numbered := strings.HasSuffix(in.Type, "_SEQUENCE_NUMBER")
	switch {
	case numbered && in.Sequence == nil:
		return 0, invalid("SequenceNumber is required for ShardIteratorType %s", in.Type)
	case !numbered && in.Sequence != nil:
		return 0, invalid("SequenceNumber cannot be specified for ShardIteratorType %s", in.Type)
	case in.Type == "TRIM_HORIZON":
		return s.trimmed, nil
	case in.Type == "LATEST":
		return s.end(), nil
	}
	position, ok := positionOf(*in.Sequence)
	if !ok || position >= s.end() {
		return 0, invalid("Invalid SequenceNumber: %s", *in.Sequence)
	}
	if in.Type == "AFTER_SEQUENCE_NUMBER" {
		position++
	}
	if position < s.trimmed {
		return 0, trimmedAccess()
	}
	return position, nil
}

// iterator is a place in the stream, as its caller is to send it back within a quarter of an hour.
func (s *stream) iterator(position int, at time.Time) string {
	return fmt.Sprintf("%s|%d|%d", s.arn, position, at.UnixMilli())
}

func cutIterator(iterator string) (arn string, position int, issued time.Time, ok bool) {
	parts := strings.Split(iterator, "|")
	if len(parts) != 3 {
		return "", 0, time.Time{}, false
	}
	position, err1 := strconv.Atoi(parts[1])
	at, err2 := strconv.ParseInt(parts[2], 10, 64)
	return parts[0], position, time.UnixMilli(at), err1 == nil && err2 == nil && position >= 0
}

func (in *getRecordsInput) apply(c *call) (any, error) {
	var faults constraints
	faults.addIf(in.Iterator == nil, "null", "shardIterator", "Member must not be null")
	checkPage(&faults, in.Limit, maxGotRecords)
	if err := faults.err(); err != nil {
		return nil, err
	}
	arn, position, issued, ok := cutIterator(*in.Iterator)
	if !ok {
		return nil, invalid("Invalid ShardIterator")
	}
	s, err := c.streamOf(arn)
	switch {
	case err != nil:
		return nil, err
	case position > s.end():
		return nil, invalid("Invalid ShardIterator")
	case c.at.Sub(issued) > iteratorLifetime:
		return nil, failure("ExpiredIteratorException", "Iterator expired. The iterator was created at time %s", issued.UTC().Format(time.RFC3339))
	case position < s.trimmed:
		return nil, trimmedAccess()
	}
	limit := maxGotRecords
	if in.Limit != nil {
		limit = *in.Limit
	}
	out := getRecordsOutput{Records: []recordDescription{}}
	for bytes := 0; position < s.end() && len(out.Records) < limit && bytes < maxGotBytes; position++ {
		d := s.describe(position)
		bytes += d.Change.SizeBytes
		out.Records = append(out.Records, d)
	}
	if s.flows() || position < s.end() {
		out.NextShardIterator = s.iterator(position, c.at)
	}
	return out, nil
}
