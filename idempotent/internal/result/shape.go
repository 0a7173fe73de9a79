package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// shape is what is known of a type of results.
type shape struct {
	// flaw is why no value of the type can be stored and read back; empty if one can.
	flaw string
	// plain says that JSON keeps whatever a value has, as long as it is text in UTF-8:
	// there is nothing to find out.
	plain bool
	// dynamic says that values come back in another form than they had: there are
	// interfaces in it, or raw messages.
	dynamic bool
	// masks says that there are types in it whose own methods may write something else than
	// they have.
	masks bool
}

var shapes sync.Map // of reflect.Type to shape

// shapeOf looks at a type, once.
func shapeOf(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape)
	}
	s := shape{plain: true}
	s.look(t, "", make(map[reflect.Type]bool))
	shapes.Store(t, s)
	return s
}

// look looks at a part of the type. Inside says of the parts so far whether this one is a part
// of them.
func (s *shape) look(t reflect.Type, place string, inside map[reflect.Type]bool) {
	if t == reflect.TypeFor[time.Time]() {
		return
	}
	if in, seen := inside[t]; seen {
		s.plain = s.plain && !in // deeper, perhaps, than JSON is read
		return
	}
	inside[t] = true
	defer func() { inside[t] = false }()
	switch {
	case t == reflect.TypeFor[json.Number](): // the empty one is written as 0
		s.plain = false
		return
	case t == reflect.TypeFor[json.RawMessage]():
		s.dynamic, s.plain = true, false
		return
	case t.Kind() != reflect.Interface && marshals(reflect.PointerTo(t)):
		s.plain = false
		s.masks = s.masks || isBasic(t.Kind()) || !keepsItself(t)
		return
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		s.fault(place, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			s.fault(place, t)
		}
		s.dynamic, s.plain = true, false
	case reflect.Map:
		s.plain = s.plain && !marshals(reflect.PointerTo(t.Key()))
		s.look(t.Elem(), place, inside)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		s.look(t.Elem(), place, inside)
	case reflect.Struct:
		names := make(map[string]bool)
		for field := range t.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			name = strings.ToLower(cmp.Or(name, field.Name))
			if leftOut(field) || field.Anonymous || names[name] || strings.Contains(options, "omitzero") {
				s.plain = false
			}
			names[name] = true
			if !leftOut(field) {
				s.look(field.Type, place+"."+field.Name, inside)
			}
		}
	}
}

// leftOut tells whether JSON leaves a field out.
func leftOut(field reflect.StructField) bool {
	return field.Tag.Get("json") == "-" || !field.IsExported() && !field.Anonymous
}

func (s *shape) fault(place string, t reflect.Type) {
	if s.flaw == "" {
		s.flaw = strings.TrimSpace(fmt.Sprintf("%s is a %v", strings.TrimPrefix(place, "."), t))
	}
}
