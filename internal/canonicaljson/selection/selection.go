// Package selection evaluates a JMESPath expression on a JSON payload and writes
// what it selects in canonical form.
//
// The expression language is go-jmespath's, which parses expressions and applies
// functions and operators. Around that engine the package does what it cannot: it
// refuses at compilation what could not give a stable key (check.go), it works out
// which places of the payload an expression reads (origin.go, place.go), steps over
// the rest (canonicaljson.Document) and decodes only those (read.go), unless a function would find
// other members there (spelling.go), it answers the
// powertools_ functions (call.go), and it walks the syntax tree itself (evaluate.go)
// to know which parts of a selection are missing (missing.go).
package selection

import "github.com/ikkai-go/idempotency/internal/canonicaljson"

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
	mem := newMemory()
	defer mem.release()
	value, err := s.evaluate(payload, mem)
	if err != nil {
		return dst, err
	}
	if isEmpty(value) {
		return dst, errNothing
	}
	if err := checkSize(value); err != nil {
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
		return dst, errNothing
	}
	return dst, nil
}

// evaluate returns the selected value. An alternative that is missing or lacks a
// part is as good as a false one. The value may share the memory of payload and of
// what is taken from it.
func (s *Selection) evaluate(payload []byte, mem *memory) (value any, err error) {
	for _, a := range s.alternatives {
		if value, err = a.evaluate(payload, mem); !isPassedOver(value, err) {
			break
		}
	}
	return value, err
}

// alternative is an expression that is evaluated as one.
type alternative struct {
	tree   node
	calls  []*call
	reads  *place // what the expression reads of the payload
	result origin
	number numberReader
}

// trees are what the alternative reads of the payload and of what its calls return.
func (a *alternative) trees() []*place {
	trees := []*place{a.reads}
	for _, call := range a.calls {
		trees = append(trees, call.result)
	}
	return trees
}

func (a *alternative) evaluate(payload []byte, mem *memory) (any, error) {
	e := evaluation{payload: payload, number: a.number, memory: mem}
	if !a.reads.isRead() {
		return e.value(&a.tree, map[string]any{})
	}
	root, err := read(payload, a.reads, a.number, mem)
	if err != nil {
		return nil, err
	}
	return e.value(&a.tree, root)
}
