package idempotenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// World is what environments of a function have in common: the database, the services
// beyond it, and the time. It is safe for concurrent use.
type World struct {
	t        testing.TB
	function Function
	db       *dynamotest.DB
	store    *dynamostore.Store
	others   []string      // tables but that of the records, as Setup has left them
	over     chan struct{} // closed when the story is

	running sync.WaitGroup // invocations

	mu           sync.Mutex
	began        time.Time
	lines        []line
	told         bool // to the end
	effects      []Effect
	environments int
	invocations  int
	cancels      []context.CancelFunc
}

// Story plays a story of a function in virtual time ([synctest.Test]): nothing waits, and
// a [time.Sleep] lets time pass. If it fails the test, the log has the story as it
// went. Prove plays many.
func Story(t *testing.T, f Function, play func(t *testing.T, w *World)) {
	t.Helper()
	f, err := f.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, f)
		defer w.end()
		defer func() {
			if t.Failed() {
				t.Log("the story:\n" + w.Told())
			}
		}()
		play(t, w)
	})
}

func newWorld(tb testing.TB, f Function) *World {
	tb.Helper()
	db := dynamotest.New(tb)
	if err := dynamostore.CreateTable(context.Background(), db.Client(), f.Records); err != nil {
		tb.Fatal(err)
	}
	store, err := dynamostore.New(db.Client(), f.Records)
	if err != nil {
		tb.Fatal(err)
	}
	if f.Setup != nil {
		f.Setup(tb, db)
	}
	tables, err := db.Client().ListTables(context.Background(), &dynamodb.ListTablesInput{})
	if err != nil {
		tb.Fatal(err)
	}
	db.ResetLog()
	others := slices.DeleteFunc(tables.TableNames, func(name string) bool { return name == f.Records.Table })
	return &World{t: tb, function: f, db: db, store: store, others: others, over: make(chan struct{}), began: time.Now()}
}

// end has everybody who is still there go home: what they do is no part of the story.
// Nobody may be left when the bubble ends, and no time passes in it then.
func (w *World) end() {
	close(w.over)
	w.mu.Lock()
	for _, cancel := range w.cancels {
		cancel()
	}
	w.mu.Unlock()
	w.running.Wait()
	time.Sleep(w.function.Timeout) // for goroutines that the function has left behind
}

func (w *World) isOver() bool {
	select {
	case <-w.over:
		return true
	default:
		return false
	}
}

// DB is the database, for looking at items and for faults beyond those of this package.
// Requests that do not come through an [Environment] are no part of the story.
func (w *World) DB() *dynamotest.DB { return w.db }

// Start starts an environment of the function: a process of its own, with connections
// of its own.
func (w *World) Start() *Environment {
	w.mu.Lock()
	w.environments++
	e := &Environment{World: w, name: fmt.Sprintf("environment %d", w.environments)}
	w.mu.Unlock()
	e.Restart()
	return e
}

// Effects are what the services have done so far, in order.
func (w *World) Effects() []Effect {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.effects)
}

// Books are the function's books as they are now.
func (w *World) Books() Books { return w.function.Books(w) }

// Records are the records in the table, whatever their state. The test fails for one that
// can't be read.
func (w *World) Records() []persistence.Record {
	w.t.Helper()
	attribute := w.function.Records.Attributes.Key
	if sort := w.function.Records.Attributes.SortKey; sort != "" {
		attribute = sort
	}
	if attribute == "" {
		attribute = "idempotency_key"
	}
	var records []persistence.Record
	for _, item := range w.db.Items(w.function.Records.Table) {
		key, ok := item[attribute].(*types.AttributeValueMemberS)
		if !ok {
			continue
		}
		record, found, err := w.store.Read(context.Background(), key.Value)
		switch {
		case err != nil:
			w.t.Errorf("a record can't be read: %v", err)
		case found:
			records = append(records, record)
		}
	}
	return records
}

// Expire lets time pass until a moment after the last record has expired. The records
// stay in the table, as they may for days in DynamoDB; DB().RemoveExpired removes them.
func (w *World) Expire() {
	var last time.Time
	for _, r := range w.Records() {
		if r.ExpiresAt.After(last) {
			last = r.ExpiresAt
		}
	}
	if until := time.Until(last); until > 0 {
		w.Pass(until + 2*time.Second)
	}
}

// Pass lets time pass.
func (w *World) Pass(d time.Duration) {
	time.Sleep(d) // virtual
	w.Tell("%v pass", d)
}

// payload is an event as it is sent.
func payload(event any) ([]byte, error) {
	switch event := event.(type) {
	case []byte:
		return event, nil
	case json.RawMessage:
		return event, nil
	default:
		return json.Marshal(event)
	}
}
