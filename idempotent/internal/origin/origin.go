// Package origin tells the errors that a guarded call has made from those that its
// function has got from a guarded call of its own, and has passed on. These say nothing of
// what the function has done besides.
//
// The same value may be in several hands: the function's, those of the caller of the call
// inside, and, where it is a variable, everybody's. So none is ever changed: what a function
// passes on goes out as a copy that says so.
package origin

import "reflect"

// Mark says where an error comes from. Errors that know their verdict have it as their first
// field. The zero value is that of an error that a call has made.
type Mark struct {
	passed error // what was passed on; nil where a call has made the error
}

// Provenance returns the mark. It is how this package finds it, and for nobody else.
func (m *Mark) Provenance() *Mark { return m }

// Is tells whether target is what a copy was made of.
func (m *Mark) Is(target error) bool { return m.passed != nil && m.passed == target }

// marked returns the mark of an error that has one itself. One that has such an error inside,
// also as a part of its own, is somebody else's, and stays as it is.
func marked(err error) *Mark {
	carrier, ok := err.(interface{ Provenance() *Mark }) //nolint:errorlint // the outermost
	if !ok {
		return nil
	}
	v := reflect.ValueOf(err)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	if t := v.Type().Elem(); t.Kind() != reflect.Struct || t.NumField() == 0 || t.Field(0).Type != reflect.TypeFor[Mark]() {
		return nil
	}
	return carrier.Provenance()
}

// IsOwn tells whether an error is one with a mark, and no function has passed it on.
func IsOwn(err error) bool {
	m := marked(err)
	return m != nil && m.passed == nil
}

// ofCall is an error that a function gets from the call it is in, so that it is the call's
// own where the function returns it.
type ofCall interface {
	// OfCall tells whether the call of that key has made it.
	OfCall(key string) bool
}

// PassOn returns the error that a guarded function has returned, as that of its call, whose
// key is given. What has been passed on before says so already, and stays what it is.
func PassOn(err error, key string) error {
	if m := marked(err); m == nil || m.passed != nil {
		return err
	}
	if own, ok := err.(ofCall); ok && own.OfCall(key) { //nolint:errorlint // the outermost
		return err
	}
	original := reflect.ValueOf(err)
	passed := reflect.New(original.Type().Elem())
	passed.Elem().Set(original.Elem())
	copied := passed.Interface().(error)
	marked(copied).passed = err
	return copied
}
