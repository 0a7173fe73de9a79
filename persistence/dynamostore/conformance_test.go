package dynamostore_test

import (
	"crypto/rand"
	"testing"

	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// reserved are attribute names that DynamoDB refuses outside placeholders.
var reserved = dynamostore.Attributes{
	Key: "key", Status: "status", Owner: "user", LeaseUntil: "until", ExpireAt: "ttl",
	Fingerprint: "hash", Result: "data", ResultEncoding: "format", Steps: "steps", Attempt: "count", Version: "version",
}

// composite is report 34's table: reserved words everywhere, and a sort key.
func composite() dynamostore.Config {
	attributes := reserved
	attributes.SortKey = "name"
	return dynamostore.Config{Attributes: attributes, PartitionValue: "shop"}
}

// The store keeps the contract, whatever the table and the endpoint look like.
func TestTheContractIsKept(t *testing.T) {
	embedded := func(config dynamostore.Config, faults ...dynamotest.Fault) func(*testing.T) persistence.Store {
		return func(t *testing.T) persistence.Store {
			db, store := newStoreWith(t, config)
			db.Inject(faults...)
			return store
		}
	}
	t.Run("default table", func(t *testing.T) { storetest.Run(t, embedded(dynamostore.Config{})) })
	t.Run("reserved words", func(t *testing.T) { storetest.Run(t, embedded(dynamostore.Config{Attributes: reserved})) })
	t.Run("composite table", func(t *testing.T) { storetest.Run(t, embedded(composite())) })
	t.Run("no items with failed conditions", func(t *testing.T) {
		storetest.Run(t, embedded(dynamostore.Config{}, dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.OmitItem()}))
	})
	if client, set := endpoint.Client(); set {
		external := func(config dynamostore.Config) func(*testing.T) persistence.Store {
			config.Table = "idempotency-" + rand.Text()
			return func(t *testing.T) persistence.Store { return newTable(t, client, config) }
		}
		t.Run(endpoint.Variable, func(t *testing.T) { storetest.Run(t, external(dynamostore.Config{})) })
		t.Run(endpoint.Variable+" composite", func(t *testing.T) { storetest.Run(t, external(composite())) })
	}
}

// The same with the reply of every second request lost: the SDK repeats it, and
// the store recognises its own writes.
func TestTheContractIsKeptWithLostReplies(t *testing.T) {
	for _, rule := range storetest.Rules() {
		switch rule.Name {
		case "race/release":
			// A release whose reply is lost, and a record that somebody else makes
			// before it is repeated: the repeat can only report the other's record.
			continue
		case "take-over/told", "resume/told":
			continue // it is not stored, so a repeat can't tell
		case "transaction/refused":
			continue // a refusal whose reply was lost is none: an earlier try may be applied yet
		}
		t.Run(rule.Name, func(t *testing.T) {
			db, store := newStore(t)
			for request := 2; request < 2000; request += 2 {
				db.Inject(dynamotest.Fault{Request: request, Do: dynamotest.FailAfter()})
			}
			if err := rule.Check(t.Context(), store); err != nil {
				t.Errorf("%s\nThe store does otherwise: %v", rule.Doc, err)
			}
		})
	}
}
