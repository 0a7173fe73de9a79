package eventguard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
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

// at runs a rule at each door.
func at(t *testing.T, rule func(*testing.T, door)) {
	for name, d := range doors {
		t.Run(name, func(t *testing.T) { rule(t, d) })
	}
}

// wantFailure checks that of three records the second one has failed, and what has
// become of the third.
func (d door) wantFailure(t *testing.T, failed []int, err error, ran []string) {
	t.Helper()
	want, wantRan := []int{1}, []string{"o1", "o3"}
	if d.held {
		wantRan = []string{"o1"}
	}
	if d.named {
		want = []int{1, 2}
	}
	if err != nil || !slices.Equal(failed, want) || !slices.Equal(ran, wantRan) {
		t.Errorf("%v failed, %v, and %q ran; want %v failed and %q run", failed, err, ran, want, wantRan)
	}
}

// oddDialect recognises requests by their payload, and does something odd for a bad one.
type oddDialect struct{ odd func() error }

func (d oddDialect) Identify(payload []byte) (key, fingerprint string, err error) {
	if strings.Contains(string(payload), "bad") {
		return "", "", d.odd()
	}
	return string(payload), "", nil
}
func (oddDialect) Key(value string) (string, error) { return value, nil }
func (oddDialect) Expiry(until time.Time) time.Time { return until.Truncate(time.Second) }

// What the functions of a user do is contained: the record fails, and the others go on.
func TestWhateverAUsersFunctionDoesOneRecordFails(t *testing.T) {
	odd := map[string]func() error{
		"an error":                  func() error { return errTryAgain },
		"an error that is a slice":  func() error { return sliceError{errTryAgain} },
		"a slice in an error":       func() error { return fmt.Errorf("wrapped: %w", sliceError{errTryAgain}) },
		"an error that panics":      func() error { return (*brittle)(nil) },
		"a text that panics":        func() error { return mute{} },
		"a panic":                   func() error { panic("odd") },
		"a panic with a slice":      func() error { panic(sliceError{errTryAgain}) },
		"a panic with such a panic": func() error { panic((*brittle)(nil)) },
		"a panic with such a text":  func() error { panic(mute{}) },
		"an end":                    func() error { runtime.Goexit(); return nil },
	}
	type doing func(d door, guard *idempotent.Config, config *eventguard.Config, fn *func(order) error, odd func() error)
	functions := map[string]doing{
		"Dialect": func(_ door, guard *idempotent.Config, _ *eventguard.Config, _ *func(order) error, odd func() error) {
			guard.Key, guard.Dialect = nil, oddDialect{odd}
		},
		"Content": func(d door, _ *idempotent.Config, config *eventguard.Config, _ *func(order) error, odd func() error) {
			inner := d.content
			if inner == nil {
				inner = eventguard.Body
			}
			config.Content = func(m events.SQSMessage) ([]byte, string, error) {
				if strings.Contains(m.Body, "bad") {
					return nil, "", odd()
				}
				return inner(m)
			}
		},
		"Skip": func(_ door, _ *idempotent.Config, config *eventguard.Config, fn *func(order) error, odd func() error) {
			config.Skip = func(payload []byte) bool {
				return strings.Contains(string(payload), "bad") && odd() == nil
			}
			*fn = failBad(*fn, func() error { return errTryAgain }) // where Skip has come back
		},
		"Observe": func(_ door, guard *idempotent.Config, _ *eventguard.Config, fn *func(order) error, odd func() error) {
			guard.Observe = func(_ context.Context, e idempotent.Event) {
				if e.Err != nil {
					_ = odd()
				}
			}
			*fn = failBad(*fn, func() error { return errTryAgain })
		},
		"fn": func(_ door, _ *idempotent.Config, _ *eventguard.Config, fn *func(order) error, odd func() error) {
			*fn = failBad(*fn, odd)
		},
	}
	for function, install := range functions {
		for what, odd := range odd {
			for _, answer := range []eventguard.Failures{eventguard.ReportItems, eventguard.FailBatch} {
				t.Run(fmt.Sprintf("%s/%s/answer %d", function, what, answer), func(t *testing.T) {
					at(t, func(t *testing.T, d door) {
						if function == "Content" && !isSQS(t) || answer == eventguard.FailBatch && d.single {
							return
						}
						var l ledger
						fn := func(o order) error { l.add(o.ID); return nil }
						guard, config := idempotent.Config{Key: d.key}, eventguard.Config{OnFailure: answer, Logger: slog.New(naive{slog.NewTextHandler(new(strings.Builder), nil)})}
						install(d, &guard, &config, &fn, odd)
						handle := d.open(t, newGuard(t, persistence.NewMemory(), guard), config, func(_ context.Context, o order) error { return fn(o) })
						failed, err := handle(t.Context(), letters(body("o1"), body("bad"), body("o3"))...)
						if answer == eventguard.FailBatch {
							if !errors.Is(err, eventguard.ErrBatch) || err.Error() == "" {
								t.Errorf("%v, want a BatchError", err)
							}
							return
						}
						d.wantFailure(t, failed, err, l.lines)
					})
				})
			}
		}
	}
}

