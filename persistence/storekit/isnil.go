package storekit

import "reflect"

// IsNil tells whether there is nothing in v: nil, or a nil pointer, map, slice, channel or
// function in an interface, as a client is whose error nobody has looked at. A constructor
// that refuses it says so at once; otherwise the first call panics.
func IsNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Chan, reflect.Func, reflect.Interface, reflect.UnsafePointer:
		return r.IsNil()
	default:
		return false
	}
}
