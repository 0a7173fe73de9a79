package queuesim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
)

func bodies(messages []events.SQSMessage) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Body)
	}
	return all
}

func wantBodies(t *testing.T, got []events.SQSMessage, want ...string) {
	t.Helper()
	if !slices.Equal(bodies(got), want) {
		t.Errorf("received %q, want %q", bodies(got), want)
	}
}

func TestAMessageIsHiddenUntilItsTimeoutAndThenDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queuesim.NewQueue(queuesim.QueueConfig{Name: "q", Visibility: 10 * time.Second, MaxReceive: 2})
		q.Send(queuesim.Letter{Body: "a"})
		for count := 1; count <= 2; count++ {
			got := q.Receive(10)
			wantBodies(t, got, "a")
			if n := got[0].Attributes["ApproximateReceiveCount"]; n != fmt.Sprint(count) {
				t.Errorf("receive count %s, want %d", n, count)
			}
			wantBodies(t, q.Receive(10))
			time.Sleep(10 * time.Second) // virtual
		}
		wantBodies(t, q.Receive(10))
		if dead := q.DeadLetters(); len(dead) != 1 || q.Len() != 0 {
			t.Errorf("%v are dead and %d left, want one and none", dead, q.Len())
		}
	})
}

func TestDeleting(t *testing.T) {
	for name, left := range map[string]int{"q": 0, "q.fifo": 1} { // by the receipt of an earlier delivery
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := queuesim.NewQueue(queuesim.QueueConfig{Name: name, Visibility: time.Second})
				q.Send(queuesim.Letter{Body: "a", Group: "g", DeduplicationID: "a"})
				first := q.Receive(1)
				time.Sleep(time.Second) // virtual
				second := q.Receive(1)
				q.Delete(first[0].ReceiptHandle)
				if q.Len() != left {
					t.Errorf("%d left, want %d", q.Len(), left)
				}
				q.Delete(second[0].ReceiptHandle)
				if q.Len() != 0 {
					t.Error("not deleted")
				}
			})
		})
	}
}

func TestAFIFOQueueLocksGroupsAndDropsWhatIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queuesim.NewQueue(queuesim.QueueConfig{Name: "q.fifo", Visibility: time.Second})
		for _, l := range []queuesim.Letter{{"a1", "a", "a1"}, {"a2", "a", "a2"}, {"a3", "a", "a3"}, {"b1", "b", "b1"}, {"a1 again", "a", "a1"}} {
			q.Send(l)
		}
		first := q.Receive(2)
		wantBodies(t, first, "a1", "a2")
		wantBodies(t, q.Receive(10), "b1")
		q.Delete(first[0].ReceiptHandle)
		wantBodies(t, q.Receive(10))
		time.Sleep(time.Second) // virtual
		wantBodies(t, q.Receive(10), "a2", "a3", "b1")
		time.Sleep(5 * time.Minute) // virtual
		q.Send(queuesim.Letter{Body: "a1 again", Group: "a", DeduplicationID: "a1"})
		wantBodies(t, q.Receive(10), "a2", "a3", "b1", "a1 again")
	})
}

func TestAFIFOQueueRefusesWhatItCannotOrderOrTellApart(t *testing.T) {
	for name, letter := range map[string]queuesim.Letter{
		"no group":            {Body: "a", DeduplicationID: "a"},
		"no deduplication id": {Body: "a", Group: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			q := queuesim.NewQueue(queuesim.QueueConfig{Name: "q.fifo"})
			defer func() {
				if recover() == nil || q.Len() != 0 {
					t.Error("it is taken")
				}
			}()
			q.Send(letter)
		})
	}
}

func TestAStandardQueueTakesLibertiesByASeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
		shuffled, twice, kept := 0, 0, 0
		for seed := range uint64(20) {
			q := queuesim.NewQueue(queuesim.QueueConfig{Name: "q", Visibility: time.Minute, Seed: seed})
			for _, l := range letters {
				q.Send(queuesim.Letter{Body: l})
			}
			first := q.Receive(10)
			again := q.Receive(10)
			for _, m := range first {
				q.Delete(m.ReceiptHandle)
			}
			if seed == 0 {
				wantBodies(t, first, letters...)
				wantBodies(t, again)
			}
			if seed == 0 && q.Len() != 0 {
				t.Errorf("%d are left", q.Len())
			}
			if !slices.Equal(bodies(first), letters) {
				shuffled++
			}
			twice += len(again)
			kept += q.Len()
			for range 100 { // in the end each of them is deleted
				time.Sleep(time.Minute) // virtual
				for _, m := range q.Receive(10) {
					q.Delete(m.ReceiptHandle)
				}
			}
			if q.Len() != 0 {
				t.Errorf("seed %d: %d are never deleted", seed, q.Len())
			}
		}
		if shuffled != 19 || twice == 0 || kept == 0 {
			t.Errorf("%d of 19 shuffled, %d delivered twice, %d deletions forgotten", shuffled, twice, kept)
		}
	})
}

