package selection

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// read decodes one JSON document as far as the expression reads it. Values that it
// only selects stay in their text (canonicaljson.Raw), so the tree may share the
// document's memory. What it does not read must be JSON, no more.
func read(document []byte, root *place, number numberReader) (any, error) {
	r := readers.Get().(*reader)
	defer r.release()
	r.document, r.number = document, number
	r.input = *bytes.NewBuffer(r.outline()) // the decoder reads a bytes.Buffer without copying it
	r.dec.Reset(&r.input, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	value, err := r.value(root)
	if err != nil {
		return nil, canonicaljson.SyntaxError(err)
	}
	if err := canonicaljson.CheckEnd(r.dec); err != nil {
		return nil, err
	}
	return value, nil
}

var readers = sync.Pool{New: func() any { return &reader{dec: new(jsontext.Decoder)} }}

type reader struct {
	document []byte
	outlined []byte // see outline
	cuts     []cut
	input    bytes.Buffer
	dec      *jsontext.Decoder
	number   numberReader
}

func (r *reader) release() {
	r.document, r.input = nil, bytes.Buffer{}
	if cap(r.outlined) > maxKept {
		r.outlined, r.cuts = nil, nil
	}
	r.dec.Reset(&r.input) // lets go of the document
	readers.Put(r)
}

// maxKept bounds the memory that a reader keeps for the next document.
const maxKept = 1 << 20

// next reads the next value or name as it stands in the document.
func (r *reader) next() ([]byte, error) {
	text, err := r.dec.ReadValue()
	if len(r.cuts) == 0 || err != nil {
		return text, err
	}
	end := int(r.dec.InputOffset())
	return r.document[r.original(end-len(text)):r.original(end)], nil
}

// value reads the next value. Where the expression does not need the value itself,
// any other that answers alike will do: false for a scalar, an empty object or
// array.
func (r *reader) value(p *place) (any, error) {
	kind := r.dec.PeekKind()
	switch {
	case kind == '{' && (p.members != nil || p.rest != nil && !p.isRaw()):
		return r.object(p)
	case kind == '[' && (p.elements != nil || p.indexes != nil || p.rest != nil && !p.isRaw()):
		return r.array(p)
	}
	text, err := r.next()
	switch {
	case err != nil:
		return nil, err
	case kind == 'n':
		return nil, nil
	case p.inspected:
		return r.scalar(text)
	case p.selected:
		return canonicaljson.NewRaw(text), nil
	case kind == '{':
		return map[string]any{}, nil
	case kind == '[':
		return []any{}, nil
	}
	return false, nil
}

func (r *reader) scalar(text []byte) (any, error) {
	switch text[0] {
	case '"':
		unquoted, err := unquote(text)
		return string(unquoted), err
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return r.number(text)
}

func (r *reader) object(p *place) (any, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	object := make(map[string]any)
	for r.dec.PeekKind() != '}' {
		quoted, err := r.next()
		if err != nil {
			return nil, err
		}
		name, fault := unquote(quoted)
		child, known := p.members[string(name)]
		if !known {
			child = p.rest
		}
		if child == nil {
			if _, err := r.dec.ReadValue(); err != nil {
				return nil, err
			}
			continue
		}
		if fault != nil {
			return nil, fault
		}
		if _, twice := object[string(name)]; twice {
			if !known { // the name may be secret
				return nil, canonicaljson.ErrDuplicateName
			}
			return nil, fmt.Errorf("%w %q", canonicaljson.ErrDuplicateName, name)
		}
		if object[string(name)], err = r.value(child); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.ReadToken()
	return object, err
}

func (r *reader) array(p *place) (any, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	array := []any{}
	for i := 0; r.dec.PeekKind() != ']'; i++ {
		child, known := p.indexes[i]
		if !known {
			child = p.elements
		}
		if child == nil {
			child = p.rest
		}
		if child == nil {
			if _, err := r.dec.ReadValue(); err != nil {
				return nil, err
			}
			if i < p.lastIndex {
				array = append(array, nil)
			}
			continue
		}
		element, err := r.value(child)
		if err != nil {
			return nil, err
		}
		array = append(array, element)
	}
	_, err := r.dec.ReadToken()
	return array, err
}
