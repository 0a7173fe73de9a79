package sealed_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sealed"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// Random histories are answered as by the reference store.
func TestHistoriesAgreeWithTheReferenceStore(t *testing.T) {
	storetest.Compare(t, front(t, persistence.NewMemory(), aes(t, key("a")), sealed.Config{}), 2000, 1)
	storetest.Compare(t, front(t, table(t), aes(t, key("a")), sealed.Config{}), 200, 2)
}
