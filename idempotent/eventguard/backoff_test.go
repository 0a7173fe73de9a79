package eventguard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
	"github.com/ikkai-go/idempotency/persistence"
)

// changes notes what a queue is asked for.
type changes struct {
	after map[string]time.Duration // by receipt handle
	sizes []int
	err   error
}

func (c *changes) change(_ context.Context, queueARN string, messages []eventguard.Delay) error {
	if c.after == nil {
		c.after = make(map[string]time.Duration)
	}
	c.sizes = append(c.sizes, len(messages))
	for _, m := range messages {
		c.after[m.ReceiptHandle] = m.After
		if !strings.HasPrefix(queueARN, "arn:aws:sqs:eu-west-1:123456789012:orders") || m.After%time.Second != 0 {
			c.err = fmt.Errorf("asked %s for %+v", queueARN, m)
		}
	}
	return c.err
}

func receivedTimes(m events.SQSMessage, n int) events.SQSMessage {
	m.Attributes["ApproximateReceiveCount"] = strconv.Itoa(n)
	return m
}

// inTheWay puts a record of another environment's run in the way of an order.
func inTheWay(t *testing.T, memory *persistence.Memory, guard *idempotent.Guard, id string, lease time.Duration) {
	t.Helper()
	key, err := guard.RecordKey(t.Context(), []byte(body(id)))
	if err != nil {
		t.Fatal(err)
	}
	memory.Put(persistence.Record{
		Key: key, Status: persistence.StatusProcessing, Owner: "another", Attempt: 1,
		LeaseUntil: time.Now().Add(lease), ExpiresAt: time.Now().Add(lease + time.Hour),
	})
}

func TestAMessageComesBackWhenThatMayHelp(t *testing.T) {
	tests := map[string]struct {
		message      events.SQSMessage
		lease        time.Duration // of a run under way
		fails        error
		least, most  time.Duration
		first, limit time.Duration
	}{
		"done":                              {message: message("m", body("1"))},
		"failed once":                       {message: message("m", body("1")), fails: errTryAgain, least: 15 * time.Second, most: 30 * time.Second},
		"failed four times":                 {message: receivedTimes(message("m", body("1")), 4), fails: errTryAgain, least: 120 * time.Second, most: 240 * time.Second},
		"failed very often":                 {message: receivedTimes(message("m", body("1")), 5000), fails: errTryAgain, least: 450 * time.Second, most: 900 * time.Second},
		"a first time of one's own":         {message: message("m", body("1")), fails: errTryAgain, first: time.Hour, least: 30 * time.Minute, most: time.Hour},
		"a limit of one's own":              {message: receivedTimes(message("m", body("1")), 9), fails: errTryAgain, limit: time.Minute, least: 30 * time.Second, most: time.Minute},
		"in progress":                       {message: message("m", body("1")), lease: time.Minute, least: time.Minute, most: 90 * time.Second},
		"in progress for long":              {message: receivedTimes(message("m", body("1")), 5), lease: time.Minute, least: 15 * time.Minute, most: 15 * time.Minute},
		"in progress still":                 {message: receivedTimes(message("m", body("1")), 2), lease: time.Minute, least: 4 * time.Minute, most: 5 * time.Minute},
		"in progress for longer than hours": {message: message("m", body("1")), lease: 20 * time.Hour, least: 15 * time.Minute, most: 15 * time.Minute},
		"failed for good":                   {message: message("m", body("1")), fails: idempotent.Permanent(errTryAgain)},
		"no key":                            {message: message("m", "{}")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := persistence.NewMemory()
				guard := newGuard(t, memory, idempotent.Config{Key: byOrderID})
				if test.lease > 0 {
					inTheWay(t, memory, guard, "1", test.lease)
				}
				var queue changes
				handler := consumer(t, guard, eventguard.Config{Backoff: eventguard.Backoff{Change: queue.change, First: test.first, Longest: test.limit}},
					func(context.Context, order, events.SQSMessage) error { return test.fails })
				if _, err := handler(t.Context(), batch(test.message)); err != nil {
					t.Fatal(err)
				}
				after, asked := queue.after["receipt of m"]
				if asked != (test.most > 0) || after < test.least || after > test.most || queue.err != nil {
					t.Errorf("after %v, asked: %v (%v); want between %v and %v", after, asked, queue.err, test.least, test.most)
				}
			})
		})
	}
}

func TestAGroupComesBackAsAWhole(t *testing.T) {
	var queue changes
	handler := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}),
		eventguard.Config{Backoff: eventguard.Backoff{Change: queue.change}}, new(ledger).place)
	response, err := handler(t.Context(), batch(
		grouped("a1", "a", body("1")), receivedTimes(grouped("a2", "a", body("bad")), 6), grouped("a3", "a", body("3")), grouped("a4", "a", body("4")),
		grouped("b1", "b", body("bad")), grouped("c1", "c", body("6")),
	))
	wantFailed(t, response, err, "a2", "a3", "a4", "b1")
	a, b := queue.after["receipt of a2"], queue.after["receipt of b1"]
	if a <= b || queue.after["receipt of a3"] != a || queue.after["receipt of a4"] != a || len(queue.after) != 4 {
		t.Errorf("got %v", queue.after)
	}
}

