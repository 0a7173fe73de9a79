package selection

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// ErrMissing reports that the payload does not hold what the expression selects:
// that the selection, a part of a multi-select or what becomes a string is null, "",
// [] or {}. What an object or array of the payload holds is its own affair.
var ErrMissing = errors.New("null or empty")

var errNothing = fmt.Errorf("what it selects is %w", ErrMissing)

// isEmpty reports whether a value is null, "", [] or {}.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case canonicaljson.Raw:
		return isEmptyText(v.Text())
	}
	return false
}

// isEmptyText is isEmpty for the text of a value other than null.
func isEmptyText(text []byte) bool {
	switch text[0] {
	case '"':
		return len(text) == len(`""`)
	case '[', '{':
		return len(bytes.Trim(text[1:len(text)-1], " \t\r\n")) == 0
	}
	return false
}

// isFalse reports whether JMESPath's || passes over the value.
func isFalse(value any) bool {
	if raw, ok := value.(canonicaljson.Raw); ok && string(raw.Text()) == "false" {
		return true
	}
	return value == false || isEmpty(value)
}
