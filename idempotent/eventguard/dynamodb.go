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
	return ofTable(guard, config, fn == nil, func(ctx context.Context, _ []byte, change events.DynamoDBEventRecord) error {
		return fn(ctx, change)
	})
}

// ofTable is the handler of a table's stream. run also gets the record as its Key sees it.
func ofTable(guard *idempotent.Guard, config Config, missing bool, run func(context.Context, []byte, events.DynamoDBEventRecord) error) (func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error), error) {
	p, err := newProcessor(guard, config, changes, missing)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.DynamoDBEvent) (events.DynamoDBEventResponse, error) {
		if err := ofSource(event); err != nil {
			return events.DynamoDBEventResponse{}, err
		}
		records := changesOf(event)
		for i, change := range event.Records {
			records[i].run = func(ctx context.Context, payload []byte) error { return run(ctx, payload, change) }
		}
		failed, err := p.inOrder(ctx, records)
		return events.DynamoDBEventResponse{BatchItemFailures: items[events.DynamoDBBatchItemFailure](records, failed)}, err
	}, nil
}

// changesOf returns the records of a table's event.
func changesOf(event events.DynamoDBEvent) []record {
	records := make([]record, len(event.Records))
	for i, change := range event.Records {
		records[i] = record{
			id: change.Change.SequenceNumber, group: inShard{},
			content: func() ([]byte, string, error) { return changeContent(change) },
			alone:   func() any { return events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{change}} },
		}
	}
	return records
}

// changeContent is what a change is about: the record as Lambda delivers it.
func changeContent(change events.DynamoDBEventRecord) (payload []byte, id string, err error) {
	payload, err = json.Marshal(change)
	if err != nil {
		return nil, "", misfit("the record can't be encoded", err)
	}
	return payload, change.EventID, nil
}
