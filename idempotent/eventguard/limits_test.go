package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// To find out what a batch is about takes from its time, too: what is not reached comes
// back, and what was found runs.
func TestABatchIsIdentifiedWithinItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked := 0
		config := eventguard.Config{Content: func(m events.SQSMessage) ([]byte, string, error) {
			looked++
			time.Sleep(time.Second) // virtual
			return eventguard.Body(m)
		}}
		var l ledger
		handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), config, func(_ context.Context, o order, _ events.SQSMessage) error {
			l.add(o.ID)
			return nil
		})
		var messages []events.SQSMessage
		for i := range 100 {
			messages = append(messages, message(fmt.Sprint("m", i), body(fmt.Sprint("o", i))))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		got, err := handle(ctx, batch(messages...))
		if err != nil || ctx.Err() != nil || looked < 4 || looked > 10 || len(got.BatchItemFailures) < 100-looked {
			t.Errorf("%d messages looked at, %d failed, %v; %v", looked, len(got.BatchItemFailures), err, ctx.Err())
		}
	})
}

// What a record is taken apart into is bounded for the batch, where Lambda goes on with the
// record at which it ends. Where the whole batch comes back, it would end there each time.
func TestABatchOfManyPartsIsCutShort(t *testing.T) {
	split := func(r events.KinesisEventRecord) ([]events.KinesisEventRecord, error) {
		parts := make([]events.KinesisEventRecord, 6_000)
		for i := range parts {
			parts[i].Kinesis.Data = r.Kinesis.Data
		}
		return parts, nil
	}
	for name, test := range map[string]struct {
		onFailure eventguard.Failures
		answers   []string
	}{
		"ReportItems": {eventguard.ReportItems, []string{"{[{2}]}", "{[{4}]}", "{[]}"}},
		"FailBatch":   {eventguard.FailBatch, []string{"{[]}"}},
	} {
		t.Run(name, func(t *testing.T) {
			runs := 0
			config := eventguard.Config{Split: split, OnFailure: test.onFailure, Logger: silent}
			handle, err := eventguard.Kinesis(newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), config, func(context.Context, order, events.KinesisEventRecord) error {
				runs++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var event events.KinesisEvent
			for i := range 5 {
				event.Records = append(event.Records, events.KinesisEventRecord{
					EventID: fmt.Sprint("shard:", i), Kinesis: events.KinesisRecord{SequenceNumber: fmt.Sprint(i), Data: []byte(body(fmt.Sprint("o", i)))},
				})
			}
			for _, want := range test.answers {
				got, err := handle(t.Context(), event)
				if err != nil || fmt.Sprint(got) != want {
					t.Fatalf("%v, %v, want %s", got, err, want)
				}
				if len(got.BatchItemFailures) > 0 {
					event.Records = event.Records[2:] // from the failure on
				}
			}
			if runs != 5 {
				t.Errorf("%d runs of 5 orders", runs)
			}
		})
	}
}

// own is an error that is its own cause, or twice its own.
type own struct{}

func (own) Error() string       { return "own" }
func (o own) Unwrap() error     { return o }
func (twice) Error() string     { return "twice" }
func (t twice) Unwrap() []error { return []error{t, t} }

type twice struct{}

func TestAnErrorWithoutEndFailsItsRecordOnly(t *testing.T) {
	for name, endless := range map[string]error{"own": own{}, "twice": twice{}, "wrapped": fmt.Errorf("no: %w", own{}), "permanent": idempotent.Permanent(own{})} {
		for place, at := range map[string]struct {
			config eventguard.Config
			fn     func() error
		}{
			"fn":      {eventguard.Config{}, func() error { return endless }},
			"a panic": {eventguard.Config{}, func() error { panic(endless) }},
			"Content": {eventguard.Config{Content: func(m events.SQSMessage) ([]byte, string, error) {
				if m.MessageId == "m1" {
					return nil, "", endless
				}
				return eventguard.Body(m)
			}}, func() error { return nil }},
		} {
			t.Run(name+"/"+place, func(t *testing.T) {
				handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), at.config, func(_ context.Context, o order, _ events.SQSMessage) error {
					if o.ID == "o1" {
						return at.fn()
					}
					return nil
				})
				got, err := handle(t.Context(), batch(message("m1", body("o1")), message("m2", body("o2"))))
				wantFailed(t, got, err, "m1")
			})
		}
		t.Run(name+"/Split", func(t *testing.T) {
			split := func(events.KinesisEventRecord) ([]events.KinesisEventRecord, error) { return nil, endless }
			handle, err := eventguard.Kinesis(newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Split: split, Logger: silent}, func(context.Context, json.RawMessage, events.KinesisEventRecord) error {
				return errors.New("must not run")
			})
			if err != nil {
				t.Fatal(err)
			}
			got, err := handle(t.Context(), events.KinesisEvent{Records: []events.KinesisEventRecord{{EventID: "s:1", Kinesis: events.KinesisRecord{SequenceNumber: "1"}}}})
			if err != nil || len(got.BatchItemFailures) != 1 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}