func isSQS(t *testing.T) bool { return strings.Contains(t.Name(), "/SQS") }

// failBad has an order named "bad" do something else.
func failBad(fn func(order) error, odd func() error) func(order) error {
	return func(o order) error {
		if o.ID == "bad" {
			return odd()
		}
		return fn(o)
	}
}

func TestWhateverDecodingDoesOneRecordFails(t *testing.T) {
	for what, bad := range map[string]string{
		"a panic":       body("panic of decode"),
		"an end":        body("end of decode"),
		"another type":  `{"order_id": "o2", "amount": "much"}`,
		"another shape": `["order"]`,
		"nothing":       "",
		"no JSON":       "not JSON",
		"a missing key": `{"amount": 5}`,
	} {
		t.Run(what, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				if d.undecoded {
					return
				}
				var l ledger
				handle := d.open(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: d.key}), eventguard.Config{}, func(_ context.Context, o order) error {
					l.add(o.ID)
					return nil
				})
				failed, err := handle(t.Context(), letters(body("o1"), bad, body("o3"))...)
				d.wantFailure(t, failed, err, l.lines)
			})
		})
	}
}

// A record for which there is nothing to do is acknowledged, holds nothing up, leaves
// nothing behind and has an event of its own.
func TestWhatThereIsNothingToDoForIsAcknowledged(t *testing.T) {
	nothing := func(text string) bool { return strings.Contains(text, "bad") || strings.Contains(text, "ping") }
	for name, test := range map[string]struct {
		skip, fn bool
		content  bool
		body     string // of the second
	}{
		"by Skip":                       {skip: true, body: body("bad")},
		"by Skip, without a key":        {skip: true, body: `{"type": "ping"}`},
		"by fn":                         {fn: true, body: body("bad")},
		"by Content":                    {content: true, body: body("bad")},
		"by Content, without a key":     {content: true, body: `{"type": "ping"}`},
		"by Content, of no JSON at all": {content: true, body: `ping`},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				if test.content && !isSQS(t) {
					return
				}
				var kinds []idempotent.EventKind
				store := persistence.NewMemory()
				guard := newGuard(t, store, idempotent.Config{Key: d.key, Observe: func(_ context.Context, e idempotent.Event) {
					if e.Kind != idempotent.EventAcquired {
						kinds = append(kinds, e.Kind)
					}
				}})
				var config eventguard.Config
				if test.skip {
					config.Skip = func(payload []byte) bool { return nothing(string(payload)) }
				}
				if test.content {
					inner := d.content
					if inner == nil {
						inner = eventguard.Body
					}
					config.Content = func(m events.SQSMessage) ([]byte, string, error) {
						if nothing(m.Body) {
							return nil, "", fmt.Errorf("not an order: %w", idempotent.ErrSkip)
						}
						return inner(m)
					}
				}
				var l ledger
				handle := d.open(t, guard, config, func(_ context.Context, o order) error {
					if test.fn && o.ID == "bad" {
						return fmt.Errorf("not an order: %w", idempotent.ErrSkip)
					}
					l.add(o.ID)
					return nil
				})
				for range 2 { // and when it comes again
					failed, err := handle(t.Context(), letters(body("o1"), test.body, body("o3"))...)
					if err != nil || len(failed) > 0 {
						t.Errorf("%v failed, %v", failed, err)
					}
				}
				l.want(t, "o1", "o3")
				if n := len(store.Records()); n != 2 {
					t.Errorf("%d records, want 2", n)
				}
				want := []idempotent.EventKind{"executed", "skipped", "executed", "replayed", "skipped", "replayed"}
				if !slices.Equal(kinds, want) {
					t.Errorf("events %q, want %q", kinds, want)
				}
			})
		})
	}
}

