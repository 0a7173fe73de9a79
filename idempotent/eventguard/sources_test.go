package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
)

// door is a source as the rules of this package see it: each rule is tested at all of
// them.
type door struct {
	key, amount *idempotency.Expression // of an order, as the guard's Key and Fingerprint
	content     eventguard.Content
	single      bool                // one event a call, whose panic goes on
	held        bool                // what is behind a failure does not run
	named       bool                // and is named as failed
	undecoded   bool                // fn gets no T
	payload     func(letter) []byte // as the guard sees it; nil for the body
	open        func(testing.TB, *idempotent.Guard, eventguard.Config, func(context.Context, order) error) deliver
	one         func(testing.TB, *idempotent.Guard, eventguard.Config, func(context.Context, order) error) deliverOne // of a single one
}

// deliver hands a batch to the function and returns the indices of what failed.
type deliver func(context.Context, ...letter) ([]int, error)

// deliverOne is a call with one event.
type deliverOne func(context.Context, letter) error

// letter is what a sender sends. Its id defaults to its index.
type letter struct{ id, body string }

func letters(bodies ...string) []letter {
	var all []letter
	for i, body := range bodies {
		all = append(all, letter{fmt.Sprint("id-", i), body})
	}
	return all
}

var (
	inDetail = idempotency.MustJMESPath("detail.order_id")
	inImage  = idempotency.MustJMESPath("dynamodb.NewImage.order_id.S")
	byAmount = idempotency.MustJMESPath("amount")
)

var doors = map[string]door{
	"SQS":             sqsDoor(message, nil, nil),
	"SQS, FIFO":       fifoDoor(sqsDoor(func(id, body string) events.SQSMessage { return grouped(id, "g", body) }, nil, nil)),
	"SQS, SNS":        sqsDoor(func(id, body string) events.SQSMessage { return message(id, notification(id, body)) }, eventguard.SNSEnvelope, nil),
	"SQS, FIFO, SNS":  fifoDoor(sqsDoor(func(id, body string) events.SQSMessage { return grouped(id, "g", notification(id, body)) }, eventguard.SNSEnvelope, nil)),
	"SQS, bus":        sqsDoor(func(id, body string) events.SQSMessage { return message(id, inBus(id, body)) }, eventguard.EventBridgeEnvelope, inDetail).seen(busPayload),
	"Kinesis":         {key: byOrderID, amount: byAmount, held: true, open: openKinesis},
	"DynamoDB":        {key: inImage, amount: idempotency.MustJMESPath("dynamodb.NewImage.amount.N"), held: true, undecoded: true, payload: changePayload, open: openDynamoDB},
	"Kafka":           {key: byOrderID, amount: byAmount, held: true, named: true, open: openKafka(eventguard.Config{})},
	"Kafka, no order": {key: byOrderID, amount: byAmount, open: openKafka(eventguard.Config{Unordered: true})},
	"SNS":             oneByOne(door{key: byOrderID, amount: byAmount, one: openSNS}),
	"EventBridge":     oneByOne(door{key: inDetail, amount: idempotency.MustJMESPath("detail.amount"), payload: busPayload, one: openEventBridge}),
}

// identify returns what the guard recognises a letter by.
func (d door) identify(g *idempotent.Guard, l letter) idempotent.Identity {
	if d.payload == nil {
		return g.IdentifyOr([]byte(l.body), l.id)
	}
	return g.IdentifyOr(d.payload(l), l.id)
}

func (d door) seen(payload func(letter) []byte) door {
	d.payload = payload
	return d
}

func busPayload(l letter) []byte { return []byte(inBus(l.id, l.body)) }

func changePayload(l letter) []byte {
	payload, _ := json.Marshal(changeOf(l))
	return payload
}

func inBus(id, detail string) string {
	if !json.Valid([]byte(detail)) {
		detail = strconv.Quote(detail)
	}
	return fmt.Sprintf(`{"version": "0", "id": %q, "detail-type": "OrderPlaced", "source": "shop", "detail": %s}`, id, detail)
}

func fifoDoor(d door) door {
	d.held, d.named = true, true
	return d
}

func sqsDoor(wrap func(id, body string) events.SQSMessage, content eventguard.Content, key *idempotency.Expression) door {
	d := door{key: byOrderID, amount: byAmount, content: content}
	if key != nil {
		d.key, d.amount = key, idempotency.MustJMESPath("detail.amount")
	}
	d.open = func(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliver {
		if config.Content == nil {
			config.Content = content
		}
		var handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
		if key == nil {
			handle = consumer(t, g, config, func(ctx context.Context, o touchy, _ events.SQSMessage) error { return fn(ctx, o.order) })
		} else {
			handle = consumer(t, g, config, func(ctx context.Context, e eventguard.Event[touchy], _ events.SQSMessage) error {
				return fn(ctx, e.Detail.order)
			})
		}
		return func(ctx context.Context, all ...letter) ([]int, error) {
			var event events.SQSEvent
			for _, l := range all {
				event.Records = append(event.Records, wrap(l.id, l.body))
			}
			response, err := handle(ctx, event)
			return indices(all, failedIDs(response)), err
		}
	}
	return d
}

func indices(all []letter, ids []string) []int {
	var failed []int
	for _, id := range ids {
		for i, l := range all {
			if l.id == id {
				failed = append(failed, i)
				break
			}
		}
	}
	return failed
}

// touchy is an order whose decoding panics, or ends its goroutine.
type touchy struct{ order }

func (o *touchy) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &o.order); err != nil {
		return err
	}
	switch o.ID {
	case "panic of decode":
		panic(sliceError{errTryAgain})
	case "end of decode":
		runtime.Goexit()
	}
	return nil
}

