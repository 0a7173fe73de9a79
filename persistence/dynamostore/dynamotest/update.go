package dynamotest

import (
	"maps"
	"slices"
)

// update is a parsed UpdateExpression.
type update []action

// action is one change of one place: SET target = source, REMOVE target, ADD target source, DELETE target source.
type action struct {
	clause string
	target path
	source source // nil for REMOVE
}

// source is the right-hand side of an action.
type source interface {
	// evaluate is the source's value for the item as it was before the update.
	evaluate(old item) (value, error)
}

type (
	pathSource  path
	ifNotExists struct {
		at       path
		fallback source
	}
	listAppend struct{ first, second source }
	sum        struct{ left, right source }
	difference struct{ left, right source }
)

var (
	errNoSuchAttribute = invalid("The provided expression refers to an attribute that does not exist in the item")
	errOperandType     = invalid("An operand in the update expression has an incorrect data type")
	errNoSuchPlace     = invalid("The document path provided in the update expression is invalid for update")
)

func (c constant) evaluate(item) (value, error) { return value(c), nil }

func (s pathSource) evaluate(old item) (value, error) {
	v, exists := path(s).in(old)
	if !exists {
		return value{}, errNoSuchAttribute
	}
	return v, nil
}

func (s ifNotExists) evaluate(old item) (value, error) {
	if v, exists := s.at.in(old); exists {
		return v, nil
	}
	return s.fallback.evaluate(old)
}

func (s listAppend) evaluate(old item) (value, error) {
	first, second, err := evaluateBoth(s.first, s.second, kindList, old)
	if err != nil {
		return value{}, err
	}
	return value{kind: kindList, list: slices.Concat(first.list, second.list)}, nil
}

func (s sum) evaluate(old item) (value, error) {
	left, right, err := evaluateBoth(s.left, s.right, kindNumber, old)
	if err != nil {
		return value{}, err
	}
	return addNumbers(left.number, right.number)
}

func (s difference) evaluate(old item) (value, error) {
	left, right, err := evaluateBoth(s.left, s.right, kindNumber, old)
	if err != nil {
		return value{}, err
	}
	return addNumbers(left.number, right.number.negated())
}

func evaluateBoth(a, b source, want kind, old item) (left, right value, err error) {
	if left, err = a.evaluate(old); err != nil {
		return
	}
	if right, err = b.evaluate(old); err != nil {
		return
	}
	if left.kind != want || right.kind != want {
		err = errOperandType
	}
	return
}

func addNumbers(a, b number) (value, error) {
	n, err := a.plus(b)
	if err != nil {
		return value{}, invalid("%v", err)
	}
	return numberValue(n), nil
}

// targets are the places the update changes.
func (u update) targets() []path {
	places := make([]path, len(u))
	for i, a := range u {
		places[i] = a.target
	}
	return places
}

// apply is the item after the update, which for a new item starts from its key. All sources see the item as it was; old
// itself stays as it is.
func (u update) apply(old, key item) (item, error) {
	if old == nil {
		old = key
	}
	var assignments []assignment
	var removals []path
	for _, a := range u {
		result, err := a.result(old)
		switch {
		case err != nil:
			return nil, err
		case result != nil:
			assignments = append(assignments, assignment{a.target, *result})
		default:
			removals = append(removals, a.target)
		}
	}
	// Assignments beyond a list's end append in the order of their indexes; removals go from the back, so that
	// every index means the element it meant before the update.
	slices.SortFunc(assignments, func(a, b assignment) int { return a.place.compare(b.place) })
	slices.SortFunc(removals, func(a, b path) int { return b.compare(a) })
	root := document(old)
	var err error
	for _, a := range assignments {
		if root, err = assign(root, a.place, a.v); err != nil {
			return nil, err
		}
	}
	for _, place := range removals {
		if _, existed := place.in(old); existed {
			root, err = remove(root, place)
		} else {
			_, err = remove(document(old), place) // changes nothing, but the place must be possible
		}
		if err != nil {
			return nil, err
		}
	}
	if root.nesting() > maxNesting {
		return nil, invalid("Nesting Levels have exceeded supported limits")
	}
	return root.fields, nil
}

// assignment is a value and the place it goes to.
type assignment struct {
	place path
	v     value
}

// result is what the action leaves at its target; nil for nothing.
func (a action) result(old item) (*value, error) {
	if a.source == nil {
		return nil, nil
	}
	operand, err := a.source.evaluate(old)
	if err != nil || a.clause == "SET" {
		return &operand, err
	}
	current, exists := a.target.in(old)
	switch {
	case a.clause == "ADD" && !exists:
		return &operand, nil
	case !exists:
		return nil, nil
	case current.kind != operand.kind:
		return nil, errOperandType
	case operand.kind == kindNumber:
		total, err := addNumbers(current.number, operand.number)
		return &total, err
	case a.clause == "ADD":
		return new(union(current, operand)), nil
	default:
		return without(current, operand), nil
	}
}

// union of two sets of one kind.
func union(a, b value) value {
	all := slices.Concat(a.list, b.list)
	slices.SortFunc(all, value.compare)
	return value{kind: a.kind, list: slices.CompactFunc(all, value.equal)}
}

// without is set a less the elements of b; nil if nothing is left, for a set is never empty.
func without(a, b value) *value {
	left := slices.DeleteFunc(slices.Clone(a.list), b.has)
	if len(left) == 0 {
		return nil
	}
	return &value{kind: a.kind, list: left}
}

// assign is the container with v put at the place.
func assign(container value, place path, v value) (value, error) {
	at := place[0]
	if len(place) > 1 {
		inner, exists := at.from(container)
		if !exists {
			return value{}, errNoSuchPlace
		}
		changed, err := assign(inner, place[1:], v)
		if err != nil {
			return value{}, err
		}
		v = changed
	}
	switch {
	case at.isIndex() && container.kind == kindList:
		list := slices.Clone(container.list)
		if at.index >= len(list) {
			return value{kind: kindList, list: append(list, v)}, nil
		}
		list[at.index] = v
		return value{kind: kindList, list: list}, nil
	case !at.isIndex() && container.kind == kindMap:
		fields := maps.Clone(container.fields)
		fields[at.name] = v
		return value{kind: kindMap, fields: fields}, nil
	default:
		return value{}, errNoSuchPlace
	}
}

// remove is the container without what stands at the place; nothing there is fine as long as the place could be.
func remove(container value, place path) (value, error) {
	at := place[0]
	if at.isIndex() != (container.kind == kindList) || !at.isIndex() != (container.kind == kindMap) {
		return value{}, errNoSuchPlace
	}
	inner, exists := at.from(container)
	if len(place) > 1 {
		if !exists {
			return value{}, errNoSuchPlace
		}
		changed, err := remove(inner, place[1:])
		if err != nil {
			return value{}, err
		}
		return assign(container, path{at}, changed)
	}
	switch {
	case !exists:
		return container, nil
	case at.isIndex():
		list := slices.Clone(container.list)
		return value{kind: kindList, list: slices.Delete(list, at.index, at.index+1)}, nil
	default:
		fields := maps.Clone(container.fields)
		delete(fields, at.name)
		return value{kind: kindMap, fields: fields}, nil
	}
}
