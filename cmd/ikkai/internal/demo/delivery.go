package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
)

// visibility is for how long the queue hides what it has delivered: longer than a
// run can take. template.yaml has six times the time-out, which nobody wants to
// wait for here.
const visibility = functionTimeout + time.Second

// queueOfOrders is the queue of the orders function. After two deliveries in vain a
// message goes to the dead-letter queue.
func queueOfOrders() *queuesim.Queue {
	return queuesim.NewQueue(queuesim.QueueConfig{Name: "orders", Visibility: visibility, MaxReceive: 2})
}

// post sends a message to the queue, as its producer does. It is called m1, m2 and
// so on in the story.
func (s *show) post(body string) {
	id := s.stage.queue.Send(queuesim.Letter{Body: body})
	s.posted[id] = fmt.Sprintf("m%d", len(s.posted)+1)
}

// deliver has the messages handled that are visible, as Lambda does for a function
// with ReportBatchItemFailures: those that the function does not report are deleted.
func (s *show) deliver(ctx context.Context, environment string) (Batch, error) {
	if ctx.Err() != nil {
		return Batch{}, context.Cause(ctx)
	}
	var (
		batch Batch
		lost  error // of the environment, which is no failure of the function
	)
	invoke := func(ctx context.Context, event []byte) ([]byte, error) {
		var raw []byte
		if batch.Work, raw, lost = s.invoke(ctx, environment, event); lost != nil {
			return nil, lost
		}
		batch.Messages = s.messagesOf(event, raw)
		if failure := failureOf(raw); failure != "" {
			return nil, errors.New(failure)
		}
		return raw, nil
	}
	mapping := queuesim.QueueMapping{Queue: s.stage.queue, Function: invoke, BatchSize: 10, Timeout: functionTimeout}
	size, failed := mapping.Poll(ctx)
	batch.answered = time.Now()
	switch {
	case lost != nil:
		return Batch{}, lost
	case size == 0:
		return batch, nil // nothing happened
	case failed != nil:
		batch.Failure = failed.Error()
		for i := range batch.Messages {
			batch.Messages[i].Failed = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.narrator.Batch(batch)
	return batch, nil
}

// messagesOf are the messages of an event, with what the function answers for each.
func (s *show) messagesOf(event, answer []byte) []Message {
	var delivered events.SQSEvent
	if err := json.Unmarshal(event, &delivered); err != nil {
		panic(err) // it was made of one
	}
	failed := make(map[string]bool)
	var said events.SQSEventResponse
	if err := json.Unmarshal(answer, &said); err == nil {
		for _, failure := range said.BatchItemFailures {
			failed[failure.ItemIdentifier] = true
		}
	}
	var messages []Message
	for _, record := range delivered.Records {
		receives, _ := strconv.Atoi(record.Attributes["ApproximateReceiveCount"])
		messages = append(messages, Message{
			ID: s.posted[record.MessageId], Text: subject(record.Body), Receives: receives, Failed: failed[record.MessageId],
		})
	}
	return messages
}

// subject is what a message asks for, in a word.
func subject(body string) string {
	var order struct {
		ID string `json:"order_id"`
	}
	if err := json.Unmarshal([]byte(body), &order); err != nil {
		return strconv.Quote(body)
	}
	return order.ID
}

// untilVisible waits until all of a batch that was not deleted is visible again, and
// the lease of a run that was killed is over: the guard gives it a second more than
// its time-out.
func (s *show) untilVisible(ctx context.Context, b Batch) error {
	return wait(ctx, time.Until(b.answered.Add(visibility)))
}
