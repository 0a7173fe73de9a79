package selection

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// read decodes one JSON document as far as the expression reads it. Values that it
// only selects stay in their text (canonicaljson.Raw), so the tree may share the
// document's memory. What it does not read must be JSON, no more.
func read(text []byte, root *place, number numberReader, mem *memory) (any, error) {
	r := reader{document: text, number: number, memory: mem}
	r.at = r.document.Space(0)
	value, err := r.value(root)
	if err != nil {
		return nil, err
	}
	return value, r.document.End(r.at)
}

type reader struct {
	document canonicaljson.Document
	number   numberReader
	memory   *memory
	at       int // always at a value or name, or behind one
	level    int // of arrays and objects around it
}

// skip steps over the next value.
func (r *reader) skip() error {
	r.at = r.document.Value(r.at, r.level)
	return r.fault()
}

// fault returns the error of a step that came upon one.
func (r *reader) fault() error {
	if r.at < 0 {
		return r.document.Fault(r.at)
	}
	return nil
}

// Where the expression does not need a value itself, any other that answers alike will
// do: false for a scalar, an empty object or array. They are made once.
var (
	someScalar any = false
	someObject any = map[string]any{}
	someArray  any = []any{}
)

// value reads the next value.
func (r *reader) value(p *place) (any, error) {
	start, kind := r.at, r.document.Kind(r.at)
	switch {
	case kind == '{' && p.members != nil && p.rest == nil:
		return r.fields(p)
	case kind == '{' && p.rest != nil && !p.isRaw():
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
		return canonicaljson.NewRaw(text), r.memory.take(sizeOfText)
	case kind == '{':
		return someObject, nil
	case kind == '[':
		return someArray, nil
	}
	return someScalar, nil
}

func (r *reader) scalar(text []byte) (any, error) {
	if err := r.memory.take(sizeOfScalar); err != nil {
		return nil, err
	}
	switch text[0] {
	case '"':
		unquoted, err := r.memory.unquoteBriefly(text)
		if err != nil {
			return nil, err
		}
		return string(unquoted), r.memory.take(len(unquoted))
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return r.number(text)
}

// object reads an object of which all members are read, those that have no place of
// their own like p.rest.
func (r *reader) object(p *place) (any, error) {
	object := make(map[string]any)
	if err := r.memory.take(sizeOfObject); err != nil {
		return nil, err
	}
	var seen spellings
	cased := false
	for more := r.open('}'); more; more = r.next('}') {
		unquoted, child, err := r.member(p, &seen)
		if err != nil {
			return nil, err
		}
		known := child != nil
		if !known {
			child = p.rest
			cased = cased || canonicaljson.HasCase(unquoted)
		}
		name := string(unquoted) // a value of its own: what is read next unquotes too
		if _, twice := object[name]; twice {
			return nil, duplicate(name, known)
		}
		if err := r.memory.take(sizeOfMember + len(name)); err != nil {
			return nil, err
		}
		if object[name], err = r.value(child); err != nil {
			return nil, err
		}
	}
	if cased && canonicaljson.HaveTwins(maps.Keys(object)) {
		return nil, fmt.Errorf("%w from another", canonicaljson.ErrTwinName)
	}
	return object, r.fault()
}

func duplicate(name string, known bool) error {
	if !known { // it may be secret
		return canonicaljson.ErrDuplicateName
	}
	return fmt.Errorf("%w %q", canonicaljson.ErrDuplicateName, name)
}

// fields reads an object of which only the members that have a place of their own are
// read.
func (r *reader) fields(p *place) (any, error) {
	var found fields
	var seen spellings
	for more := r.open('}'); more; more = r.next('}') {
		_, child, err := r.member(p, &seen)
		if err != nil {
			return nil, err
		}
		if child == nil {
			if err := r.skip(); err != nil {
				return nil, err
			}
			continue
		}
		if found.has(child.name) {
			return nil, duplicate(child.name, true)
		}
		value, err := r.value(child)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = make(fields, 0, min(len(p.members), few))
		}
		found = append(found, field{child.name, value})
	}
	if found == nil {
		return someObject, r.fault()
	}
	if err := r.memory.take(sizeOfList + cap(found)*sizeOfMember); err != nil {
		return nil, err
	}
	return found, r.fault()
}

// member steps over the name of a member and returns it, good until something else is
// unquoted, with its place. There is none if the expression does not name it, and it is
// an error if the expression names it in another case.
func (r *reader) member(p *place, seen *spellings) (name []byte, child *place, err error) {
	quoted := r.name()
	if err := r.fault(); err != nil {
		return nil, nil, err
	}
	name, fault := r.memory.unquoteBriefly(quoted)
	child, known := p.members[string(name)]
	if fault != nil && (known || p.rest != nil) {
		return nil, nil, fault
	}
	if p.spelling == nil {
		return name, child, nil
	}
	return name, child, p.spelling.check(name, known, seen)
}

func (r *reader) array(p *place) (any, error) {
	more := r.open(']')
	array := []any{}
	if err := r.memory.take(sizeOfList); err != nil {
		return nil, err
	}
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
		if err := r.memory.take(sizeOfElement); err != nil {
			return nil, err
		}
		element, err := r.value(child)
		if err != nil {
			return nil, err
		}
		array = append(r.room(array), element)
	}
	return array, r.fault()
}

// room makes room for an element. A long array gets twice the room that it had, but no
// more than what is left of the document can fill.
func (r *reader) room(array []any) []any {
	const few = 1 << 10
	if n := len(array); n == cap(array) && n >= few {
		return slices.Grow(array, min(n, 1+bytes.Count(r.document[r.at:], []byte{','})))
	}
	return array
}

// open steps into an array or object and tells whether there is something in it.
func (r *reader) open(closing byte) (more bool) {
	if r.at, more = r.document.Open(r.at, closing, r.level); more {
		r.level++
	}
	return more
}

// next steps from one member or element to the next one or, if there is none, out of
// the array or object.
func (r *reader) next(closing byte) (more bool) {
	if r.at, more = r.document.Next(r.at, closing); !more {
		r.level--
	}
	return more
}

// name steps over a name and its colon, and returns the name as it stands there.
func (r *reader) name() []byte {
	start := r.at
	end := r.document.Text(start)
	if r.at = r.document.Colon(end); end < 0 {
		return nil
	}
	return r.document[start:end]
}
