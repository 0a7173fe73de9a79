package storekit_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/storekit"
)

func ExampleCountUnits() {
	ctx, units := storekit.CountUnits(context.Background())
	if storekit.UnitsAsked(ctx) { // in the store, which then asks its database
		storekit.Consumed(ctx, 1.5)
	}
	fmt.Println(units.Total(), storekit.UnitsAsked(context.Background()))
	// Output: 1.5 false
}

func TestUnitsAreCountedByMany(t *testing.T) {
	ctx, units := storekit.CountUnits(t.Context())
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { storekit.Consumed(ctx, 0.5) })
	}
	all.Wait()
	storekit.Consumed(t.Context(), 1) // nobody counts
	if units.Total() != 50 {
		t.Error(units.Total())
	}
}
