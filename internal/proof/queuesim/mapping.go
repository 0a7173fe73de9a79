package queuesim

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// QueueMapping connects a queue to a function.
type QueueMapping struct {
	Queue     *Queue
	Function  Function
	BatchSize int
	Timeout   time.Duration // the function's
	// IgnoresAnswers is a mapping without ReportBatchItemFailures: whatever the
	// function answers, the batch is done.
	IgnoresAnswers bool
}

// Poll receives one batch, has it handled and deletes what is done. It returns the
// size of the batch, and why all of it failed, if it did; what failed is visible
// again after the queue's visibility timeout.
func (m QueueMapping) Poll(ctx context.Context) (int, error) {
	batch := m.Queue.Receive(m.BatchSize)
	if len(batch) == 0 {
		return 0, nil
	}
	event, err := json.Marshal(events.SQSEvent{Records: batch})
	if err != nil {
		return len(batch), err
	}
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	response, err := m.Function(ctx, event)
	if err != nil {
		return len(batch), err
	}
	failed := map[string]bool{}
	if !m.IgnoresAnswers {
		ids := make(map[string]bool)
		for _, message := range batch {
			ids[message.MessageId] = true
		}
		if failed, err = failures(response, name, ids); err != nil {
			return len(batch), err
		}
	}
	for _, message := range batch {
		if !failed[message.MessageId] {
			m.Queue.Delete(message.ReceiptHandle)
		}
	}
	return len(batch), nil
}
