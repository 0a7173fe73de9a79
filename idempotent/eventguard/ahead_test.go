package eventguard_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/eventguard/kpl"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/sealed"
)

// entrance makes an event of so many items, has it handled, and returns which are reported as failed: by
// their numbers, or by "all" where they are one record to the source.
type entrance func(t *testing.T, guard *idempotent.Guard, config eventguard.Config, items int, fn func(item int) error) []string

// entrances are all ways in for many records at once.
var entrances = map[string]entrance{
	"SQS":      queueDoor(func(item int) events.SQSMessage { return message(strconv.Itoa(item), "{}") }),
	"SQS FIFO": queueDoor(func(item int) events.SQSMessage { return grouped(strconv.Itoa(item), "g", "{}") }),
	"Kinesis": shardDoor(func(items int) (all []events.KinesisEventRecord) {
		for item := range items {
			all = append(all, shardRecord(item, []byte(strconv.Itoa(item))))
		}
		return all
	}),
	"Kinesis, aggregated": shardDoor(func(items int) []events.KinesisEventRecord {
		return []events.KinesisEventRecord{shardRecord(0, aggregated(items))}
	}),
	"DynamoDB": func(t *testing.T, guard *idempotent.Guard, config eventguard.Config, items int, fn func(int) error) []string {
		handle, err := eventguard.DynamoDB(guard, config, func(_ context.Context, r events.DynamoDBEventRecord) error { return fn(numberOf(r.EventID)) })
		if err != nil {
			t.Fatal(err)
		}
		event := events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{}}
		for item := range items {
			event.Records = append(event.Records, events.DynamoDBEventRecord{
				EventID: strconv.Itoa(item), EventSourceArn: "arn:aws:dynamodb:eu-west-1:123456789012:table/t/stream/s",
				Change: events.DynamoDBStreamRecord{SequenceNumber: strconv.Itoa(item)},
			})
		}
		response, err := handle(t.Context(), event)
		return reported(t, response.BatchItemFailures, err, func(f events.DynamoDBBatchItemFailure) string { return f.ItemIdentifier })
	},
	"Kafka": func(t *testing.T, guard *idempotent.Guard, config eventguard.Config, items int, fn func(int) error) []string {
		config.Concurrency = 1
		handle, err := eventguard.Kafka(guard, config, func(_ context.Context, _ json.RawMessage, r eventguard.KafkaRecord) error { return fn(int(r.Offset)) })
		if err != nil {
			t.Fatal(err)
		}
		event := eventguard.KafkaEvent{EventSource: "aws:kafka", Records: make(map[string][]eventguard.KafkaRecord)}
		for item := range items {
			event.Records["t-0"] = append(event.Records["t-0"], eventguard.KafkaRecord{Topic: "t", Offset: int64(item), Value: []byte("{}")})
		}
		response, err := handle(t.Context(), event)
		return reported(t, response.BatchItemFailures, err, func(f eventguard.KafkaBatchItemFailure) string {
			return strconv.FormatInt(f.ItemIdentifier.Offset, 10)
		})
	},
}

func queueDoor(newMessage func(item int) events.SQSMessage) entrance {
	return func(t *testing.T, guard *idempotent.Guard, config eventguard.Config, items int, fn func(int) error) []string {
		config.Concurrency = 1
		handle := consumer(t, guard, config, func(_ context.Context, _ json.RawMessage, m events.SQSMessage) error {
			return fn(numberOf(m.MessageId))
		})
		event := batch()
		for item := range items {
			event.Records = append(event.Records, newMessage(item))
		}
		response, err := handle(t.Context(), event)
		return reported(t, response.BatchItemFailures, err, func(f events.SQSBatchItemFailure) string { return f.ItemIdentifier })
	}
}

func shardDoor(records func(items int) []events.KinesisEventRecord) entrance {
	return func(t *testing.T, guard *idempotent.Guard, config eventguard.Config, items int, fn func(int) error) []string {
		config.Split = kpl.Split
		handle, err := eventguard.Kinesis(guard, config, func(_ context.Context, data json.RawMessage, _ events.KinesisEventRecord) error {
			return fn(numberOf(string(data)))
		})
		if err != nil {
			t.Fatal(err)
		}
		event := events.KinesisEvent{Records: append([]events.KinesisEventRecord{}, records(items)...)}
		response, err := handle(t.Context(), event)
		return reported(t, response.BatchItemFailures, err, func(f events.KinesisBatchItemFailure) string {
			if len(event.Records) == 1 {
				return "all"
			}
			return f.ItemIdentifier
		})
	}
}

