package lab

import (
	"reflect"
	"strings"
	"sync"

	"github.com/ikkai-go/idempotency/idempotent/saga"
)

// known are the steps of these tests that have nothing but a name.
var known sync.Map

type nameOf struct {
	name string
	of   reflect.Type
}

// Named returns the step of that name, the same at every call.
func Named[Out any](name string) *saga.Step[Out] {
	if end := strings.LastIndexByte(name, '/') + 1; end > 0 {
		return FamilyNamed[Out](name[:end]).Step(name[end:])
	}
	id := nameOf{name, reflect.TypeFor[Out]()}
	s, ok := known.Load(id)
	if !ok {
		s, _ = known.LoadOrStore(id, saga.NewStep(saga.Spec[Out]{Name: name}))
	}
	return s.(*saga.Step[Out])
}

// FamilyNamed returns the family of that name, the same at every call.
func FamilyNamed[Out any](name string) *saga.Family[Out] {
	f, _ := known.LoadOrStore(nameOf{name, reflect.TypeFor[Out]()}, saga.NewFamily(saga.Spec[Out]{Name: name}))
	return f.(*saga.Family[Out])
}
