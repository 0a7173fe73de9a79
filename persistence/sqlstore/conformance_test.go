package sqlstore_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestTheContractIsKept(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, d database) {
		store := newLab(t, d, nil)
		storetest.Run(t, func(*testing.T) persistence.Store { return store })
	})
}
