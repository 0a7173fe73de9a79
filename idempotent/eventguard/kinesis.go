package eventguard

import (
	"context"

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
// Records that the Kinesis Producer Library has aggregated are not taken apart:
// each is one record here. Time windows are not supported.
//
// Panics, the time and the errors are as in [SQS].
func Kinesis[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T, events.KinesisEventRecord) error) (func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error), error) {
	p, err := newProcessor(guard, config, stream, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.KinesisEvent) (events.KinesisEventResponse, error) {
		v := p.inOrder(ctx, len(event.Records), func(at int) record {
			r := event.Records[at]
			return record{
				id:       r.Kinesis.SequenceNumber,
				identity: p.guard.Identify(r.Kinesis.Data, place(r)),
				run: func(ctx context.Context) error {
					decoded, err := decode[T](r.Kinesis.Data)
					if err != nil {
						return err
					}
					return fn(ctx, decoded, r)
				},
			}
		})
		ids, err := p.failed(ctx, v)
		return events.KinesisEventResponse{BatchItemFailures: items[events.KinesisBatchItemFailure](ids)}, err
	}, nil
}

// place is where a record is, in all streams. The event's id is shard and sequence
// number. An ARN holds no space.
func place(r events.KinesisEventRecord) string {
	if r.EventID == "" {
		return "" // which is no key
	}
	return r.EventSourceArn + " " + r.EventID
}
