// Package selection evaluates a JMESPath expression on a JSON payload and writes
// what it selects in canonical form.
//
// The expression language is go-jmespath's. Around that engine the package does
// what it cannot: it refuses at compilation what could not give a stable key
// (check.go), it works out which places of the payload an expression reads
// (origin.go, place.go) and decodes only those (read.go), it answers the
// powertools_ functions (call.go), and it knows which parts of a result must not
// be missing (missing.go).
package selection

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
	"github.com/jmespath/go-jmespath"
)

// Selection is a compiled expression: alternatives a || b || …, of which the
// first that is not false (in JMESPath's sense) counts. The later ones are not
// evaluated. A Selection is immutable and safe for concurrent use.
type Selection struct{ alternatives []*alternative }

// AppendCanonical appends the canonical form v1 of what the expression selects
// from payload. The error matches ErrMissing if the payload is readable but the
// selection, or one part of a multi-select in it, is null or empty. payload is
// neither kept nor changed.
func (s *Selection) AppendCanonical(dst, payload []byte) ([]byte, error) {
	if s.isWholePayload() {
		return appendWhole(dst, payload)
	}
	value, from, err := s.evaluate(payload)
	if err != nil {
		return dst, err
	}
	if err := missing(value, from); err != nil {
		return dst, err
	}
	return canonicaljson.AppendValue(dst, value)
}

func (s *Selection) isWholePayload() bool {
	first := s.alternatives[0]
	return len(s.alternatives) == 1 && first.result.is(first.reads) && first.reads.isRaw()
}

// appendWhole saves reading the payload before its canonical form is written.
func appendWhole(dst, payload []byte) ([]byte, error) {
	start := len(dst)
	dst, err := canonicaljson.Append(dst, payload)
	if err != nil {
		return dst, err
	}
	if text := dst[start:]; string(text) == "null" || isEmptyText(text) {
		return dst, missing(nil, origin{})
	}
	return dst, nil
}

// evaluate returns the selected value and what it is made of. An alternative that
// lacks an argument is as good as a false one.
func (s *Selection) evaluate(payload []byte) (value any, from origin, err error) {
	for _, a := range s.alternatives {
		value, err = a.evaluate(payload)
		if err != nil && !errors.Is(err, ErrMissing) {
			break
		}
		if err == nil && !isFalse(value) {
			return value, a.result, nil
		}
		from = a.result
	}
	return value, from, err
}

// alternative is an expression that the engine evaluates as one.
type alternative struct {
	engine *jmespath.JMESPath
	reads  *place // what the expression reads of the payload
	calls  []*call
	result origin
	number numberReader
}

func (a *alternative) evaluate(payload []byte) (any, error) {
	var root any
	var err error
	if a.reads.isRead() {
		if root, err = read(payload, a.reads, a.number); err != nil {
			return nil, err
		}
	}
	if len(a.calls) > 0 {
		// Beside calls an expression reads the root by member names only (see
		// check), so any other root is as good as an empty object.
		members, ok := root.(map[string]any)
		if !ok {
			members = make(map[string]any, len(a.calls))
		}
		for _, c := range a.calls {
			if members[c.placeholder], err = c.evaluate(payload, a.number); err != nil {
				return nil, fmt.Errorf("%s: %w", c.text, err)
			}
		}
		root = members
	}
	return search(a.engine, root)
}

// search runs the engine. The engine's own errors quote the payload and are
// replaced; its panics on operands it did not expect become errors.
func search(engine *jmespath.JMESPath, root any) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("an operand has a type that the function or operator does not take (%v)", p)
		}
	}()
	value, err = engine.Search(root)
	if err != nil {
		return nil, engineError(err)
	}
	return value, nil
}

func engineError(err error) error {
	text := err.Error()
	if at := strings.LastIndex(text, "expected: []jmespath.jpType{"); at >= 0 {
		types := strings.TrimSuffix(text[at+len("expected: []jmespath.jpType{"):], "}")
		return fmt.Errorf("a function got an argument that is not of type %s", strings.ReplaceAll(types, `"`, ""))
	}
	return errors.New("a function cannot work on the types of value in this payload")
}
