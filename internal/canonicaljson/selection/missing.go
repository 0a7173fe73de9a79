package selection

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// ErrMissing reports that the payload does not hold what the expression selects.
var ErrMissing = errors.New("null or empty")

// nullText is what to_string makes of null.
const nullText = "null"

// missing returns an error that matches ErrMissing if the selected value, or a
// part that a multi-select took into it at any depth, is null, "", [] or {}. What
// an object or array of the payload holds is its own affair.
func missing(value any, from origin) error {
	path, found := missingPart(value, from)
	switch {
	case isEmpty(value), found && path == "":
		return fmt.Errorf("what it selects is %w", ErrMissing)
	case found:
		return fmt.Errorf("the part %s of what it selects is %w", path, ErrMissing)
	}
	return nil
}

// missingPart finds a part that is missing and returns the path to it.
func missingPart(value any, from origin) (path string, found bool) {
	if from.part && isEmpty(value) || from.text && value == nullText {
		return "", true
	}
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			if path, found := missingPart(element, from.builtElement(i, len(v))); found {
				return fmt.Sprintf("[%d]%s", i, path), true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(from.members)) {
			if path, found := missingPart(v[name], from.members[name]); found {
				return fmt.Sprintf(".%s%s", name, path), true
			}
		}
	}
	return "", false
}

// builtElement is the origin of element i of a list of n elements.
func (o origin) builtElement(i, n int) origin {
	var element origin
	if o.each != nil {
		element = *o.each
	}
	for _, list := range o.lists {
		if len(list) == n {
			element = element.or(list[i])
		}
	}
	return element
}

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
		return isEmptyText(v.Text)
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
	if raw, ok := value.(canonicaljson.Raw); ok && string(raw.Text) == "false" {
		return true
	}
	return value == false || isEmpty(value)
}
