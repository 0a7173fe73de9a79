package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

func exampleGuard(config idempotent.Config) *idempotent.Guard {
	config.Operation = "order"
	guard, err := idempotent.New(persistence.NewMemory(), config)
	if err != nil {
		panic(err)
	}
	return guard
}

var quiet = eventguard.Config{Logger: slog.New(slog.DiscardHandler)}

// A queue whose sender has sent an order twice, and one that fails.
func ExampleSQS() {
	guard := exampleGuard(idempotent.Config{Key: idempotency.MustJMESPath("order_id")})
	place := func(_ context.Context, o order, m events.SQSMessage) error {
		if o.Amount == 0 {
			return errors.New("nothing to pay")
		}
		fmt.Println("placing", o.ID, "of", m.MessageId)
		return nil
	}
	handler, err := eventguard.SQS(guard, quiet, place) // lambda.Start(handler) in main
	if err != nil {
		panic(err)
	}
	response, err := handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: `{"order_id": "o-1", "amount": 10}`},
		{MessageId: "m2", Body: `{"order_id": "o-1", "amount": 10}`},
		{MessageId: "m3", Body: `{"order_id": "o-2", "amount": 0}`},
	}})
	answer, _ := json.Marshal(response)
	fmt.Println(string(answer), err)
	// Output:
	// placing o-1 of m1
	// {"batchItemFailures":[{"itemIdentifier":"m3"}]} <nil>
}

// A FIFO queue: what is behind a failure of its group waits for it.
func ExampleSQS_fifo() {
	place := func(_ context.Context, o order, _ events.SQSMessage) error {
		if o.Amount == 0 {
			return errors.New("nothing to pay")
		}
		fmt.Println("placing", o.ID)
		return nil
	}
	handler, err := eventguard.SQS(exampleGuard(idempotent.Config{}), quiet, place)
	if err != nil {
		panic(err)
	}
	message := func(id, group, body string) events.SQSMessage {
		return events.SQSMessage{
			MessageId: id, Body: body, Attributes: map[string]string{"MessageGroupId": group},
			EventSourceARN: "arn:aws:sqs:eu-west-1:123456789012:orders.fifo",
		}
	}
	response, err := handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		message("m1", "anna", `{"order_id": "anna-1"}`),
		message("m2", "anna", `{"order_id": "anna-2", "amount": 5}`),
		message("m3", "ben", `{"order_id": "ben-1", "amount": 5}`),
	}})
	answer, _ := json.Marshal(response)
	fmt.Println(string(answer), err)
	// Output:
	// placing ben-1
	// {"batchItemFailures":[{"itemIdentifier":"m1"},{"itemIdentifier":"m2"}]} <nil>
}

// Events of a bus that come through a queue are recognised by their own id.
func ExampleEventBridgeEnvelope() {
	config := quiet
	config.Content = eventguard.EventBridgeEnvelope
	place := func(_ context.Context, e eventguard.Event[order], _ events.SQSMessage) error {
		fmt.Println(e.DetailType, e.Detail.ID)
		return nil
	}
	handler, err := eventguard.SQS(exampleGuard(idempotent.Config{}), config, place)
	if err != nil {
		panic(err)
	}
	event := `{"id": "e-1", "source": "shop", "detail-type": "OrderPlaced", "detail": {"order_id": "o-1"}}`
	fmt.Println(handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: event}, {MessageId: "m2", Body: event},
	}}))
	// Output:
	// OrderPlaced o-1
	// {[]} <nil>
}

// Notifications of a topic that come through a queue.
func ExampleSNSEnvelope() {
	payload, id, err := eventguard.SNSEnvelope(events.SQSMessage{
		MessageId: "m1",
		Body:      `{"Type": "Notification", "MessageId": "n-1", "Message": "{\"order_id\": \"o-1\"}"}`,
	})
	fmt.Println(string(payload), id, err)
	// Output: {"order_id": "o-1"} n-1 <nil>
}

// The content that a Config without one has.
func ExampleBody() {
	payload, id, err := eventguard.Body(events.SQSMessage{MessageId: "m1", Body: "hello"})
	fmt.Println(string(payload), id, err)
	// Output: hello m1 <nil>
}

// Lambda goes on from the record that failed; what is before it is done.
func ExampleKinesis() {
	place := func(_ context.Context, o order, r events.KinesisEventRecord) error {
		if o.Amount == 0 {
			return errors.New("nothing to pay")
		}
		fmt.Println("placing", o.ID, "of", r.Kinesis.PartitionKey)
		return nil
	}
	handler, err := eventguard.Kinesis(exampleGuard(idempotent.Config{}), quiet, place)
	if err != nil {
		panic(err)
	}
	record := func(sequence, data string) events.KinesisEventRecord {
		return events.KinesisEventRecord{
			EventID: "shardId-000000000000:" + sequence, EventSourceArn: "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
			Kinesis: events.KinesisRecord{SequenceNumber: sequence, PartitionKey: "anna", Data: []byte(data)},
		}
	}
	fmt.Println(handler(context.Background(), events.KinesisEvent{Records: []events.KinesisEventRecord{
		record("101", `{"order_id": "o-1", "amount": 5}`), record("102", `{"order_id": "o-2"}`), record("103", `{"order_id": "o-3", "amount": 5}`),
	}}))
	// Output:
	// placing o-1 of anna
	// {[{102}]} <nil>
}

