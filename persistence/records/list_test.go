package records_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/records"
)

var now = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

func claim(key, owner string, at time.Time) persistence.Claim {
	return persistence.Claim{
		Key: key, Owner: owner, Now: at, LeaseUntil: at.Add(time.Minute), ExpiresAt: at.Add(24 * time.Hour),
		Run: persistence.Run{StartedAt: at, Function: "payment:7", RequestID: "request of " + owner},
	}
}

// stores are the stores whose records can be listed, each with a new table.
var stores = map[string]func(t *testing.T) persistence.Store{
	"memory":   func(*testing.T) persistence.Store { return persistence.NewMemory() },
	"dynamodb": func(t *testing.T) persistence.Store { return table(t, dynamostore.Config{}) },
	"dynamodb with a sort key": func(t *testing.T) persistence.Store {
		return table(t, dynamostore.Config{Attributes: dynamostore.Attributes{Key: "pk", SortKey: "sk"}, PartitionValue: "app"})
	},
}

func table(t *testing.T, config dynamostore.Config) persistence.Store {
	t.Helper()
	client := dynamotest.New(t).Client()
	config.Table = "idempotency"
	if err := dynamostore.CreateTable(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	store, err := dynamostore.New(client, config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func newDesk(t *testing.T, store persistence.Store, config records.Config) *records.Desk {
	t.Helper()
	if config.Now == nil {
		config.Now = func() time.Time { return now }
	}
	desk, err := records.New(store, config)
	if err != nil {
		t.Fatal(err)
	}
	return desk
}

func TestAListHasEachRecordOnce(t *testing.T) {
	for name, newStore := range stores {
		t.Run(name, func(t *testing.T) {
			store := newStore(t)
			var want []string
			for n := range 50 {
				c := claim(fmt.Sprintf("payment#%02d", n), "o", now.Add(-time.Hour))
				if _, err := store.Acquire(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				want = append(want, c.Key)
			}
			for _, filter := range []records.Filter{{}, {PageSize: 7}, {Segments: 4, PageSize: 3}, {Operation: "payment", States: []records.State{records.StateDied}}} {
				var keys []string
				for record, err := range newDesk(t, store, records.Config{}).List(t.Context(), filter) {
					if err != nil {
						t.Fatal(err)
					}
					keys = append(keys, record.Key)
				}
				slices.Sort(keys)
				if !slices.Equal(keys, want) {
					t.Errorf("%+v lists %q", filter, keys)
				}
			}
		})
	}
}
