package eventguard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// decode returns the payload as the function takes it. A raw message is the
// payload itself, whether it is JSON or not.
//
// The guard's expressions know a member by one spelling; encoding/json takes the
// last one of any case. Where both were in a payload, the guard could go by one
// request and the function do another: such a payload is refused, unless T reads
// JSON in its own way. What T has no field for, and the keys of its maps, may differ in
// case only.
func decode[T any](payload []byte) (T, error) {
	var decoded T
	if raw, ok := any(&decoded).(*json.RawMessage); ok {
		*raw = payload
		return decoded, nil
	}
	if err := json.Unmarshal(payload, &decoded); err != nil {
		return decoded, misfit(fmt.Sprintf("it does not fit %v", reflect.TypeFor[T]()), err)
	}
	if bytes.Equal(bytes.TrimSpace(payload), []byte("null")) { // which leaves any T as it is
		return decoded, &PayloadError{Problem: "it is null"}
	}
	if _, own := any(&decoded).(json.Unmarshaler); own {
		return decoded, nil
	}
	if ambiguous(payload, targetOf(reflect.TypeFor[T]())) {
		return decoded, errAmbiguous
	}
	return decoded, nil
}

var errAmbiguous = &PayloadError{Problem: "an object names a member twice, or in two spellings that differ only in case"}

// ambiguous tells whether encoding/json could take two members of an object for the
// same field, or has one name twice, at any depth. The payload is valid JSON.
func ambiguous(payload []byte, root target) bool {
	type container struct {
		names  map[string]bool // of an object so far; nil for an array
		target target
	}
	var open []container
	tokens := json.NewDecoder(bytes.NewReader(payload))
	tokens.UseNumber()
	next := root // of the next value
	for name := false; ; {
		token, err := tokens.Token()
		switch {
		case err != nil: // the end
			return false
		case name && token != json.Delim('}'):
			in, text := open[len(open)-1], token.(string)
			folded := canonicaljson.Folded(text)
			if in.target.folds {
				text = folded
			}
			if in.names[text] {
				return true
			}
			in.names[text] = true
			next, name = in.target.member(folded), false
			continue // with its value
		}
		switch token {
		case json.Delim('{'):
			open = append(open, container{make(map[string]bool), next})
		case json.Delim('['):
			open = append(open, container{nil, next})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		name = false
		if len(open) > 0 {
			in := open[len(open)-1]
			if name = in.names != nil; !name {
				next = in.target.member("")
			}
		}
	}
}

// exactly reads members of a JSON object by their exact names, as the guard's
// expressions do.
func exactly(text []byte, members map[string]any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	for name, to := range members {
		value, ok := all[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(value, to); err != nil {
			return err
		}
	}
	return nil
}
