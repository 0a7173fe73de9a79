package kpl_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/eventguard/kpl"
	"github.com/ikkai-go/idempotency/persistence"
)

type vector struct {
	Aggregate []byte `json:"aggregate"`
	Users     []struct {
		PartitionKey string `json:"partition_key"`
		Data         []byte `json:"data"`
	} `json:"users"`
}

// vectors were made with AWS's own aggregator for Python (aws-kinesis-agg 1.2.3).
func vectors(t testing.TB) map[string]vector {
	t.Helper()
	text, err := os.ReadFile("testdata/aggregates.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]vector
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatal(len(all), err)
	}
	return all
}

func record(data []byte) events.KinesisEventRecord {
	return events.KinesisEventRecord{
		EventID: "shardId-000000000000:101", EventSourceArn: "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
		Kinesis: events.KinesisRecord{SequenceNumber: "101", PartitionKey: "a", Data: data},
	}
}

func TestAggregatesOfAWSAreTakenApart(t *testing.T) {
	for name, v := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			parts, err := kpl.Split(record(v.Aggregate))
			if err != nil || len(parts) != len(v.Users) {
				t.Fatalf("%d parts, %v, want %d", len(parts), err, len(v.Users))
			}
			for i, want := range v.Users {
				got := parts[i].Kinesis
				if got.PartitionKey != want.PartitionKey || !bytes.Equal(got.Data, want.Data) || got.SequenceNumber != "101" {
					t.Errorf("part %d is %+v, want %+v", i, got, want)
				}
			}
		})
	}
}

// aggregate packs a message.
func aggregate(message []byte) []byte {
	sum := md5.Sum(message)
	return append(append([]byte{0xF3, 0x89, 0x9A, 0xC2}, message...), sum[:]...)
}

func message(fields ...func([]byte) []byte) []byte {
	var m []byte
	for _, field := range fields {
		m = field(m)
	}
	return m
}

func data(number protowire.Number, value []byte) func([]byte) []byte {
	return func(m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), value)
	}
}

func whole(number protowire.Number, value uint64) func([]byte) []byte {
	return func(m []byte) []byte {
		return protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), value)
	}
}

func TestWhatIsNoAggregateIsARecord(t *testing.T) {
	good := vectors(t)["one"].Aggregate
	for name, data := range map[string][]byte{
		"JSON":             []byte(`{"order_id": "o-1"}`),
		"nothing":          nil,
		"the magic bytes":  good[:4],
		"half of one":      good[:len(good)/2],
		"a wrong digest":   append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1),
		"a changed body":   append(append(bytes.Clone(good[:10]), good[10]^1), good[11:]...),
		"other magic":      append([]byte{0xF3, 0x89, 0x9A, 0xC3}, good[4:]...),
		"something behind": append(bytes.Clone(good), 0),
	} {
		t.Run(name, func(t *testing.T) {
			parts, err := kpl.Split(record(data))
			if err != nil || len(parts) != 1 || !bytes.Equal(parts[0].Kinesis.Data, data) || parts[0].Kinesis.PartitionKey != "a" {
				t.Errorf("%+v, %v", parts, err)
			}
		})
	}
}

