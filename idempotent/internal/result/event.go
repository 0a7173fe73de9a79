package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// EncodeEvent returns the JSON that keys are selected from, and that is kept. One that is masked
// is refused.
func EncodeEvent(in any) ([]byte, error) {
	if raw, ok := in.(json.RawMessage); ok {
		return raw, nil
	}
	payload, err := json.Marshal(in)
	if err != nil {
		return nil, Loss(err, "the event can't be encoded (%T)", err)
	}
	if err := RefuseMasked(in); err != nil {
		return nil, fmt.Errorf("the event: %w", err)
	}
	return MarkReplaced(payload), nil
}

// RefuseMasked returns an error for a value that is to be recognised by its JSON, where the methods
// of a type write something else in place of what it has, to keep that out of logs: what they
// write is the same for many values.
func RefuseMasked(value any) error {
	t := reflect.TypeOf(value)
	if t == nil || !shapeOf(t).masks {
		return nil
	}
	written, err := JSON(value)
	if err != nil {
		return Loss(err, "a %T can't be encoded", value)
	}
	again := reflect.New(t)
	if err := Decode(written, again.Interface()); err != nil {
		return Loss(err, "its JSON can't be read back into a %T", value)
	}
	if place := encoded.lost(reflect.ValueOf(value), again.Elem()); place != "" {
		return fmt.Errorf("its JSON says something else than it has, in %s", place)
	}
	return nil
}

// RefuseReplaced returns an error if an encoded event has the mark of MarkReplaced:
// dialects take lone surrogates.
func RefuseReplaced(in any, payload []byte) error {
	if _, raw := in.(json.RawMessage); !raw && bytes.Contains(payload, []byte(`\ud800`)) {
		return errors.New("the event has strings that are not UTF-8")
	}
	return nil
}

// MarkReplaced turns what encoding/json writes for bytes that are not UTF-8, the
// escape \ufffd, into a lone surrogate. Otherwise all such bytes would give the
// same key; so the key is refused if it is made of them. (A genuine U+FFFD is
// written as itself; only one that a raw message spells as an escape is taken for
// a replaced byte.)
func MarkReplaced(payload []byte) []byte {
	escape := []byte(`\ufffd`)
	if !bytes.Contains(payload, escape) {
		return payload
	}
	for i := 0; i < len(payload); i++ {
		if payload[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(payload[i:], escape) {
			copy(payload[i:], `\ud800`)
		}
		i++ // the escaped character
	}
	return payload
}
