package idempotent_test

import (
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// everybodys is a store that is a package variable, of which nothing is on the heap.
var everybodys lab.Another

func TestAnOperationIsGuardedOnceOnAStore(t *testing.T) {
	everybodys.Store = persistence.NewMemory()
	memory := persistence.NewMemory()
	for name, test := range map[string]struct {
		first, second persistence.Store
		operation     string // of the second
		refused       bool
	}{
		"the same store":        {memory, memory, "pay", true},
		"another operation":     {memory, memory, "refund", false},
		"another store":         {persistence.NewMemory(), persistence.NewMemory(), "pay", false},
		"a store in front":      {memory, &lab.Another{Store: memory}, "pay", false},
		"a package variable":    {&everybodys, &everybodys, "pay", true},
		"stores that are equal": {lab.Another{Store: memory}, lab.Another{Store: memory}, "pay", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, first := idempotent.New(test.first, idempotent.Config{Operation: "pay"})
			if first != nil && !errors.Is(first, idempotent.ErrDuplicateOperation) { // of another row
				t.Fatal(first)
			}
			_, err := idempotent.New(test.second, idempotent.Config{Operation: test.operation})
			if refused := errors.Is(err, idempotent.ErrDuplicateOperation); refused != test.refused {
				t.Errorf("refused: %v, %v", refused, err)
			}
		})
	}
}

// What guards there were keeps no store alive.
func TestAStoreIsForgottenWithItsGuards(t *testing.T) {
	guarded := func() weak.Pointer[persistence.Memory] {
		store := persistence.NewMemory()
		idempotent.MustNew(store, idempotent.Config{Operation: "pay"})
		return weak.Make(store)
	}
	alive := guarded()
	for range 10 {
		runtime.GC()
		if alive.Value() == nil {
			return
		}
	}
	t.Error("the store is still there")
}
