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
// JSON in its own way.
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
	if ambiguous(payload) {
		return decoded, errAmbiguous
	}
	return decoded, nil
}

var errAmbiguous = &PayloadError{Problem: "an object names a member twice, or in two spellings that differ only in case"}

// ambiguous tells whether encoding/json could take two members of an object for the
// same field, at any depth. The payload is valid JSON.
func ambiguous(payload []byte) bool {
	var open []map[string]bool // the names of each open object; nil for an array
	tokens := json.NewDecoder(bytes.NewReader(payload))
	tokens.UseNumber()
	for name := false; ; {
		token, err := tokens.Token()
		switch {
		case err != nil: // the end
			return false
		case name && token != json.Delim('}'):
			folded, seen := canonicaljson.Folded(token.(string)), open[len(open)-1]
			if seen[folded] {
				return true
			}
			seen[folded] = true
			name = false
			continue // with its value
		}
		switch token {
		case json.Delim('{'):
			open = append(open, make(map[string]bool))
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		name = len(open) > 0 && open[len(open)-1] != nil
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