func TestAnswersAreReadAsLambdaReadsThem(t *testing.T) {
	tests := map[string]struct {
		answer string
		err    error
		ignore bool
		left   int
		fails  bool
	}{
		"nothing":                   {answer: ``},
		"null":                      {answer: `null`},
		"an empty list":             {answer: `{"batchItemFailures":[]}`},
		"a null list":               {answer: `{"batchItemFailures":null}`},
		"one failure":               {answer: `{"batchItemFailures":[{"itemIdentifier":"ID"}]}`, left: 1},
		"a wrong spelling":          {answer: `{"BatchItemFailures":[{"itemIdentifier":"ID"}]}`},
		"an id in another one":      {answer: `{"batchItemFailures":[{"ItemIdentifier":"ID"}]}`, left: 2, fails: true},
		"no list":                   {answer: `{"batchItemFailures":"ID"}`, left: 2, fails: true},
		"one failure, ignored":      {answer: `{"batchItemFailures":[{"itemIdentifier":"ID"}]}`, ignore: true},
		"an empty id":               {answer: `{"batchItemFailures":[{"itemIdentifier":""}]}`, left: 2, fails: true},
		"a null id":                 {answer: `{"batchItemFailures":[{"itemIdentifier":null}]}`, left: 2, fails: true},
		"a wrong name":              {answer: `{"batchItemFailures":[{"id":"ID"}]}`, left: 2, fails: true},
		"an id of another batch":    {answer: `{"batchItemFailures":[{"itemIdentifier":"x"}]}`, left: 2, fails: true},
		"no JSON":                   {answer: `failed`, left: 2, fails: true},
		"an error":                  {err: errors.New("failed"), left: 2, fails: true},
		"an error, answers ignored": {err: errors.New("failed"), ignore: true, left: 2, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			q := queuesim.NewQueue(queuesim.QueueConfig{Name: "q", Visibility: time.Hour})
			id := q.Send(queuesim.Letter{Body: "a"})
			q.Send(queuesim.Letter{Body: "b"})
			mapping := queuesim.QueueMapping{Queue: q, BatchSize: 10, Timeout: time.Minute, IgnoresAnswers: test.ignore, Function: func(context.Context, []byte) ([]byte, error) {
				return []byte(strings.ReplaceAll(test.answer, `"ID"`, `"`+id+`"`)), test.err
			}}
			got, err := mapping.Poll(t.Context())
			if got != 2 || (err != nil) != test.fails || q.Len() != test.left {
				t.Errorf("%d received, %v, %d left; want %d left", got, err, q.Len(), test.left)
			}
		})
	}
}

func TestAShardIsReadOnFromItsLowestFailure(t *testing.T) {
	var shard queuesim.Shard
	for i := range 6 {
		shard.Put("p", []byte{byte('a' + i)})
	}
	var seen []string
	fail := map[string]bool{"c": true, "d": true}
	function := func(_ context.Context, payload []byte) ([]byte, error) {
		var event events.KinesisEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		var batch string
		response := events.KinesisEventResponse{}
		for _, r := range slices.Backward(event.Records) { // in any order
			batch = string(r.Kinesis.Data) + batch
			if fail[string(r.Kinesis.Data)] {
				response.BatchItemFailures = append(response.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: r.Kinesis.SequenceNumber})
			}
		}
		seen = append(seen, batch)
		clear(fail)
		return json.Marshal(response)
	}
	mapping := queuesim.ShardMapping{Shard: &shard, Event: queuesim.KinesisEvent, Function: function, BatchSize: 4, Timeout: time.Minute}
	for shard.Left() > 0 {
		if _, err := mapping.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"abcd", "cdef"}; !slices.Equal(seen, want) {
		t.Errorf("batches %q, want %q", seen, want)
	}
}

func TestAShardBisectsAndDiscards(t *testing.T) {
	var shard queuesim.Shard
	for i := range 4 {
		shard.Put("p", []byte{byte('a' + i)})
	}
	var seen []string
	function := func(_ context.Context, payload []byte) ([]byte, error) {
		var event events.KinesisEvent
		if err := json.Unmarshal(payload, &event); err != nil {
			return nil, err
		}
		var batch string
		for _, r := range event.Records {
			batch += string(r.Kinesis.Data)
		}
		seen = append(seen, batch)
		for _, c := range batch {
			if c == 'b' {
				return nil, errors.New("poison")
			}
		}
		return nil, nil
	}
	mapping := queuesim.ShardMapping{Shard: &shard, Event: queuesim.KinesisEvent, Function: function, BatchSize: 4, Timeout: time.Minute, Bisects: true, MaxRetries: 2}
	for shard.Left() > 0 {
		_, _ = mapping.Poll(t.Context())
	}
	if want := []string{"abcd", "ab", "a", "bcd", "bc", "b", "b", "b", "cd"}; !slices.Equal(seen, want) {
		t.Errorf("batches %q, want %q", seen, want)
	}
	if gone := shard.Discarded(); len(gone) != 1 || string(gone[0].Data) != "b" {
		t.Errorf("discarded %v, want b", gone)
	}
}