// A change of a table, delivered twice.
func ExampleDynamoDB() {
	index := func(_ context.Context, r events.DynamoDBEventRecord) error {
		fmt.Println(r.EventName, r.Change.Keys["pk"].String())
		return nil
	}
	handler, err := eventguard.DynamoDB(exampleGuard(idempotent.Config{}), quiet, index)
	if err != nil {
		panic(err)
	}
	change := events.DynamoDBEventRecord{
		EventID: "c4ca4238a0b923820dcc509a6f75849b", EventName: "INSERT",
		Change: events.DynamoDBStreamRecord{
			Keys:           map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute("order#417")},
			SequenceNumber: "4421584500000000017450439091",
		},
	}
	for range 2 {
		fmt.Println(handler(context.Background(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{change}}))
	}
	// Output:
	// INSERT order#417
	// {[]} <nil>
	// {[]} <nil>
}

// A notification, which Lambda tries twice.
func ExampleSNS() {
	handler, err := eventguard.SNS(exampleGuard(idempotent.Config{}), quiet, func(_ context.Context, o order, _ events.SNSEventRecord) error {
		fmt.Println("placing", o.ID)
		return nil
	})
	if err != nil {
		panic(err)
	}
	event := events.SNSEvent{Records: []events.SNSEventRecord{{SNS: events.SNSEntity{MessageID: "n-1", Message: `{"order_id": "o-1"}`}}}}
	for range 2 {
		fmt.Println(handler(context.Background(), event))
	}
	// Output:
	// placing o-1
	// <nil>
	// <nil>
}

// An event of a bus, which two rules send to the function.
func ExampleEventBridge() {
	guard := exampleGuard(idempotent.Config{Key: idempotency.MustJMESPath("detail.order_id")})
	handler, err := eventguard.EventBridge(guard, quiet, func(_ context.Context, e eventguard.Event[order]) error {
		fmt.Println("placing", e.Detail.ID, "of", e.Source)
		return nil
	})
	if err != nil {
		panic(err)
	}
	event := json.RawMessage(`{"id": "e-1", "source": "shop", "detail-type": "OrderPlaced", "detail": {"order_id": "o-1"}}`)
	for range 2 {
		fmt.Println(handler(context.Background(), event))
	}
	// Output:
	// placing o-1 of shop
	// <nil>
	// <nil>
}

func ExampleDeduplicationID() {
	fmt.Println(eventguard.DeduplicationID("order", "o-1"))
	fmt.Println(eventguard.DeduplicationID("order", "o 1"))
	// Output:
	// order#o-1 <nil>
	// sha256-7e49008d55fa64a0aa4055e4490ad95d4830b3c26c0de53577fb86381863d435 <nil>
}

func ExampleGroupID() {
	fmt.Println(eventguard.GroupID("customer-7"))
	// Output: customer-7 <nil>
}

// Of a topic Lambda delivers again just what the answer names. To keep the order of a
// partition, what is behind a failure is named with it.
func ExampleKafka() {
	guard := exampleGuard(idempotent.Config{Key: idempotency.MustJMESPath("order_id")})
	handler, err := eventguard.Kafka(guard, quiet, func(_ context.Context, o order, r eventguard.KafkaRecord) error {
		if o.Amount == 0 {
			return errors.New("nothing to pay")
		}
		fmt.Println("placing", o.ID, "of", string(r.Key))
		return nil
	})
	if err != nil {
		panic(err)
	}
	record := func(partition, offset int64, key, value string) eventguard.KafkaRecord {
		return eventguard.KafkaRecord{Topic: "orders", Partition: partition, Offset: offset, Key: []byte(key), Value: []byte(value)}
	}
	response, err := handler(context.Background(), eventguard.KafkaEvent{
		EventSource: "SelfManagedKafka",
		Records: map[string][]eventguard.KafkaRecord{
			"orders-0": {record(0, 41, "anna", `{"order_id": "o-1"}`), record(0, 42, "anna", `{"order_id": "o-2", "amount": 5}`)},
			"orders-1": {record(1, 17, "ben", `{"order_id": "o-3", "amount": 5}`), record(1, 18, "ben", `{"order_id": "o-3", "amount": 5}`)},
		},
	})
	answer, _ := json.MarshalIndent(response, "", "  ")
	fmt.Println(string(answer), err)
	// Output:
	// placing o-3 of ben
	// {
	//   "batchItemFailures": [
	//     {
	//       "itemIdentifier": {
	//         "partition": "orders-0",
	//         "offset": 41
	//       }
	//     },
	//     {
	//       "itemIdentifier": {
	//         "partition": "orders-0",
	//         "offset": 42
	//       }
	//     }
	//   ]
	// } <nil>
}

// Events that are not for this function are acknowledged before a key is looked for, or
// by the function.
func ExampleConfig_skip() {
	config := quiet
	config.Skip = func(payload []byte) bool { return string(payload) == "ping" }
	handler, err := eventguard.SQS(exampleGuard(idempotent.Config{Key: idempotency.MustJMESPath("order_id")}), config, func(_ context.Context, o order, _ events.SQSMessage) error {
		if o.Amount == 0 {
			return fmt.Errorf("a free order: %w", idempotent.ErrSkip)
		}
		fmt.Println("placing", o.ID)
		return nil
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(handler(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m1", Body: "ping"},
		{MessageId: "m2", Body: `{"order_id": "o-1", "amount": 0}`},
		{MessageId: "m3", Body: `{"order_id": "o-2", "amount": 5}`},
	}}))
	// Output:
	// placing o-2
	// {[]} <nil>
}
