// Package selection evaluates a JMESPath expression on a JSON payload and writes
// what it selects in canonical form.
package selection

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
	"github.com/jmespath/go-jmespath"
)

// ErrMissing reports that the payload does not hold what the expression selects.
var ErrMissing = errors.New("the payload does not hold the selected value")

// Selection is a compiled expression. It is immutable and safe for concurrent use.
type Selection struct{ engine *jmespath.JMESPath }

// Compile parses the expression.
func Compile(expression string) (_ *Selection, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser fails: %v", p)
		}
	}()
	engine, err := jmespath.Compile(expression)
	if err != nil {
		return nil, err
	}
	return &Selection{engine}, nil
}

// AppendCanonical appends the canonical form of what the expression selects.
func (s *Selection) AppendCanonical(dst, payload []byte) (_ []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the expression cannot be evaluated on this payload: %v", p)
		}
	}()
	var tree any
	if err := json.Unmarshal(payload, &tree); err != nil {
		return dst, err
	}
	value, err := s.engine.Search(tree)
	if err != nil {
		return dst, err
	}
	if empty(value) {
		return dst, ErrMissing
	}
	return canonicaljson.AppendValue(dst, value)
}

func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
