// Package lab is what the tests of the guard, of steps and of batches have in common: stores,
// guards, a log of events, a shop whose stock commits with records.
package lab

import (
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Table is the name of the embedded DynamoDB's table in these tests.
const Table = embedded.Table

// NewDynamo returns an embedded DynamoDB with an idempotency table, and a store
// on it that uses the real SDK client.
func NewDynamo(t testing.TB) (*dynamotest.DB, *dynamostore.Store) {
	t.Helper()
	return embedded.Store(t, dynamostore.Config{})
}

// NewStoreOn returns another environment's store on the same table.
func NewStoreOn(t testing.TB, db *dynamotest.DB) *dynamostore.Store {
	t.Helper()
	store, err := dynamostore.New(db.Client(), dynamostore.Config{Table: Table})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// OnEveryStore runs a story on the reference store, on DynamoDB, and on the
// endpoint that the environment may name.
func OnEveryStore(t *testing.T, story func(*testing.T, persistence.Store)) {
	t.Run("Memory", func(t *testing.T) { story(t, persistence.NewMemory()) })
	t.Run("DynamoDB", func(t *testing.T) {
		_, store := NewDynamo(t)
		story(t, store)
	})
	if client, set := endpoint.Client(); set {
		t.Run(endpoint.Variable, func(t *testing.T) {
			config := dynamostore.Config{Table: "idempotency-" + rand.Text()}
			if err := dynamostore.CreateTable(t.Context(), client, config); err != nil {
				t.Fatal(err)
			}
			store, err := dynamostore.New(client, config)
			if err != nil {
				t.Fatal(err)
			}
			story(t, store)
		})
	}
}

// InVirtualTime runs a story in a bubble in which time passes as soon as nobody
// has anything else to do, on the reference store and on DynamoDB. What such a
// story says of time, the store's own suite shows on any endpoint.
func InVirtualTime(t *testing.T, story func(*testing.T, persistence.Store)) {
	t.Run("Memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { story(t, persistence.NewMemory()) })
	})
	t.Run("DynamoDB", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, store := NewDynamo(t)
			story(t, store)
		})
	})
}

// Another gives a store a second identity, as another environment has.
type Another struct{ persistence.Store }

// NewKeylessGuard returns a guard for the operation "payment" unless the config names
// another.
func NewKeylessGuard(t testing.TB, store persistence.Store, config idempotent.Config) *idempotent.Guard {
	t.Helper()
	if config.Operation == "" {
		config.Operation = "payment"
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	guard, err := idempotent.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// FaultyFields are the fields that an error of a configuration blames.
func FaultyFields(err error) []string {
	var fields []string
	switch err := err.(type) {
	case *idempotent.ConfigError:
		return []string{err.Field}
	case interface{ Unwrap() error }:
		return FaultyFields(err.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range err.Unwrap() {
			fields = append(fields, FaultyFields(e)...)
		}
	}
	return fields
}

// EventLog collects what a guard reports.
type EventLog struct {
	mu  sync.Mutex
	all []idempotent.Event
}

// Observe is for Config.Observe.
func (e *EventLog) Observe(_ context.Context, event idempotent.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// Kinds returns what was reported since the last call, but for the starts of runs: see
// TestEveryRunHasAStart.
func (e *EventLog) Kinds() []idempotent.EventKind {
	e.mu.Lock()
	defer e.mu.Unlock()
	var kinds []idempotent.EventKind
	for _, event := range e.all {
		if event.Kind == idempotent.EventAcquired {
			continue
		}
		kinds = append(kinds, event.Kind)
	}
	e.all = nil
	return kinds
}

// Bubbled is a test in virtual time: the store sends its writes again until their time is
// over, and nobody has to wait for that.
func Bubbled(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}
