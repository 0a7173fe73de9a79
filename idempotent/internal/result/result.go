// Package result keeps what functions and steps return: as JSON, and so that what comes
// back is what went in, or is known not to.
package result

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// What a replay gives is what the first caller got: results and outputs of steps are
// stored as JSON, and JSON loses things. What it always loses is refused by the type,
// before anything runs; what it loses of a value is found when that is encoded, and the
// record then says that there is no result rather than to hold another one; and what
// comes back as something else, the first caller gets as that too.

// MustKeep panics for types of results that would silently be lost.
func MustKeep(t reflect.Type) {
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

// Encode returns the JSON to store of what out points to, so that methods
// of the pointer are used. A raw message is stored as it is, byte for byte; the
// error says why a result can't be stored. Where a replay has values of other types,
// out gets these.
func Encode[Out any](out *Out) ([]byte, error) {
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
	stored, err := JSON(out)
	if err != nil {
		return nil, Loss(err, "the result can't be encoded (%T)", err)
	}
	s := shapeOf(reflect.TypeFor[Out]())
	replaced := bytes.Contains(stored, []byte(`\ufffd`))
	if s.plain && !replaced {
		return stored, nil
	}
	again := new(Out)
	if err := Decode(stored, again); err != nil {
		return nil, Loss(err, "the result's JSON can't be read back into a %T", *out)
	}
	if replaced {
		// An escape that comes back as one was in a raw message.
		if read, err := JSON(again); err != nil || !bytes.Equal(read, stored) {
			return nil, errors.New("the result has strings that are not UTF-8")
		}
	}
	if place := all.lost(reflect.ValueOf(out).Elem(), reflect.ValueOf(again).Elem()); place != "" {
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

// Loss is an error of this text that wraps another without quoting it: what encoders and
// decoders say may quote values.
func Loss(err error, format string, args ...any) error {
	return &lossError{fmt.Sprintf(format, args...), err}
}

// JSON returns the JSON of a value, as it is stored: without escapes for HTML.
func JSON(value any) ([]byte, error) {
	var stored bytes.Buffer
	encoder := json.NewEncoder(&stored)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(stored.Bytes(), []byte("\n")), nil
}

// Decode reads back what Encode has made; out is a pointer.
func Decode(stored []byte, out any) error {
	if raw, ok := out.(*json.RawMessage); ok {
		*raw = bytes.Clone(stored)
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.UseNumber()
	return decoder.Decode(out)
}