// Of two contents of one key the first one in the batch wins, however many run at once.
func TestTheFirstContentOfAKeyWins(t *testing.T) {
	first, second := `{"order_id": "o1", "amount": 1}`, `{"order_id": "o1", "amount": 2}`
	at(t, func(t *testing.T, d door) {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				var config eventguard.Config
				if isSQS(t) || strings.Contains(t.Name(), "Kafka") {
					config.Concurrency = 8
				}
				var l ledger
				handle := d.open(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: d.key, Fingerprint: d.amount}), config, func(_ context.Context, o order) error {
					time.Sleep(time.Second) // virtual
					l.add(fmt.Sprint(o.Amount))
					return nil
				})
				if failed, err := handle(t.Context(), letters(first, second)...); err != nil || !slices.Equal(failed, []int{1}) {
					t.Errorf("%v failed, %v, want the second", failed, err)
				}
				l.want(t, "1")
			})
		}
	})
}

// Two groups of a FIFO queue, or two partitions, may hold the same key.
func TestTheFirstContentOfAKeyWinsAcrossGroups(t *testing.T) {
	content := func(amount int) string { return fmt.Sprintf(`{"order_id": "o1", "amount": %d}`, amount) }
	config := idempotent.Config{Key: byOrderID, Fingerprint: byAmount}
	for _, concurrency := range []int{1, 2, 8} {
		t.Run(fmt.Sprint("FIFO, ", concurrency), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l ledger
				handle := consumer(t, newGuard(t, persistence.NewMemory(), config), eventguard.Config{Concurrency: concurrency}, func(_ context.Context, o order, _ events.SQSMessage) error {
					time.Sleep(time.Second) // virtual
					l.add(fmt.Sprint(o.ID, " ", o.Amount))
					return nil
				})
				got, err := handle(t.Context(), batch(grouped("m1", "a", body("slow")), grouped("m2", "a", content(1)), grouped("m3", "b", content(2)), grouped("m4", "b", body("behind"))))
				wantFailed(t, got, err, "m3", "m4")
				l.want(t, "slow 5", "o1 1")
			})
		})
		t.Run(fmt.Sprint("Kafka, ", concurrency), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l ledger
				handle, err := eventguard.Kafka(newGuard(t, persistence.NewMemory(), config), eventguard.Config{Concurrency: concurrency, Logger: silent}, func(_ context.Context, o order, _ eventguard.KafkaRecord) error {
					time.Sleep(time.Second) // virtual
					l.add(fmt.Sprint(o.ID, " ", o.Amount))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				record := func(partition, offset int64, body string) eventguard.KafkaRecord {
					return eventguard.KafkaRecord{Topic: "orders", Partition: partition, Offset: offset, Value: []byte(body)}
				}
				got, err := handle(t.Context(), eventguard.KafkaEvent{Records: map[string][]eventguard.KafkaRecord{
					"orders-1": {record(1, 7, content(2)), record(1, 8, body("behind"))},
					"orders-0": {record(0, 3, body("slow")), record(0, 4, content(1))},
				}})
				if want := "{[{orders-1@7} {orders-1@8}]}"; err != nil || fmt.Sprint(got) != want {
					t.Errorf("%v, %v, want %s", got, err, want)
				}
				l.want(t, "slow 5", "o1 1")
			})
		})
	}
}

