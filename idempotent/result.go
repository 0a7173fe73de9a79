package idempotent

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"time"
)

// What a replay gives is what the first caller got: results and outputs of steps are
// stored as JSON, and JSON loses things. What it always loses is refused by the type,
// before anything runs; what it loses of a value is found when that is encoded, and the
// record then says that there is no result rather than to hold another one; and what
// comes back as something else, the first caller gets as that too.

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

func (s *shape) look(t reflect.Type, place string, seen map[reflect.Type]bool) {
	if seen[t] || t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[json.Number]() {
		return
	}
	seen[t] = true
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		s.dynamic, s.plain = true, false
		return
	case t.Kind() != reflect.Interface && marshals(reflect.PointerTo(t)):
		s.plain = false
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
		s.look(t.Elem(), place, seen)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		s.look(t.Elem(), place, seen)
	case reflect.Struct:
		names := make(map[string]bool)
		for field := range t.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			name = strings.ToLower(cmp.Or(name, field.Name))
			if leftOut(field) || field.Anonymous || names[name] {
				s.plain = false
			}
			names[name] = true
			if !leftOut(field) {
				s.look(field.Type, place+"."+field.Name, seen)
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

// mustEncode panics for types of results that would silently be lost.
func mustEncode(t reflect.Type) {
	s := shapeOf(t)
	if s.flaw == "" && (marshals(reflect.PointerTo(t)) || !reads(t)) {
		return
	}
	text := fmt.Sprintf("idempotent: results of type %v can't be stored and replayed", t)
	if s.flaw != "" {
		text += ": " + s.flaw
	}
	panic(text)
}

func reads(t reflect.Type) bool {
	reader := reflect.TypeFor[io.Reader]()
	return t.Implements(reader) || reflect.PointerTo(t).Implements(reader)
}

func marshals(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// encodeResult returns the JSON to store of what out points to, so that methods
// of the pointer are used. A raw message is stored as it is, byte for byte; the
// error says why a result can't be stored. Where a replay has values of other types,
// out gets these.
func encodeResult[Out any](out *Out) ([]byte, error) {
	switch out := any(*out).(type) {
	case json.RawMessage:
		if out == nil {
			break
		}
		if !json.Valid(out) {
			return nil, errors.New("the result is a json.RawMessage that is not JSON")
		}
		return out, nil
	case io.Reader:
		if !marshals(reflect.TypeOf(out)) {
			return nil, fmt.Errorf("the result is a reader (%T), whose bytes can be read only once", out)
		}
	}
	stored, err := encodeJSON(out)
	if err != nil {
		return nil, &lossError{fmt.Sprintf("the result can't be encoded (%T)", err), err}
	}
	s := shapeOf(reflect.TypeFor[Out]())
	replaced := bytes.Contains(stored, []byte(`\ufffd`))
	if s.plain && !replaced {
		return stored, nil
	}
	again := new(Out)
	if err := decodeResult(stored, again); err != nil {
		return nil, &lossError{fmt.Sprintf("the result's JSON can't be read back into a %T", *out), err}
	}
	if replaced {
		// An escape that comes back as one was in a raw message.
		if read, err := encodeJSON(again); err != nil || !bytes.Equal(read, stored) {
			return nil, errors.New("the result has strings that are not UTF-8")
		}
	}
	if place := lost(reflect.ValueOf(out).Elem(), reflect.ValueOf(again).Elem()); place != "" {
		return nil, fmt.Errorf("JSON loses a part of the result, in %s", place)
	}
	if s.dynamic {
		*out = *again
	}
	return stored, nil
}

// lossError says that a result would not come back as it was. The text of a decoder's
// error is left out: it may quote the result.
type lossError struct {
	text string
	err  error
}

func (e *lossError) Error() string { return e.text }

func (e *lossError) Unwrap() error { return e.err }

func encodeJSON(value any) ([]byte, error) {
	var stored bytes.Buffer
	encoder := json.NewEncoder(&stored)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(stored.Bytes(), []byte("\n")), nil
}

func decodeResult(stored []byte, out any) error {
	if raw, ok := out.(*json.RawMessage); ok {
		*raw = bytes.Clone(stored)
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.UseNumber()
	return decoder.Decode(out)
}

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
