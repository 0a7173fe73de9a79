package sqlstore_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// Random histories are answered as by the reference store.
func TestHistoriesAgreeWithTheReferenceStore(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		storetest.Compare(t, newLab(t, d, nil), 100, 1)
	})
}
