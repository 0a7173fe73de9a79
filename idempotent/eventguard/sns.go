package eventguard

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// SNS returns a handler for the notifications that a topic sends to the function,
// for lambda.Start. fn gets the notification's message decoded from JSON into T, and
// the record it came in; a [json.RawMessage] gets it as it is.
//
// Requests are recognised by what the guard's Key selects from the message, or,
// without one, by the notification's id. That is the same in every try of SNS and
// Lambda, and new where somebody publishes again.
//
// fn's own error, and one that says why it did not run, is the handler's: Lambda
// then tries again. A panic goes on. (SNS sends one notification a call; should
// there be more, all of them run and their errors are joined.) An event without records is
// a *PayloadError: it is another source's. The error of SNS
// itself is an [idempotent.ErrConfig].
func SNS[T any](guard *idempotent.Guard, config Config, fn func(context.Context, T, events.SNSEventRecord) error) (func(context.Context, events.SNSEvent) error, error) {
	p, err := newProcessor(guard, config, single, fn == nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, event events.SNSEvent) error {
		if err := ofSource(event); err != nil {
			return err
		}
		records := notifications(event)
		for i, r := range event.Records {
			records[i].run = decoded(func(ctx context.Context, message T) error { return fn(ctx, message, r) })
		}
		if len(records) == 1 {
			return p.single(ctx, &records[0]) // unchanged: Lambda reports its type
		}
		return errors.Join(p.process(ctx, records)...)
	}, nil
}

// notifications returns the records of a topic's event.
func notifications(event events.SNSEvent) []record {
	records := make([]record, len(event.Records))
	for i, r := range event.Records {
		records[i] = record{
			id: r.SNS.MessageID, content: text([]byte(r.SNS.Message), r.SNS.MessageID),
			alone: func() any { return events.SNSEvent{Records: []events.SNSEventRecord{r}} },
		}
	}
	return records
}
