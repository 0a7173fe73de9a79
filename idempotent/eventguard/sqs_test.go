package eventguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestTheAnswerIsWhatLambdaUnderstands(t *testing.T) {
	tests := map[string]struct {
		batch events.SQSEvent
		want  string
	}{
		"an empty batch":            {batch(), `{"batchItemFailures":[]}`},
		"nothing failed":            {batch(message("m1", body("o1"))), `{"batchItemFailures":[]}`},
		"a failure":                 {batch(message("m1", body("bad"))), `{"batchItemFailures":[{"itemIdentifier":"m1"}]}`},
		"a message delivered twice": {batch(message("m1", body("bad")), message("m1", body("bad"))), `{"batchItemFailures":[{"itemIdentifier":"m1"}]}`},
		"failures in the order of the batch": {
			batch(message("m3", body("bad")), message("m1", body("o1")), message("m2", "?")),
			`{"batchItemFailures":[{"itemIdentifier":"m3"},{"itemIdentifier":"m2"}]}`,
		},
		"one id, two contents, one failure": {batch(message("m1", body("o1")), message("m1", body("bad"))), `{"batchItemFailures":[{"itemIdentifier":"m1"}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), eventguard.Config{Concurrency: 3}, new(ledger).place)
			got, err := handle(t.Context(), test.batch)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := json.Marshal(got)
			if err != nil || string(answer) != test.want {
				t.Errorf("%s, %v, want %s", answer, err, test.want)
			}
		})
	}
}

func TestAMessageWithoutAnIdFailsTheBatch(t *testing.T) {
	for name, config := range map[string]idempotent.Config{"with a key": {Key: byOrderID}, "by the id": {}} {
		t.Run(name, func(t *testing.T) {
			var l ledger
			handle := consumer(t, newGuard(t, persistence.NewMemory(), config), eventguard.Config{}, l.place)
			got, err := handle(t.Context(), batch(message("m1", body("o1")), message("", body("bad"))))
			failed, ok := errors.AsType[*eventguard.BatchError](err)
			if !ok || !errors.Is(err, eventguard.ErrBatch) || len(failed.Failed) != 1 || failed.Records != 2 {
				t.Errorf("%v, want a BatchError of one in two", err)
			}
			if slices.Contains(failedIDs(got), "") {
				t.Error("the answer has an empty id")
			}
			l.want(t, "o1")
		})
	}
}

func TestAFailedBatchTellsWhatFailed(t *testing.T) {
	var l ledger
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID})
	handle := consumer(t, guard, eventguard.Config{OnFailure: eventguard.FailBatch}, l.place)
	for range 2 { // the second time as SQS delivers all of it again
		_, err := handle(t.Context(), batch(message("m1", body("o1")), message("m2", body("bad"))))
		failed, ok := errors.AsType[*eventguard.BatchError](err)
		if !ok || !errors.Is(err, errTryAgain) || len(failed.Failed) != 1 || failed.Failed[0].ID != "m2" {
			t.Errorf("%v, want a BatchError of m2", err)
		}
	}
	l.want(t, "o1")
	if _, err := handle(t.Context(), batch(message("m1", body("o1")))); err != nil {
		t.Errorf("without a failure: %v", err)
	}
}

func TestReport54IdentityIsStableAcrossDeliveries(t *testing.T) {
	again := message("m1", body("o1"))
	again.ReceiptHandle = "another"
	again.Attributes["ApproximateReceiveCount"] = "2"
	again.Attributes["ApproximateFirstReceiveTimestamp"] = "1764580999999"
	resent := message("m2", body("o1"))
	tests := map[string]struct {
		config idempotent.Config
		want   int // runs of m1, m1 again, and m2 with the same body
	}{
		"by the body":             {idempotent.Config{Key: byOrderID}, 1},
		"by default, the id":      {idempotent.Config{}, 2},
		"by default, with digest": {idempotent.Config{Fingerprint: idempotency.MustJMESPath("@")}, 2},
		"by the whole body":       {idempotent.Config{Key: idempotency.MustJMESPath("@")}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runs := 0
			handle := consumer(t, newGuard(t, persistence.NewMemory(), test.config), eventguard.Config{}, func(context.Context, order, events.SQSMessage) error {
				runs++
				return nil
			})
			for _, m := range []events.SQSMessage{message("m1", body("o1")), again, resent} {
				got, err := handle(t.Context(), batch(m))
				wantFailed(t, got, err)
			}
			if runs != test.want {
				t.Errorf("%d runs, want %d", runs, test.want)
			}
		})
	}
}

func TestReport54ARedeliveredFileIsOneRun(t *testing.T) {
	runs := 0
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{}, func(context.Context, json.RawMessage, events.SQSMessage) error {
		runs++
		return nil
	})
	first := delivered[events.SQSEvent](t, "sqs-payments.json")
	for _, event := range []events.SQSEvent{first, delivered[events.SQSEvent](t, "sqs-payments-redelivery.json")} {
		got, err := handle(t.Context(), event)
		wantFailed(t, got, err)
	}
	if runs != len(first.Records) {
		t.Errorf("%d runs of %d messages", runs, len(first.Records))
	}
}

func TestEqualRequestsOfABatchRunOnce(t *testing.T) {
	tests := map[string]struct {
		config idempotent.Config
		batch  events.SQSEvent
		runs   int
		failed int // which one, where two are not equal, is left to chance
	}{
		"sent twice":      {idempotent.Config{Key: byOrderID}, batch(message("m1", body("o1")), message("m2", body("o1"))), 1, 0},
		"delivered twice": {idempotent.Config{}, batch(message("m1", body("o1")), message("m1", body("o1"))), 1, 0},
		"with another payload": {
			idempotent.Config{Key: byOrderID, Fingerprint: idempotency.MustJMESPath("amount")},
			batch(message("m1", body("o1")), message("m2", `{"order_id": "o1", "amount": 6}`)), 1, 1,
		},
		"not equal": {idempotent.Config{}, batch(message("m1", body("o1")), message("m2", body("o1"))), 2, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				runs := 0
				handle := consumer(t, newGuard(t, persistence.NewMemory(), test.config), eventguard.Config{Concurrency: 10}, func(context.Context, order, events.SQSMessage) error {
					time.Sleep(time.Second) // virtual
					mu.Lock()
					defer mu.Unlock()
					runs++
					return nil
				})
				got, err := handle(t.Context(), test.batch)
				if failed := failedIDs(got); err != nil || len(failed) != test.failed || runs != test.runs {
					t.Errorf("%d runs, %q failed, %v; want %d runs and %d failures", runs, failed, err, test.runs, test.failed)
				}
			})
		})
	}
}

func TestEqualRequestsOfTwoGroupsRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), eventguard.Config{Concurrency: 2}, func(ctx context.Context, o order, m events.SQSMessage) error {
			time.Sleep(time.Second) // virtual
			return l.place(ctx, o, m)
		})
		got, err := handle(t.Context(), batch(grouped("m1", "a", body("o1")), grouped("m2", "b", body("o1")), grouped("m3", "b", body("o3"))))
		wantFailed(t, got, err)
		l.want(t, "o1", "o3")
	})
}

// Two queues may use the same names of groups.
func TestGroupsOfTwoQueuesAreDifferent(t *testing.T) {
	var l ledger
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), eventguard.Config{}, l.place)
	other := grouped("m2", "a", body("o2"))
	other.EventSourceARN = "arn:aws:sqs:eu-west-1:123456789012:returns.fifo"
	got, err := handle(t.Context(), batch(grouped("m1", "a", body("bad")), other))
	wantFailed(t, got, err, "m1")
	l.want(t, "o2")
}

func TestMessagesRunAtTheSameTimeUpToTheBound(t *testing.T) {
	for _, bound := range []int{0, 1, 3, 100} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				running, most := 0, 0
				count := func(change int) {
					mu.Lock()
					defer mu.Unlock()
					running += change
					most = max(most, running)
				}
				handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Concurrency: bound}, func(context.Context, order, events.SQSMessage) error {
					count(1)
					defer count(-1)
					time.Sleep(time.Second) // virtual
					return nil
				})
				var messages []events.SQSMessage
				for i := range 10 {
					messages = append(messages, message(fmt.Sprint("m", i), body("o")))
				}
				started := time.Now()
				got, err := handle(t.Context(), batch(messages...))
				wantFailed(t, got, err)
				want := min(max(bound, 1), 10)
				if took := time.Since(started); most != want || took != time.Duration((10+want-1)/want)*time.Second {
					t.Errorf("%d at the same time in %v, want %d", most, took, want)
				}
			})
		})
	}
}

func TestWhatThereIsNoTimeForComesBackUnacquired(t *testing.T) {
	tests := map[string]struct {
		config  eventguard.Config
		timeout time.Duration
		runs    int
	}{
		"twice the slowest by default":  {eventguard.Config{}, 30 * time.Second, 2}, // starts at 0 and 10; the third would be broken off
		"as long as the slowest":        {eventguard.Config{Slowest: 10 * time.Second}, 30 * time.Second, 2},
		"quick records":                 {eventguard.Config{Slowest: time.Millisecond}, 30 * time.Second, 3}, // the last until 29
		"a fifth of a short timeout":    {eventguard.Config{}, time.Second, 1},
		"slower than the time there is": {eventguard.Config{Slowest: time.Minute}, 10 * time.Second, 1},
		"no time at all":                {eventguard.Config{}, 0, 0},
	}
	for name, test := range tests {
		for kind, one := range map[string]func(id string) events.SQSMessage{
			"standard": func(id string) events.SQSMessage { return message(id, body(id)) },
			"FIFO":     func(id string) events.SQSMessage { return grouped(id, "group of "+id, body(id)) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
					defer cancel()
					store := persistence.NewMemory()
					runs := 0
					handle := consumer(t, newGuard(t, store, idempotent.Config{}), test.config, func(ctx context.Context, _ order, _ events.SQSMessage) error {
						runs++
						select {
						case <-time.After(10 * time.Second): // virtual
							return nil
						case <-ctx.Done():
							return ctx.Err()
						}
					})
					got, err := handle(ctx, batch(one("m1"), one("m2"), one("m3"), one("m4")))
					if err != nil || runs != test.runs {
						t.Errorf("%d runs, %v, want %d", runs, err, test.runs)
					}
					if ctx.Err() != nil && test.timeout > 0 {
						t.Error("answered too late, Lambda has killed the function")
					}
					done := len(store.Records())
					if failed := failedIDs(got); len(failed) != 4-done {
						t.Errorf("%q failed and %d are done, of 4", failed, done)
					}
				})
			})
		}
	}
}

// Between its first look at the clock and fn a record is acquired, and perhaps waits
// for another run.
func TestWhatIsAcquiredTooLateIsReleasedAndNotRun(t *testing.T) {
	tests := map[string]struct {
		timeout, acquiring, first time.Duration // first is how long o1 runs
		config                    eventguard.Config
		elsewhere                 time.Duration // until when another environment holds o2
	}{
		"after a wait":         {timeout: 30 * time.Second, first: 15 * time.Second, config: eventguard.Config{Slowest: 9 * time.Second}, elsewhere: 21 * time.Second},
		"after a slow request": {timeout: 10 * time.Second, acquiring: 500 * time.Millisecond, first: 8300 * time.Millisecond, config: eventguard.Config{Slowest: time.Millisecond}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				memory := persistence.NewMemory()
				if now := time.Now(); test.elsewhere > 0 {
					claim := persistence.Claim{Key: orderKey("o2"), Owner: "other", Now: now, LeaseUntil: now.Add(test.elsewhere), ExpiresAt: now.Add(time.Hour)}
					if _, err := memory.Acquire(ctx, claim); err != nil {
						t.Fatal(err)
					}
				}
				store := lab.Before(memory, "acquire", func() error { time.Sleep(test.acquiring); return nil }) // virtual
				guard := newGuard(t, store, idempotent.Config{Key: byOrderID, Wait: 7 * time.Second})
				var l ledger
				handle := consumer(t, guard, test.config, func(ctx context.Context, o order, m events.SQSMessage) error {
					if ctx.Err() != nil {
						t.Errorf("%s is started with a context that is over", o.ID)
					}
					time.Sleep(test.first) // virtual
					return l.place(ctx, o, m)
				})
				got, err := handle(ctx, batch(message("m1", body("o1")), message("m2", body("o2"))))
				wantFailed(t, got, err, "m2")
				l.want(t, "o1")
				if ctx.Err() != nil {
					t.Error("answered too late, Lambda has killed the function")
				}
				for _, r := range memory.Records() {
					if r.LeaseLive(time.Now()) && r.Owner != "other" {
						t.Errorf("%s is still held", r.Key)
					}
				}
			})
		})
	}
}

// The lease of a run is tied to when Lambda kills it, not to when its context ends.
func TestARunThatIgnoresItsContextKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		store := persistence.NewMemory()
		handle := consumer(t, newGuard(t, store, idempotent.Config{}), eventguard.Config{}, func(fnctx context.Context, _ order, _ events.SQSMessage) error {
			end, _ := fnctx.Deadline()
			kill, _ := ctx.Deadline()
			if lease := store.Records()[0].LeaseUntil; !lease.After(kill) || !end.Before(kill) {
				t.Errorf("the context ends at %v, the lease at %v, and Lambda kills at %v", end, lease, kill)
			}
			return nil
		})
		got, err := handle(ctx, batch(message("m1", body("o1"))))
		wantFailed(t, got, err)
	})
}

func TestAPanicFailsItsMessageOnly(t *testing.T) {
	tests := map[string]struct {
		do   func()
		want string // in the log
	}{
		"an error":           {func() { panic(errTryAgain) }, "panic: try again"},
		"a string":           {func() { panic("odd") }, "panic: odd"},
		"a nil pointer":      {func() { var o *order; o.Amount++ }, "nil pointer dereference"},
		"an ended goroutine": {runtime.Goexit, "ended its goroutine"},
		"nil":                {func() { panic(nil) }, "panic called with nil"},
	}
	for name, test := range tests {
		for kind, bad := range map[string]events.SQSMessage{"standard": message("m2", body("bad")), "FIFO": grouped("m2", "g", body("bad"))} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var l ledger
				var log strings.Builder
				config := eventguard.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}
				store := persistence.NewMemory()
				handle := consumer(t, newGuard(t, store, idempotent.Config{Key: byOrderID}), config, func(ctx context.Context, o order, m events.SQSMessage) error {
					if o.ID == "bad" {
						test.do()
					}
					return l.place(ctx, o, m)
				})
				got, err := handle(t.Context(), batch(message("m1", body("o1")), bad, message("m3", body("o3"))))
				wantFailed(t, got, err, "m2")
				l.want(t, "o1", "o3")
				if len(store.Records()) != 2 {
					t.Error("the record of the message that panicked is not released")
				}
				if !strings.Contains(log.String(), test.want) || !strings.Contains(log.String(), "sqs_test.go") {
					t.Errorf("the log has no %q with a stack: %s", test.want, log.String())
				}
			})
		}
	}
}

func TestAFailureHoldsItsGroupOnly(t *testing.T) {
	failures := map[string]struct {
		first func(*testing.T, context.Context, *idempotent.Guard)
		body  string
	}{
		"an error":         {body: body("bad")},
		"a malformed body": {body: "not JSON"},
		"a missing key":    {body: `{}`},
		"in progress elsewhere": {
			first: func(_ *testing.T, ctx context.Context, g *idempotent.Guard) {
				go func() {
					_, _ = idempotent.DoAs(ctx, g, g.Identify([]byte(body("a2"))), func(ctx context.Context) (string, error) {
						<-ctx.Done()
						return "", ctx.Err()
					})
				}()
				synctest.Wait()
			},
			body: body("a2"),
		},
		"a recorded permanent failure": {
			first: func(t *testing.T, ctx context.Context, g *idempotent.Guard) {
				if _, err := idempotent.DoAs(ctx, g, g.Identify([]byte(body("a2"))), func(context.Context) (string, error) {
					return "", idempotent.Permanent(errTryAgain)
				}); err == nil {
					t.Fatal("no failure")
				}
			},
			body: body("a2"),
		},
	}
	for name, failure := range failures {
		for _, concurrency := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d at a time", name, concurrency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					store := persistence.NewMemory()
					guard := newGuard(t, store, idempotent.Config{Key: byOrderID})
					if failure.first != nil {
						failure.first(t, ctx, guard)
					}
					before := len(store.Records())
					groups := map[string]*ledger{"a": {}, "b": {}}
					handle := consumer(t, guard, eventguard.Config{Concurrency: concurrency}, func(ctx context.Context, o order, m events.SQSMessage) error {
						return groups[m.Attributes["MessageGroupId"]].place(ctx, o, m)
					})
					got, err := handle(ctx, batch(
						grouped("m1", "a", body("a1")), grouped("m2", "b", body("b1")), grouped("m3", "a", failure.body),
						grouped("m4", "a", body("a3")), grouped("m5", "b", body("b2")), grouped("m6", "a", body("a4")),
					))
					wantFailed(t, got, err, "m3", "m4", "m6")
					groups["a"].want(t, "a1")
					groups["b"].want(t, "b1", "b2")
					if acquired := len(store.Records()) - before; acquired != 3 {
						t.Errorf("%d records, want those of a1, b1 and b2 only", acquired)
					}
				})
			})
		}
	}
}

func TestAReplayLetsItsGroupGoOn(t *testing.T) {
	var l ledger
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), eventguard.Config{}, l.place)
	first := batch(grouped("m1", "a", body("a1")))
	got, err := handle(t.Context(), first)
	wantFailed(t, got, err)
	got, err = handle(t.Context(), batch(grouped("m1", "a", body("a1")), grouped("m2", "a", body("a2"))))
	wantFailed(t, got, err)
	l.want(t, "a1", "a2")
}

// The second of two equal messages is a try of its own: its sender, or SQS, has
// made it because nobody has heard of the first.
func TestAFailureOfAnEqualRequestHoldsNothing(t *testing.T) {
	runs := 0
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), eventguard.Config{}, func(context.Context, order, events.SQSMessage) error {
		if runs++; runs == 1 {
			return errTryAgain
		}
		return nil
	})
	got, err := handle(t.Context(), batch(message("m1", body("o1")), message("m2", body("o1"))))
	wantFailed(t, got, err, "m1")
	if runs != 2 {
		t.Errorf("%d runs, want 2", runs)
	}
}

// A group id alone makes no FIFO queue: standard queues have them for fairness.
func TestAStandardQueueWithGroupsKeepsNoOrder(t *testing.T) {
	var l ledger
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{}, l.place)
	bad, good := message("m1", body("bad")), message("m2", body("o2"))
	bad.Attributes["MessageGroupId"], good.Attributes["MessageGroupId"] = "tenant", "tenant"
	got, err := handle(t.Context(), batch(bad, good))
	wantFailed(t, got, err, "m1")
	l.want(t, "o2")
}

func TestATextBodyNeedsNoJSON(t *testing.T) {
	var l ledger
	handle := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{}, func(_ context.Context, text json.RawMessage, m events.SQSMessage) error {
		l.add(m.MessageId + " " + string(text))
		return nil
	})
	got, err := handle(t.Context(), batch(message("m1", "hello, <you>"), message("m2", "")))
	wantFailed(t, got, err)
	l.want(t, "m1 hello, <you>", "m2 ")
}

func TestConfigsAreChecked(t *testing.T) {
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{})
	split := func(events.KinesisEventRecord) ([]events.KinesisEventRecord, error) { return nil, nil }
	all := eventguard.Config{Content: eventguard.Body, Split: split, Concurrency: -1, Unordered: true, OnFailure: 7, OnPermanent: 7, Retention: -1, Slowest: -1}
	fn := func(context.Context, order, events.SQSMessage) error { return nil }
	tests := map[string]struct {
		build  func() error
		fields []string
	}{
		"SQS": {func() error { _, err := eventguard.SQS(guard, all, fn); return err }, []string{"Split", "Unordered", "Concurrency", "OnFailure", "OnPermanent", "Retention", "Slowest"}},
		"Kafka": {func() error {
			_, err := eventguard.Kafka(guard, all, func(context.Context, order, eventguard.KafkaRecord) error { return nil })
			return err
		}, []string{"Content", "Split", "Concurrency", "OnFailure", "OnPermanent", "Retention", "Slowest"}},
		"Kinesis": {func() error {
			_, err := eventguard.Kinesis(guard, all, func(context.Context, order, events.KinesisEventRecord) error { return nil })
			return err
		}, []string{"Content", "Concurrency", "Unordered", "Concurrency", "OnFailure", "OnPermanent", "Retention", "Slowest"}},
		"DynamoDB": {func() error {
			_, err := eventguard.DynamoDB(guard, all, func(context.Context, events.DynamoDBEventRecord) error { return nil })
			return err
		}, []string{"Content", "Split", "Concurrency", "Unordered", "Concurrency", "OnFailure", "OnPermanent", "Retention", "Slowest"}},
		"SNS": {func() error {
			_, err := eventguard.SNS(guard, eventguard.Config{Content: eventguard.Body, Concurrency: 1, OnFailure: eventguard.FailBatch, Slowest: 1},
				func(context.Context, order, events.SNSEventRecord) error { return nil })
			return err
		}, []string{"Content", "Concurrency", "OnFailure", "Slowest"}},
		"EventBridge": {func() error {
			_, err := eventguard.EventBridge(guard, eventguard.Config{OnPermanent: -1}, func(context.Context, order) error { return nil })
			return err
		}, []string{"OnPermanent"}},
		"no guard":    {func() error { _, err := eventguard.SQS(nil, eventguard.Config{}, fn); return err }, nil},
		"no function": {func() error { _, err := eventguard.SQS[order](guard, eventguard.Config{}, nil); return err }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.build()
			if !errors.Is(err, idempotent.ErrConfig) {
				t.Fatalf("%v, want an ErrConfig", err)
			}
			fields := lab.FaultyFields(err)
			for i, field := range fields {
				fields[i] = strings.TrimPrefix(field, "eventguard.Config.")
			}
			if !slices.Equal(fields, test.fields) {
				t.Errorf("faults of %q, want %q", fields, test.fields)
			}
		})
	}
}

// Where nothing is recorded a batch has to be answered in time as well.
func TestAnUnprotectedRecordIsNotStartedTooLate(t *testing.T) {
	for name, test := range map[string]struct{ disabled, body string }{
		"switched off": {"1", body("o1")}, "without a key": {"", `{"amount": 5}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("IDEMPOTENCY_DISABLED", test.disabled)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				runs := 0
				guard := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID, RunWithoutKey: true})
				handle := consumer(t, guard, eventguard.Config{}, func(context.Context, order, events.SQSMessage) error {
					runs++
					time.Sleep(8500 * time.Millisecond) // virtual
					return nil
				})
				got, err := handle(ctx, batch(message("m1", test.body), message("m2", test.body)))
				wantFailed(t, got, err, "m2")
				if runs != 1 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}
