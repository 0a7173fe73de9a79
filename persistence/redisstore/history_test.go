package redisstore_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence/redisstore"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// Random histories are answered as by the reference store.
func TestHistoriesAgreeWithTheReferenceStore(t *testing.T) {
	storetest.Compare(t, newStore(t, startServer(t).client(t), redisstore.Config{}), 300, 1)
}