func TestTheAnswerIsTheSameWhateverComesOfTheBackoff(t *testing.T) {
	for name, change := range map[string]func(context.Context, string, []eventguard.Delay) error{
		"refused": func(context.Context, string, []eventguard.Delay) error { return errors.New("AccessDenied") },
		"panics":  func(context.Context, string, []eventguard.Delay) error { panic("nil client") },
		"hangs": func(ctx context.Context, _ string, _ []eventguard.Delay) error {
			<-ctx.Done()
			return ctx.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				handler := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID}), eventguard.Config{
					Logger: slog.New(slog.NewTextHandler(&log, nil)), Backoff: eventguard.Backoff{Change: change},
				}, new(ledger).place)
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				defer cancel()
				response, err := handler(ctx, batch(message("m1", body("1")), message("m2", body("bad"))))
				wantFailed(t, response, err, "m2")
				if ctx.Err() != nil || !strings.Contains(log.String(), "event=visibility_unchanged") {
					t.Errorf("%v, logged %s", ctx.Err(), log.String())
				}
			})
		})
	}
}

func TestTenMessagesAreChangedInARequest(t *testing.T) {
	var queue changes
	handler := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{Backoff: eventguard.Backoff{Change: queue.change}}, new(ledger).place)
	var messages []events.SQSMessage
	for i := range 25 {
		messages = append(messages, message(fmt.Sprint(i), body("bad")))
	}
	if _, err := handler(t.Context(), batch(messages...)); err != nil || fmt.Sprint(queue.sizes) != "[10 10 5]" {
		t.Errorf("%v, %v", queue.sizes, err)
	}
}

// A batch may have ten thousand messages.
func TestMessagesThatThereIsNoTimeForAreOneLineOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		slow := func(context.Context, string, []eventguard.Delay) error {
			time.Sleep(1500 * time.Millisecond) // virtual
			return nil
		}
		handler := consumer(t, newGuard(t, persistence.NewMemory(), idempotent.Config{}), eventguard.Config{
			Logger: slog.New(slog.NewTextHandler(&log, nil)), Backoff: eventguard.Backoff{Change: slow},
		}, new(ledger).place)
		var messages []events.SQSMessage
		for i := range 100 {
			messages = append(messages, message(fmt.Sprint(i), body("bad")))
		}
		_, err := handler(t.Context(), batch(messages...))
		if n := strings.Count(log.String(), "event=visibility_unchanged"); err != nil || n != 1 || !strings.Contains(log.String(), "messages=80 ") {
			t.Errorf("%v, %d lines", err, n)
		}
	})
}

func TestABackoffThatCanNotBeIsRefused(t *testing.T) {
	change := new(changes).change
	guard := newGuard(t, persistence.NewMemory(), idempotent.Config{})
	for name, b := range map[string]eventguard.Backoff{
		"no Change":     {First: time.Second},
		"negative":      {Change: change, First: -time.Second},
		"too short":     {Change: change, First: time.Millisecond},
		"upside down":   {Change: change, First: time.Hour, Longest: time.Minute},
		"a day":         {Change: change, Longest: 24 * time.Hour},
		"twelve hours":  {Change: change, First: 12 * time.Hour},
		"a negative up": {Change: change, Longest: -time.Hour},
	} {
		_, err := eventguard.SQS(guard, eventguard.Config{Backoff: b}, new(ledger).place)
		if !errors.Is(err, idempotent.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := eventguard.SNS(guard, eventguard.Config{Backoff: eventguard.Backoff{Change: change}}, func(context.Context, order, events.SNSEventRecord) error { return nil })
	if !errors.Is(err, idempotent.ErrConfig) {
		t.Errorf("SNS: %v", err)
	}
}

// A duplicate of a run that takes ten minutes is received every half minute. Without a back-off
// it is dead before that run has ended.
func TestADuplicateOfALongRunUsesUpNoDeliveries(t *testing.T) {
	for _, backsOff := range []bool{false, true} {
		for _, name := range []string{"orders", "orders.fifo"} {
			t.Run(fmt.Sprintf("%s, backs off: %v", name, backsOff), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory := persistence.NewMemory()
					guard := newGuard(t, memory, idempotent.Config{Key: byOrderID})
					queue := queuesim.NewQueue(queuesim.QueueConfig{Name: name, Visibility: 30 * time.Second, MaxReceive: 5})
					config := eventguard.Config{}
					if backsOff {
						config.Backoff.Change = func(_ context.Context, _ string, messages []eventguard.Delay) error {
							for _, m := range messages {
								if !queue.ChangeVisibility(m.ReceiptHandle, m.After) {
									return errors.New("not in flight")
								}
							}
							return nil
						}
					}
					l := new(ledger)
					mapping := queuesim.QueueMapping{Queue: queue, BatchSize: 10, Timeout: 10 * time.Second, Function: asFunction(consumer(t, guard, config, l.place), nil)}
					ended := time.Now().Add(10 * time.Minute)
					queue.Send(queuesim.Letter{Body: body("1"), Group: "g", DeduplicationID: "1"})
					for queue.Len() > 0 {
						if time.Now().Before(ended) { // and renews its lease
							inTheWay(t, memory, guard, "1", time.Minute)
						} else if r := memory.Records()[0]; r.Status == persistence.StatusProcessing {
							r.Status, r.LeaseUntil, r.Result = persistence.StatusCompleted, time.Time{}, []byte("null")
							memory.Put(r)
						}
						if _, err := mapping.Poll(t.Context()); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Second)
					}
					l.want(t) // a replay, or dead
					if dead := len(queue.DeadLetters()); dead > 0 == backsOff {
						t.Errorf("%d dead letters, effects %v", dead, l.lines)
					}
				})
			})
		}
	}
}
