package result

import (
	"encoding/json"
	"reflect"
	"time"
)

// lost says where a value differs from what JSON has made of it; empty if nowhere. What
// interfaces and raw messages hold is not compared, for the first caller gets that in the
// other form; nor is what a type's own methods keep.
func lost(v, again reflect.Value) (place string) {
	t := v.Type()
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[time.Time](), t.Kind() == reflect.Interface:
		return ""
	case marshals(reflect.PointerTo(t)):
		return ""
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() || again.IsNil() {
			return unless(v.IsNil() == again.IsNil(), t)
		}
		return lost(v.Elem(), again.Elem())
	case reflect.Slice, reflect.Array:
		if v.Len() != again.Len() {
			return t.String()
		}
		for i := range v.Len() {
			if place = lost(v.Index(i), again.Index(i)); place != "" {
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
			if place = lost(entries.Value(), other); place != "" {
				return place
			}
		}
		return unless(v.Len() == again.Len(), t)
	case reflect.Struct:
		for i := range v.NumField() {
			if place = lost(v.Field(i), again.Field(i)); place != "" {
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

func unless(same bool, t reflect.Type) string {
	if same {
		return ""
	}
	return t.String()
}
