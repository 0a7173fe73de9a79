package overflow_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/overflow"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// Random histories are answered as by the reference store.
func TestHistoriesAgreeWithTheReferenceStore(t *testing.T) {
	inMemory, _ := front(t, persistence.NewMemory(), newShelf(), overflow.Config{Inline: 1})
	storetest.Compare(t, inMemory, 2000, 1)
	always, _ := front(t, persistence.NewMemory(), newShelf(), overflow.Config{})
	storetest.Compare(t, always, 1000, 2)
}
