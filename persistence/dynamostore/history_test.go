package dynamostore_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// Random histories are answered as by the reference store.
func TestHistoriesAgreeWithTheReferenceStore(t *testing.T) {
	for name, config := range map[string]dynamostore.Config{"default table": {}, "composite table": composite(), "compressed": compressing} {
		t.Run(name, func(t *testing.T) {
			_, store := newStoreWith(t, config)
			storetest.Compare(t, store, 150, 1)
		})
	}
	t.Run("no items with failed conditions", func(t *testing.T) {
		db, store := newStore(t)
		db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.OmitItem()})
		storetest.Compare(t, store, 100, 2)
	})
}
