package storetest_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestHistoriesAgree(t *testing.T) {
	storetest.Compare(t, newFlawed(func(*flawed) {}), 3000, 1)
	storetest.Compare(t, kvStore{&keyValues{entries: make(map[string]entry)}}, 1000, 2)
	storetest.Compare(t, cached.New(persistence.NewMemory(), cached.Limits{}), 3000, 3)
}