// sliceError is an error that can't be compared.
type sliceError []error

func (sliceError) Error() string { return "a slice" }

// mute is an error whose text panics.
type mute struct{}

func (mute) Error() string { panic("odd") }

// brittle is an error whose methods panic for nil.
type brittle struct{ cause error }

func (e *brittle) Error() string { return e.cause.Error() }
func (e *brittle) Unwrap() error { return e.cause }

// naive is a handler of logs that asks errors for their text as it likes.
type naive struct{ slog.Handler }

func (h naive) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			_ = err.Error()
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

func openKinesis(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliver {
	handle, err := eventguard.Kinesis(g, quieter(config), func(ctx context.Context, o touchy, _ events.KinesisEventRecord) error { return fn(ctx, o.order) })
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, all ...letter) ([]int, error) {
		var event events.KinesisEvent
		for _, l := range all {
			event.Records = append(event.Records, events.KinesisEventRecord{
				EventID: "shardId-0:" + l.id, EventSourceArn: "arn:aws:kinesis:::stream/orders",
				Kinesis: events.KinesisRecord{Data: []byte(l.body), SequenceNumber: l.id},
			})
		}
		response, err := handle(ctx, event)
		var ids []string
		for _, f := range response.BatchItemFailures {
			ids = append(ids, f.ItemIdentifier)
		}
		return indices(all, ids), err
	}
}

func openDynamoDB(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliver {
	handle, err := eventguard.DynamoDB(g, quieter(config), func(ctx context.Context, r events.DynamoDBEventRecord) error {
		o := order{ID: r.Change.NewImage["order_id"].String()}
		if amount, ok := r.Change.NewImage["amount"]; ok {
			whole, _ := amount.Integer()
			o.Amount = int(whole)
		}
		return fn(ctx, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, all ...letter) ([]int, error) {
		var event events.DynamoDBEvent
		for _, l := range all {
			event.Records = append(event.Records, changeOf(l))
		}
		response, err := handle(ctx, event)
		var ids []string
		for _, f := range response.BatchItemFailures {
			ids = append(ids, f.ItemIdentifier)
		}
		return indices(all, ids), err
	}
}

// changeOf is a change whose new image is an order.
func changeOf(l letter) events.DynamoDBEventRecord {
	var o map[string]any
	_ = json.Unmarshal([]byte(l.body), &o)
	image := map[string]events.DynamoDBAttributeValue{"text": events.NewStringAttribute(l.body)}
	for name, value := range o {
		switch value := value.(type) {
		case string:
			image[name] = events.NewStringAttribute(value)
		case float64:
			image[name] = events.NewNumberAttribute(fmt.Sprint(value))
		}
	}
	return events.DynamoDBEventRecord{EventID: l.id, Change: events.DynamoDBStreamRecord{NewImage: image, SequenceNumber: l.id}}
}

func openKafka(choice eventguard.Config) func(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliver {
	return func(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliver {
		config.Unordered = choice.Unordered
		handle, err := eventguard.Kafka(g, quieter(config), func(ctx context.Context, o touchy, _ eventguard.KafkaRecord) error { return fn(ctx, o.order) })
		if err != nil {
			t.Fatal(err)
		}
		offsets := make(map[string]int64) // by id
		return func(ctx context.Context, all ...letter) ([]int, error) {
			var records []eventguard.KafkaRecord
			for _, l := range all {
				if _, known := offsets[l.id]; !known {
					offsets[l.id] = int64(len(offsets))
				}
				records = append(records, eventguard.KafkaRecord{Topic: "orders", Partition: 3, Offset: offsets[l.id], Value: []byte(l.body)})
			}
			response, err := handle(ctx, eventguard.KafkaEvent{Records: map[string][]eventguard.KafkaRecord{"orders-3": records}})
			var failed []int
			for _, f := range response.BatchItemFailures {
				for i, r := range records {
					if f.ItemIdentifier == (eventguard.KafkaItemIdentifier{Partition: "orders-3", Offset: r.Offset}) {
						failed = append(failed, i)
						break
					}
				}
			}
			return failed, err
		}
	}
}

func openSNS(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliverOne {
	handle, err := eventguard.SNS(g, quieter(config), func(ctx context.Context, o touchy, _ events.SNSEventRecord) error { return fn(ctx, o.order) })
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, l letter) error {
		return handle(ctx, events.SNSEvent{Records: []events.SNSEventRecord{{SNS: events.SNSEntity{MessageID: l.id, Message: l.body}}}})
	}
}

func openEventBridge(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliverOne {
	handle, err := eventguard.EventBridge(g, quieter(config), func(ctx context.Context, e eventguard.Event[touchy]) error { return fn(ctx, e.Detail.order) })
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, l letter) error { return handle(ctx, json.RawMessage(inBus(l.id, l.body))) }
}

// oneByOne delivers asynchronous events as Lambda does: each in a call of its own, which
// may end with a panic.
func oneByOne(d door) door {
	d.single = true
	d.open = func(t testing.TB, g *idempotent.Guard, config eventguard.Config, fn func(context.Context, order) error) deliver {
		handle := d.one(t, g, config, fn)
		return func(ctx context.Context, all ...letter) ([]int, error) {
			var failed []int
			for i, l := range all {
				err := errors.New("it has not returned")
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					err = handle(ctx, l)
				}()
				<-ended
				if err != nil {
					failed = append(failed, i)
				}
			}
			return failed, nil
		}
	}
	return d
}

func quieter(config eventguard.Config) eventguard.Config {
	if config.Logger == nil {
		config.Logger = silent
	}
	return config
}
