package storekit_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func TestNothingInAnInterfaceIsNil(t *testing.T) {
	var (
		noStore    persistence.Store
		typed      persistence.Store = (*persistence.Memory)(nil)
		noFunction func()
	)
	for _, nothing := range []any{nil, noStore, typed, noFunction, map[string]int(nil), []int(nil), (chan int)(nil)} {
		if !storekit.IsNil(nothing) {
			t.Errorf("%T passes for something", nothing)
		}
	}
	for _, something := range []any{0, "", struct{}{}, persistence.NewMemory(), storekit.Front{}, []int{}, func() {}} {
		if storekit.IsNil(something) {
			t.Errorf("%T passes for nothing", something)
		}
	}
}
