package idempotent

import (
	"reflect"
	"runtime"
	"sync"
	"weak"

	"github.com/ikkai-go/idempotency/persistence"
)

// guarded is which operations have a guard, by store. It keeps no store alive, and forgets
// those that nobody uses any more.
var guarded operations

type operations struct{ seen sync.Map } // of operationOn

// operationOn is an operation on a store.
type operationOn struct {
	store     weak.Pointer[byte] // of its first byte: what kind of store it is does not matter
	kind      reflect.Type       // but a store may begin with another one
	operation string
}

// add tells whether the operation is new to the store. Stores that are no pointers can't be
// told apart, so they are never refused.
func (o *operations) add(store persistence.Store, operation string) bool {
	v := reflect.ValueOf(store)
	if v.Kind() != reflect.Pointer || v.Type().Elem().Size() == 0 {
		return true
	}
	first := (*byte)(v.UnsafePointer())
	on := operationOn{weak.Make(first), v.Type(), operation}
	if _, known := o.seen.LoadOrStore(on, struct{}{}); known {
		return false
	}
	runtime.AddCleanup(first, func(on operationOn) { o.seen.Delete(on) }, on)
	return true
}