func shardRecord(item int, data []byte) events.KinesisEventRecord {
	number := strconv.Itoa(item)
	return events.KinesisEventRecord{
		EventID: "shardId-0:" + number, EventSourceArn: "arn:aws:kinesis:eu-west-1:123456789012:stream/s",
		Kinesis: events.KinesisRecord{SequenceNumber: number, PartitionKey: "k", Data: data},
	}
}

// aggregated is a record of the Kinesis Producer Library with so many items.
func aggregated(items int) []byte {
	field := func(to []byte, tag byte, value []byte) []byte {
		return append(binary.AppendUvarint(append(to, tag), uint64(len(value))), value...)
	}
	packed := field(nil, 0x0a, []byte("k"))
	for item := range items {
		packed = field(packed, 0x1a, field([]byte{0x08, 0}, 0x1a, []byte(strconv.Itoa(item))))
	}
	sum := md5.Sum(packed)
	return slices.Concat([]byte{0xf3, 0x89, 0x9a, 0xc2}, packed, sum[:])
}

func numberOf(id string) int {
	number, _ := strconv.Atoi(id)
	return number
}

func reported[Failure any](t *testing.T, failures []Failure, err error, id func(Failure) string) (ids []string) {
	t.Helper()
	if err != nil {
		t.Errorf("the batch failed: %v", err)
	}
	for _, f := range failures {
		ids = append(ids, id(f))
	}
	return ids
}

const aheadItems = 40

// delivery is a batch that comes to a table, and what has happened before.
type delivery struct {
	done   func(item int) bool // what was done before; of it 10 has failed for good where final is set
	final  bool
	fails  int                // an item; -1 for none
	fault  *dynamotest.Effect // of every look
	sealed bool
}

// told is what became of a delivery.
type told struct {
	Failed, Ran []string
	Events      map[string]int
}

