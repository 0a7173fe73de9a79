package eventguard

import (
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// SQS returns a handler for the batches of a queue, for lambda.Start. It runs fn
// for each message that has not been done before, and answers with those that are
// to come back: the ones that failed, that another environment is still running,
// and that there was no time for. fn gets the payload that Config.Content finds,
// decoded from JSON into T; a [json.RawMessage] gets it as it is, JSON or not.
//
// Messages of a FIFO queue run in the order of their group. After a failure the
// rest of the group is neither run nor acquired and comes back too; other groups go
// on. The message itself tells the kind of its queue.
//
// Requests are recognised by what the guard's Key selects from the payload, or,
// without one, by the id that Config.Content finds. Messages of one batch that are
// the same request run one after another, also those of different groups, so that one
// is run and the others are replays.
//
// A panic in fn or in Config.Content fails its message only, and is logged with its
// stack. The context
// of fn ends a moment before the function's deadline, so that there is time to
// record and to answer; SQS waits for every fn that it has started.
//
// The error is an [idempotent.ErrConfig]. The handler's own error is a *BatchError,
// or a *PayloadError for an event without records, which is another source's;
// it is safe for concurrent use if fn is.
func SQS[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T, events.SQSMessage) error) (func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), error) {
	p, err := newProcessor(guard, config, queue, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if err := ofSource(event); err != nil {
			return events.SQSEventResponse{}, err
		}
		records := p.messages(event)
		for i, message := range event.Records {
			records[i].run = decoded(func(ctx context.Context, payload T) error { return fn(ctx, payload, message) })
		}
		errs := p.process(ctx, records)
		p.backOff(ctx, event.Records, errs)
		failed, err := p.failed(ctx, records, errs)
		return events.SQSEventResponse{BatchItemFailures: items[events.SQSBatchItemFailure](records, failed)}, err
	}, nil
}

// messages returns the records of a queue's event.
func (p processor) messages(event events.SQSEvent) []record {
	records := make([]record, len(event.Records))
	for i, message := range event.Records {
		records[i] = record{
			id: message.MessageId, group: groupOf(message),
			content: func() ([]byte, string, error) { return p.config.Content(message) },
			alone:   func() any { return redelivered(message) },
		}
	}
	return records
}

// redelivered is the event of a message alone, without its receipt handle: that is of the
// delivery which is over, and stands for the right to delete the message.
func redelivered(message events.SQSMessage) events.SQSEvent {
	message.ReceiptHandle = ""
	return events.SQSEvent{Records: []events.SQSMessage{message}}
}

// groupOf returns the group of a message of a FIFO queue, which keeps its order; nil
// for a message of a standard queue.
func groupOf(message events.SQSMessage) any {
	type group struct{ queue, name string }
	if !fifo(message) {
		return nil
	}
	return group{message.EventSourceARN, message.Attributes["MessageGroupId"]}
}

// fifo tells whether a message comes from a FIFO queue: the names of such queues
// end in ".fifo", and only they number their messages. A group id alone does not
// tell, standard queues have them for fairness.
func fifo(message events.SQSMessage) bool {
	_, numbered := message.Attributes["SequenceNumber"]
	return numbered || strings.HasSuffix(message.EventSourceARN, ".fifo")
}
