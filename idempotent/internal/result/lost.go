package result

import (
	"encoding"
	"encoding/json"
	"reflect"
	"time"
)

// compared tells of which fields a loss is one.
type compared func(reflect.StructField) bool

// Whoever gets a result has all of its fields. The function that gets an event has only those
// that JSON has, for whoever sends it writes JSON.
var (
	all     compared = func(reflect.StructField) bool { return true }
	encoded compared = func(field reflect.StructField) bool { return !leftOut(field) }
)

// lost says where a value differs from what JSON has made of it; empty if nowhere. What
// interfaces and raw messages hold is not compared, for the first caller gets that in the
// other form; nor is what a type's own methods write and read back, unless it is one number or text.
func (c compared) lost(v, again reflect.Value) (place string) {
	t := v.Type()
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[time.Time](), t.Kind() == reflect.Interface:
		return ""
	case !isBasic(t.Kind()) && keepsItself(t):
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() || again.IsNil() {
			return unless(v.IsNil() == again.IsNil(), t)
		}
		return c.lost(v.Elem(), again.Elem())
	case reflect.Slice, reflect.Array:
		if v.Len() != again.Len() {
			return t.String()
		}
		for i := range v.Len() {
			if place = c.lost(v.Index(i), again.Index(i)); place != "" {
				return place
			}
		}
		return ""
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			other := again.MapIndex(entries.Key())
			if !other.IsValid() {
				return t.String()
			}
			if place = c.lost(entries.Value(), other); place != "" {
				return place
			}
		}
		return unless(v.Len() == again.Len(), t)
	case reflect.Struct:
		for i := range v.NumField() {
			if !c(t.Field(i)) {
				continue
			}
			if place = c.lost(v.Field(i), again.Field(i)); place != "" {
				return t.Field(i).Name
			}
		}
		return ""
	case reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return unless(v.IsZero(), t)
	default:
		return unless(v.Equal(again), t)
	}
}

// isBasic tells whether == says all that there is to say of two values.
func isBasic(k reflect.Kind) bool {
	return reflect.Bool <= k && k <= reflect.Complex128 || k == reflect.String
}

// keepsItself tells whether a type has methods of its own that write its values and read them
// back. Those of an embedded field know nothing of the other fields.
func keepsItself(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		for field := range t.Fields() {
			if field.Anonymous && marshals(reflect.PointerTo(field.Type)) {
				return false
			}
		}
	}
	p := reflect.PointerTo(t)
	return marshals(p) && (p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()))
}

func unless(same bool, t reflect.Type) string {
	if same {
		return ""
	}
	return t.String()
}
