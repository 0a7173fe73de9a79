package selection

import (
	"fmt"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// read decodes one JSON document as far as the expression reads it. Values that it
// only selects stay in their text (canonicaljson.Raw), so the tree may share the
// document's memory. What it does not read must be JSON, no more.
func read(text []byte, root *place, number numberReader, taken *texts) (any, error) {
	r := reader{document: text, number: number, taken: taken}
	r.at = r.document.space(0)
	value, err := r.value(root)
	if err != nil {
		return nil, err
	}
	return value, r.document.end(r.at)
}

type reader struct {
	document document
	number   numberReader
	taken    *texts
	at       int // always at a value or name, or behind one
	level    int // of arrays and objects around it
}

// skip steps over the next value.
func (r *reader) skip() error {
	r.at = r.document.value(r.at, r.level)
	return r.fault()
}

// fault returns the error of a step that came upon one.
func (r *reader) fault() error {
	if r.at < 0 {
		return r.document.fault(r.at)
	}
	return nil
}

// value reads the next value. Where the expression does not need the value itself,
// any other that answers alike will do: false for a scalar, an empty object or
// array.
func (r *reader) value(p *place) (any, error) {
	start, kind := r.at, r.document.kind(r.at)
	switch {
	case kind == '{' && (p.members != nil || p.rest != nil && !p.isRaw()):
		return r.object(p)
	case kind == '[' && (p.elements != nil || p.indexes != nil || p.rest != nil && !p.isRaw()):
		return r.array(p)
	}
	if err := r.skip(); err != nil {
		return nil, err
	}
	text := r.document[start:r.at]
	switch {
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
		unquoted, err := r.taken.unquoteBriefly(text)
		return string(unquoted), err
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return r.number(text)
}

func (r *reader) object(p *place) (any, error) {
	more := r.open('}')
	object := make(map[string]any)
	for ; more; more = r.next('}') {
		quoted := r.name()
		if err := r.fault(); err != nil {
			return nil, err
		}
		unquoted, fault := r.taken.unquoteBriefly(quoted)
		child, known := p.members[string(unquoted)]
		if !known {
			child = p.rest
		}
		if child == nil {
			if err := r.skip(); err != nil {
				return nil, err
			}
			continue
		}
		if fault != nil {
			return nil, fault
		}
		name := string(unquoted) // a value of its own: what is read next unquotes too
		if _, twice := object[name]; twice {
			if !known { // the name may be secret
				return nil, canonicaljson.ErrDuplicateName
			}
			return nil, fmt.Errorf("%w %q", canonicaljson.ErrDuplicateName, name)
		}
		value, err := r.value(child)
		if err != nil {
			return nil, err
		}
		object[name] = value
	}
	return object, r.fault()
}

func (r *reader) array(p *place) (any, error) {
	more := r.open(']')
	array := []any{}
	for i := 0; more; i, more = i+1, r.next(']') {
		child, known := p.indexes[i]
		if !known {
			child = p.elements
		}
		if child == nil {
			child = p.rest
		}
		if child == nil {
			if err := r.skip(); err != nil {
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
	return array, r.fault()
}

// open steps into an array or object and tells whether there is something in it.
func (r *reader) open(closing byte) (more bool) {
	if r.at, more = r.document.open(r.at, closing, r.level); more {
		r.level++
	}
	return more
}

// next steps from one member or element to the next one or, if there is none, out of
// the array or object.
func (r *reader) next(closing byte) (more bool) {
	if r.at, more = r.document.next(r.at, closing); !more {
		r.level--
	}
	return more
}

// name steps over a name and its colon, and returns the name as it stands there.
func (r *reader) name() []byte {
	start := r.at
	end := r.document.string(start)
	if r.at = r.document.colon(end); end < 0 {
		return nil
	}
	return r.document[start:end]
}