func TestABrokenAggregateIsRefused(t *testing.T) {
	key := data(1, []byte("anna"))
	for name, m := range map[string][]byte{
		"no key":              message(key, data(3, message(data(3, []byte("x"))))),
		"no data":             message(key, data(3, message(whole(1, 0)))),
		"a key beyond":        message(key, data(3, message(whole(1, 1), data(3, []byte("x"))))),
		"a huge key":          message(key, data(3, message(whole(1, 1<<63), data(3, []byte("x"))))),
		"no keys":             message(data(3, message(whole(1, 0), data(3, []byte("x"))))),
		"a key of a text":     message(key, data(3, message(data(1, []byte("0")), data(3, []byte("x"))))),
		"data of a number":    message(key, data(3, message(whole(1, 0), whole(3, 7)))),
		"half of a field":     message(key)[:3],
		"a length beyond":     append(protowire.AppendTag(nil, 3, protowire.BytesType), 200),
		"no tag":              {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
		"an end of no group":  protowire.AppendTag(nil, 9, protowire.EndGroupType),
		"a record in a group": message(key, data(3, protowire.AppendTag(nil, 1, protowire.StartGroupType))),
	} {
		t.Run(name, func(t *testing.T) {
			if parts, err := kpl.Split(record(aggregate(m))); !errors.Is(err, kpl.ErrFormat) {
				t.Errorf("%v, %v, want ErrFormat", parts, err)
			}
		})
	}
}

func TestAnAggregateIsBounded(t *testing.T) {
	m := message(data(1, []byte("anna")))
	for range kpl.MostRecords {
		m = data(3, message(whole(1, 0), data(3, nil)))(m)
	}
	if parts, err := kpl.Split(record(aggregate(m))); err != nil || len(parts) != kpl.MostRecords {
		t.Errorf("%d parts, %v", len(parts), err)
	}
	m = data(3, message(whole(1, 0), data(3, nil)))(m)
	if parts, err := kpl.Split(record(aggregate(m))); !errors.Is(err, kpl.ErrTooMany) || parts != nil {
		t.Errorf("one more: %d parts, %v, want ErrTooMany", len(parts), err)
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	user := message(whole(1, 0), whole(2, 0), data(3, nil), data(4, []byte("tag")), whole(9, 1))
	m := message(data(1, []byte("anna")), data(2, []byte("0")), data(3, user), whole(7, 1))
	m = protowire.AppendFixed64(protowire.AppendTag(m, 1, protowire.Fixed64Type), 7)
	parts, err := kpl.Split(record(aggregate(m)))
	if err != nil || len(parts) != 1 || parts[0].Kinesis.PartitionKey != "anna" || len(parts[0].Kinesis.Data) != 0 {
		t.Errorf("%+v, %v", parts, err)
	}
	if parts, err := kpl.Split(record(aggregate(nil))); err != nil || len(parts) != 0 {
		t.Errorf("of an empty aggregate: %+v, %v", parts, err)
	}
}

func FuzzSplit(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Aggregate[4 : len(v.Aggregate)-md5.Size])
	}
	f.Fuzz(func(t *testing.T, m []byte) {
		parts, err := kpl.Split(record(aggregate(m)))
		if err != nil && !errors.Is(err, kpl.ErrFormat) && !errors.Is(err, kpl.ErrTooMany) {
			t.Error(err)
		}
		size := 0
		for _, p := range parts {
			size += len(p.Kinesis.Data)
		}
		if size > len(m) {
			t.Errorf("%d bytes of data in %d", size, len(m))
		}
	})
}

// A record of the Kinesis Producer Library holds several orders; the second one fails.
func ExampleSplit() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "order", Key: idempotency.MustJMESPath("order_id")})
	if err != nil {
		panic(err)
	}
	type order struct {
		ID string `json:"order_id"`
	}
	ill := true
	config := eventguard.Config{Split: kpl.Split, Logger: slog.New(slog.DiscardHandler)}
	handler, err := eventguard.Kinesis(guard, config, func(_ context.Context, o order, r events.KinesisEventRecord) error {
		if o.ID == "o-2" && ill {
			ill = false
			return errors.New("try again")
		}
		fmt.Println("placing", o.ID, "of", r.Kinesis.PartitionKey, "from", r.EventID)
		return nil
	})
	if err != nil {
		panic(err)
	}
	user := func(key uint64, text string) func([]byte) []byte {
		return data(3, message(whole(1, key), data(3, []byte(text))))
	}
	event := events.KinesisEvent{Records: []events.KinesisEventRecord{record(aggregate(message(
		data(1, []byte("anna")), data(1, []byte("ben")), user(0, `{"order_id": "o-1"}`), user(1, `{"order_id": "o-2"}`), user(0, `{"order_id": "o-3"}`),
	)))}}
	for range 2 { // Lambda knows the one record only, and delivers all of it again
		fmt.Println(handler(context.Background(), event))
	}
	// Output:
	// placing o-1 of anna from shardId-000000000000:101:0
	// {[{101}]} <nil>
	// placing o-2 of ben from shardId-000000000000:101:1
	// placing o-3 of anna from shardId-000000000000:101:2
	// {[]} <nil>
}