// Outcomes are kept for as long as the source may deliver again, whatever the TTL.
func TestOutcomesOutlastTheSourcesRetention(t *testing.T) {
	const day = 24 * time.Hour
	defaults := map[string]time.Duration{"SQS": 14 * day, "Kinesis": day, "DynamoDB": day, "Kafka": 7 * day, "SNS": 0, "EventBridge": 0}
	for name, test := range map[string]struct{ ttl, retention time.Duration }{
		"by default":       {},
		"a short TTL":      {ttl: time.Hour},
		"a longer TTL":     {ttl: 400 * day},
		"a retention":      {ttl: time.Hour, retention: 30 * day},
		"a short one":      {ttl: time.Minute, retention: time.Hour},
		"a retention only": {retention: 48 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			at(t, func(t *testing.T, d door) {
				synctest.Test(t, func(t *testing.T) {
					store := persistence.NewMemory()
					handle := d.open(t, newGuard(t, store, idempotent.Config{Key: d.key, TTL: test.ttl}), eventguard.Config{Retention: test.retention}, func(context.Context, order) error { return nil })
					if failed, err := handle(t.Context(), letters(body("o1"))...); err != nil || len(failed) > 0 {
						t.Fatal(failed, err)
					}
					least := test.retention
					if least == 0 {
						source, _, _ := strings.Cut(t.Name()[strings.LastIndex(t.Name(), "/")+1:], ",")
						least = defaults[source]
					}
					ttl := test.ttl
					if ttl == 0 {
						ttl = day
					}
					want := time.Now().Add(max(ttl, least))
					if got := store.Records()[0].ExpiresAt; !got.Equal(want) {
						t.Errorf("kept until %v, want %v", got, want)
					}
				})
			})
		})
	}
}

func TestARetentionOfAnotherKindIsRefused(t *testing.T) {
	for _, retention := range []time.Duration{-1, 1<<63 - 1} {
		_, err := eventguard.SNS(newGuard(t, persistence.NewMemory(), idempotent.Config{Key: idempotency.MustJMESPath("id")}), eventguard.Config{Retention: retention},
			func(context.Context, order, events.SNSEventRecord) error { return nil })
		if fields := lab.FaultyFields(err); !slices.Equal(fields, []string{"eventguard.Config.Retention"}) {
			t.Errorf("%v: faults of %q", retention, fields)
		}
	}
}

// The records of a batch share its time: what is kept for answering does not shrink with
// each of them.
func TestALateRecordOfABatchLeavesTimeToAnswer(t *testing.T) {
	at(t, func(t *testing.T, d door) {
		if d.single {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			kill, _ := ctx.Deadline()
			var ends []time.Duration // before the kill
			handle := d.open(t, newGuard(t, persistence.NewMemory(), idempotent.Config{Key: d.key}), eventguard.Config{Slowest: time.Millisecond}, func(ctx context.Context, _ order) error {
				end, _ := ctx.Deadline()
				ends = append(ends, kill.Sub(end))
				time.Sleep(9 * time.Second) // virtual
				return nil
			})
			failed, err := handle(ctx, letters(body("o1"), body("o2"), body("o3"), body("o4"))...)
			if err != nil || len(failed) == 0 || failed[0] != 3 {
				t.Errorf("%v failed, %v, want the last", failed, err)
			}
			if want := []time.Duration{time.Second, time.Second, time.Second}; !slices.Equal(ends, want) {
				t.Errorf("the contexts end %v before the kill, want %v", ends, want)
			}
		})
	})
}
