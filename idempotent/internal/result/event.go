package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// EncodeEvent returns the JSON that keys are selected from, and that is kept. What the methods of a
// type write in place of what it has, to keep it out of logs, would be the same for many events:
// such an event is refused.
func EncodeEvent(in any) ([]byte, error) {
	if raw, ok := in.(json.RawMessage); ok {
		return raw, nil
	}
	payload, err := json.Marshal(in)
	if err != nil {
		return nil, Loss(err, "the event can't be encoded (%T)", err)
	}
	if t := reflect.TypeOf(in); t != nil && shapeOf(t).masks {
		again := reflect.New(t)
		if err := Decode(payload, again.Interface()); err != nil {
			return nil, Loss(err, "the event's JSON can't be read back into a %T", in)
		}
		if place := encoded.lost(reflect.ValueOf(in), again.Elem()); place != "" {
			return nil, fmt.Errorf("the event's JSON says something else than the event, in %s", place)
		}
	}
	return MarkReplaced(payload), nil
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
