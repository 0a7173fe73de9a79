package eventguard

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// DynamoDB returns a handler for the batches of a table's stream, for
// lambda.Start. It runs fn for each change that has not been done before, in the
// order of the shard, stops at the first one that fails and answers with its
// sequence number: Lambda goes on from there.
//
// Requests are recognised by what the guard's Key selects from the record as
// Lambda delivers it ([dynamodb.Keys.pk.S, eventName]), or, without one, by the
// event's id, which is that of the change. The first means that of several changes
// of an item only one is run: rarely what a stream is for.
//
// Panics, the time and the errors are as in [SQS]. Time windows are not supported.
func DynamoDB(guard *idempotent.Guard, config Config, fn func(context.Context, events.DynamoDBEventRecord) error) (func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error), error) {
	p, err := newProcessor(guard, config, stream, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		ids, err := p.failed(ctx, p.inOrder(ctx, len(event.Records), func(at int) record {
			return changeRecord(p, event.Records[at], fn)
		}))
		return events.DynamoDBEventResponse{BatchItemFailures: items[events.DynamoDBBatchItemFailure](ids)}, err
	}, nil
}

func changeRecord(p processor, change events.DynamoDBEventRecord, fn func(context.Context, events.DynamoDBEventRecord) error) record {
	payload, err := json.Marshal(change)
	if err != nil {
		return record{id: change.Change.SequenceNumber, err: misfit("the record can't be encoded", err)}
	}
	return record{
		id:       change.Change.SequenceNumber,
		identity: p.guard.Identify(payload, change.EventID),
		run:      func(ctx context.Context) error { return fn(ctx, change) },
	}
}
