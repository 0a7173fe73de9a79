package eventguard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
	"github.com/ikkai-go/idempotency/persistence"
)

// The orders of two customers, one in each partition: a run that is killed, what is
// behind it, and a producer that has sent an order twice. The story is told by the
// deliveries and what was answered.
func TestAStoryOfATopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 10 * time.Second
		topic := queuesim.NewTopic("orders", 2)
		for partition, ids := range [][]string{{"anna-1", "anna-2", "anna-3"}, {"ben-1", "ben-1"}} {
			for _, id := range ids {
				topic.Put(partition, []byte(body(id)))
			}
		}
		var story ledger
		tell := func(format string, args ...any) { story.add(fmt.Sprintf(format, args...)) }
		killed := make(chan struct{})
		t.Cleanup(func() { close(killed) })
		guard := newGuard(t, persistence.NewMemory(), idempotent.Config{Key: byOrderID})
		var tries sync.Map // of an order
		handle := asFunction(eventguard.Kafka(guard, eventguard.Config{Logger: silent}, func(_ context.Context, o order, _ eventguard.KafkaRecord) error {
			if _, again := tries.LoadOrStore(o.ID, true); o.ID == "anna-2" && !again {
				tell("%s hangs", o.ID)
				<-killed
				runtime.Goexit()
			}
			tell("%s is placed", o.ID)
			return nil
		}))
		mapping := queuesim.TopicMapping{Topic: topic, BatchSize: 10, Timeout: timeout, Function: func(ctx context.Context, event []byte) (response []byte, err error) {
			tell("delivered: %s", offsets(t, event))
			done := make(chan struct{})
			go func() {
				defer close(done)
				response, err = handle(ctx, event)
			}()
			select {
			case <-done:
				tell("failed: %s", failures(t, response))
				return response, err
			case <-ctx.Done():
				tell("killed")
				return nil, errKilled
			}
		}}
		for n := 0; topic.Left() > 0 && n < 10; n++ {
			_, err := mapping.Poll(t.Context())
			if err == nil {
				time.Sleep(time.Minute) // virtual; until the lease of the dead is over
			}
		}
		story.want(t,
			"delivered: 0/0 0/1 0/2 1/0 1/1", "anna-1 is placed", "anna-2 hangs", "killed",
			"delivered: 0/0 0/1 0/2 1/0 1/1", "ben-1 is placed", "failed: orders-0/1 orders-0/2",
			"delivered: 0/1 0/2", "anna-2 is placed", "anna-3 is placed", "failed: ",
		)
	})
}

// offsets lists the records of an event, by partition and offset.
func offsets(t *testing.T, event []byte) string {
	t.Helper()
	var e eventguard.KafkaEvent
	if err := json.Unmarshal(event, &e); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, records := range e.Records {
		for _, r := range records {
			all = append(all, fmt.Sprintf("%d/%d", r.Partition, r.Offset))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// failures lists what an answer reports, as it does.
func failures(t *testing.T, answer []byte) string {
	t.Helper()
	var a struct {
		BatchItemFailures []struct {
			ItemIdentifier struct {
				Partition string
				Offset    json.Number
			}
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range a.BatchItemFailures {
		all = append(all, f.ItemIdentifier.Partition+"/"+f.ItemIdentifier.Offset.String())
	}
	return strings.Join(all, " ")
}
