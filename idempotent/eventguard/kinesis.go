package eventguard

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Kinesis returns a handler for the batches of a stream's shard, for lambda.Start.
// It runs fn for each record that has not been done before, in the order of the
// shard, stops at the first one that fails and answers with its sequence number:
// Lambda goes on from there. fn gets the record's data decoded from JSON into T; a
// [json.RawMessage] gets it as it is.
//
// Requests are recognised by what the guard's Key selects from the data, or,
// without one, by the stream, the shard and the sequence number. Neither depends
// on how Lambda cuts its batches, so the mapping may bisect them. A producer that
// tries again makes another sequence number: against that the guard needs a Key.
//
// A record in which the Kinesis Producer Library has aggregated several is one record
// here, unless Config.Split takes it apart. After 10,000 parts the next record of the batch
// is not started, and Lambda goes on from there, which to the mapping is a try. (With
// [FailBatch] it would go on from the beginning: then all parts are run.) Tumbling windows are
// not supported: fn has no part in their state.
//
// Panics, the time and the errors are as in [SQS].
func Kinesis[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T, events.KinesisEventRecord) error) (func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error), error) {
	p, err := newProcessor(guard, config, kinesis, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.KinesisEvent) (events.KinesisEventResponse, error) {
		if err := ofSource(event); err != nil {
			return events.KinesisEventResponse{}, err
		}
		records, parts := p.shard(event)
		for i, part := range parts {
			records[i].run = decoded(func(ctx context.Context, data T) error { return fn(ctx, data, part) })
		}
		failed, err := p.inOrder(ctx, records)
		return events.KinesisEventResponse{BatchItemFailures: items[events.KinesisBatchItemFailure](records, failed)}, err
	}, nil
}

// shard returns the records of a stream's event, taken apart where that is wanted, and what
// each is, as far as it could be taken apart.
func (p processor) shard(event events.KinesisEvent) (records []record, parts []events.KinesisEventRecord) {
	add := func(r record, part events.KinesisEventRecord) {
		r.id, r.group = part.Kinesis.SequenceNumber, inShard{}
		records, parts = append(records, r), append(parts, part)
	}
	for _, whole := range event.Records {
		if len(records) >= mostParts && p.config.OnFailure == ReportItems {
			add(record{err: &idempotent.NotStartedError{Err: errManyParts}}, whole)
			break // Lambda goes on from here
		}
		apart, err := p.parts(whole)
		if err != nil {
			add(record{err: err}, whole)
		}
		for _, part := range apart {
			add(record{
				content: text(part.Kinesis.Data, place(part)),
				alone:   func() any { return events.KinesisEvent{Records: []events.KinesisEventRecord{part}} },
			}, part)
		}
	}
	return records, parts
}

// mostParts is after how many records and parts of them no further record of a batch is
// looked at, where Lambda can be told to go on from there. It is as many as Lambda puts into one.
const mostParts = 10_000

var errManyParts = fmt.Errorf("the records before it in the batch have %d parts or more", mostParts)

// inShard is the one group of a batch of a stream.
type inShard struct{}

// parts takes a record apart, if that is wanted.
func (p processor) parts(r events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
	if p.config.Split == nil {
		return []events.KinesisEventRecord{r}, nil
	}
	var parts []events.KinesisEventRecord
	err := contain(func() (err error) {
		parts, err = p.config.Split(r)
		return finite(err)
	})
	if err != nil {
		return nil, err
	}
	whole := make([]events.KinesisEventRecord, len(parts))
	for i, part := range parts {
		whole[i] = r
		whole[i].Kinesis.Data, whole[i].Kinesis.PartitionKey = part.Kinesis.Data, part.Kinesis.PartitionKey
		if len(parts) > 1 && r.EventID != "" {
			whole[i].EventID += ":" + strconv.Itoa(i)
		}
	}
	return whole, nil
}

// place is where a record is, in all streams. The event's id is shard and sequence
// number. An ARN holds no space.
func place(r events.KinesisEventRecord) string {
	if r.EventID == "" {
		return "" // which is no key
	}
	return r.EventSourceArn + " " + r.EventID
}