// play has a batch handled, with looking ahead or without.
func (d delivery) play(t *testing.T, through entrance, config idempotent.Config) (got told, requests map[string]int, log string) {
	synctest.Test(t, func(t *testing.T) {
		db, _ := lab.NewDynamo(t)
		guard := func(config idempotent.Config) *idempotent.Guard {
			var store persistence.Store = lab.NewStoreOn(t, db)
			if d.sealed {
				aes, err := sealed.NewAES(sealed.Key{ID: "1", Secret: bytes.Repeat([]byte("k"), 32)})
				if err == nil {
					store, err = sealed.New(store, aes, sealed.Config{})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			return lab.NewKeylessGuard(t, store, config)
		}
		through(t, guard(idempotent.Config{Logger: silent}), eventguard.Config{Logger: silent}, firstOf(d.done), func(item int) error {
			if d.final && item == 10 {
				return idempotent.Permanent(errTryAgain)
			}
			return nil
		})
		db.ResetLog()
		if d.fault != nil {
			db.Inject(dynamotest.Fault{Operation: "BatchGetItem", Times: dynamotest.Always, Do: *d.fault})
		}
		var text bytes.Buffer
		got.Events = make(map[string]int)
		var ran ledger
		config.Logger = slog.New(slog.NewJSONHandler(&text, nil))
		var seen lab.EventLog
		config.Observe = seen.Observe
		got.Failed = through(t, guard(config), eventguard.Config{Logger: silent}, aheadItems, func(item int) error {
			ran.add(strconv.Itoa(item))
			if item == d.fails {
				return errTryAgain
			}
			return nil
		})
		got.Ran = ran.lines
		for _, kind := range seen.Kinds() {
			got.Events[string(kind)]++
		}
		requests = make(map[string]int)
		for _, r := range db.Requests() {
			requests[r.Operation]++
		}
		log = text.String()
	})
	return got, requests, log
}

// firstOf is how many items are done; they are the first ones.
func firstOf(done func(int) bool) (n int) {
	for n < aheadItems && done(n) {
		n++
	}
	return n
}

// Looking ahead decides nothing at any door: the same records run in the same order, the same ones are reported
// as failed, and the observer is told the same, as where each record is claimed. What it saves are requests.
func TestEveryDoorTellsTheSameWhetherItLooksAheadOrNot(t *testing.T) {
	none, all := func(int) bool { return false }, func(int) bool { return true }
	thirty := func(item int) bool { return item < 30 }
	broken := dynamotest.Fail("AccessDeniedException", "not allowed", http.StatusBadRequest)
	throttled, silence := dynamotest.Throttle(), dynamotest.LoseReply()
	for name, d := range map[string]delivery{
		"nothing is done":                              {done: none, fails: -1},
		"all is done":                                  {done: all, fails: -1},
		"the first 30 are done, and 35 fails":          {done: thirty, fails: 35},
		"one has failed for good":                      {done: func(item int) bool { return item < 11 }, final: true, fails: -1},
		"all is done, and sealed":                      {done: all, fails: -1, sealed: true},
		"30 are done and sealed, and 35 fails":         {done: thirty, fails: 35, sealed: true},
		"all is done, and looking does not work":       {done: all, fails: -1, fault: &broken},
		"30 are done, 35 fails, looking does not work": {done: thirty, fails: 35, fault: &broken},
		"looking is throttled":                         {done: thirty, fails: 35, fault: &throttled},
		"looking gets no answer":                       {done: thirty, fails: 35, fault: &silence},
	} {
		for at, through := range entrances {
			t.Run(name+"/"+at, func(t *testing.T) {
				want, claiming, _ := d.play(t, through, idempotent.Config{NoLookAhead: true})
				for policy, config := range map[string]idempotent.Config{"by itself": {}, "reading first": {ReadFirst: true}} {
					got, looking, log := d.play(t, through, config)
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s: %+v\nwhere each is claimed: %+v", policy, got, want)
					}
					saved := claiming["PutItem"] - looking["PutItem"] - looking["GetItem"]
					switch failures := strings.Count(log, "look_ahead_failed"); {
					case d.fault != nil:
						if saved > 0 || failures > 1 {
							t.Errorf("%s: %v, where each is claimed %v; said %d times that looking failed", policy, looking, claiming, failures)
						}
					case looking["BatchGetItem"] > 2 || looking["GetItem"] > 0 || failures > 0 || firstOf(d.done) > 0 && saved < firstOf(d.done)-4 && config.ReadFirst:
						t.Errorf("%s: %v, where each is claimed %v", policy, looking, claiming)
					}
				}
			})
		}
	}
}

// The figures of a batch of a hundred that comes a second time.
func TestASecondDeliveryOfAllIsReadAndNotClaimed(t *testing.T) {
	d := delivery{done: func(int) bool { return true }, fails: -1}
	for at, through := range entrances {
		t.Run(at, func(t *testing.T) {
			_, requests, _ := d.play(t, through, idempotent.Config{})
			if want := map[string]int{"BatchGetItem": 2}; !reflect.DeepEqual(requests, want) {
				t.Errorf("sent %v, want %v", requests, want)
			}
		})
	}
}

// A guard that may not look says so once for each batch, and what it then says of the batch is true.
func TestAQueueThatMayNotLookSaysSo(t *testing.T) {
	broken := dynamotest.Fail("AccessDeniedException", "not allowed", http.StatusBadRequest)
	d := delivery{done: func(int) bool { return true }, fails: -1, fault: &broken}
	for at, through := range entrances {
		t.Run(at, func(t *testing.T) {
			got, requests, log := d.play(t, through, idempotent.Config{})
			if n := strings.Count(log, `"event":"look_ahead_failed"`); n != 1 || !strings.Contains(log, "AccessDeniedException") {
				t.Errorf("said %d times: %s", n, log)
			}
			if len(got.Failed) > 0 || got.Events["replayed"] != aheadItems || requests["PutItem"] != aheadItems {
				t.Errorf("%+v, %s", got, fmt.Sprint(requests))
			}
		})
	}
}
