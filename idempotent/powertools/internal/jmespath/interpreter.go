package jmespath

import (
	"fmt"
	"slices"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

type interpreter struct{ language value.Language }

// expression is an argument &…
type expression struct{ node }

func (in interpreter) visit(n node, v value.Value) (value.Value, error) {
	switch n := n.(type) {
	case identity:
		return v, nil
	case literal:
		return n.value, nil
	case field:
		return in.field(n.name, v)
	case chain:
		return in.chain(n.steps, v)
	case index:
		return at(v, n.at), nil
	case slice:
		return sliced(v, n), nil
	case flatten:
		return in.flatten(n, v)
	case projection:
		return in.project(n.of, n.each, nil, v, listItems)
	case values:
		return in.project(n.of, n.each, nil, v, in.members)
	case filter:
		return in.project(n.of, n.each, n.condition, v, listItems)
	case multiList:
		return in.multiList(n, v)
	case multiHash:
		return in.multiHash(n, v)
	case or:
		left, err := in.visit(n.left, v)
		if err != nil || truthy(left) {
			return left, err
		}
		return in.visit(n.right, v)
	case and:
		left, err := in.visit(n.left, v)
		if err != nil || !truthy(left) {
			return left, err
		}
		return in.visit(n.right, v)
	case not:
		of, err := in.visit(n.of, v)
		return !truthy(of), err
	case comparison:
		return in.compare(n, v)
	case reference:
		return expression{n.to}, nil
	case call:
		return in.call(n, v)
	default:
		return nil, fmt.Errorf("%w: a node %T", ErrEvaluation, n)
	}
}

// inherited are the names that every JavaScript object has from its prototype: they
// can be selected from objects that have no such member.
var inherited = []string{
	"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
	"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__",
}

func (in interpreter) field(name string, v value.Value) (value.Value, error) {
	o, ok := v.(*value.Object)
	if !ok || name == "" && in.language == value.JavaScript {
		return nil, nil
	}
	member, known := o.Get(name)
	if !known && in.language == value.JavaScript && slices.Contains(inherited, name) {
		return nil, value.Inexact("%q is missing, and is what every JavaScript object inherits", name)
	}
	return member, nil
}

func (in interpreter) chain(steps []node, v value.Value) (_ value.Value, err error) {
	for _, step := range steps {
		if v, err = in.visit(step, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func at(v value.Value, at int) value.Value {
	a, ok := v.(*value.Array)
	if !ok {
		return nil
	}
	if at < 0 {
		at += len(a.Items)
	}
	if at < 0 || at >= len(a.Items) {
		return nil
	}
	return defined(a.Items[at])
}

// defined turns undefined into null.
func defined(v value.Value) value.Value {
	if _, undefined := v.(value.Undefined); undefined {
		return nil
	}
	return v
}

func sliced(v value.Value, s slice) value.Value {
	a, ok := v.(*value.Array)
	if !ok {
		return nil
	}
	step, n := 1, len(a.Items)
	if s.step != nil {
		step = *s.step
	}
	first, last := 0, n
	if step < 0 {
		first, last = n-1, -1
	}
	bound := func(given *int, otherwise int) int {
		if given == nil {
			return otherwise
		}
		at, low, high := *given, 0, n
		if step < 0 {
			low, high = -1, n-1
		}
		if at < 0 {
			at += n
		}
		return max(low, min(at, high))
	}
	from, to := bound(s.start, first), bound(s.stop, last)
	result := new(value.Array)
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		result.Items = append(result.Items, a.Items[i])
	}
	return result
}

func (in interpreter) flatten(n flatten, v value.Value) (value.Value, error) {
	of, err := in.visit(n.of, v)
	list, ok := of.(*value.Array)
	if err != nil || !ok {
		return nil, err
	}
	flat := new(value.Array)
	for _, item := range list.Items {
		if inner, ok := item.(*value.Array); ok {
			flat.Items = append(flat.Items, inner.Items...)
			continue
		}
		flat.Items = append(flat.Items, item)
	}
	return flat, nil
}

func listItems(v value.Value) ([]value.Value, bool) {
	a, ok := v.(*value.Array)
	if !ok {
		return nil, false
	}
	return slices.Clone(a.Items), true
}

func (in interpreter) members(v value.Value) ([]value.Value, bool) {
	o, ok := v.(*value.Object)
	if !ok {
		return nil, false
	}
	var items []value.Value
	for _, name := range o.Names(in.language) {
		member, _ := o.Get(name)
		items = append(items, member)
	}
	return items, true
}

// project does something to each of the items for which the condition, if there is
// one, holds. Nulls are left out; undefined stays.
func (in interpreter) project(of, each, condition node, v value.Value, items func(value.Value) ([]value.Value, bool)) (value.Value, error) {
	base, err := in.visit(of, v)
	if err != nil {
		return nil, err
	}
	list, ok := items(base)
	if !ok {
		return nil, nil
	}
	collected := new(value.Array)
	for _, item := range list {
		if condition != nil {
			holds, err := in.visit(condition, item)
			if err != nil {
				return nil, err
			}
			if !truthy(holds) {
				continue
			}
		}
		result, err := in.visit(each, item)
		if err != nil {
			return nil, err
		}
		if result != nil {
			collected.Items = append(collected.Items, result)
		}
	}
	return collected, nil
}

func (in interpreter) multiList(n multiList, v value.Value) (value.Value, error) {
	if v == nil {
		return nil, nil
	}
	list := new(value.Array)
	for _, item := range n.items {
		result, err := in.visit(item, v)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, result)
	}
	return list, nil
}

func (in interpreter) multiHash(n multiHash, v value.Value) (value.Value, error) {
	if v == nil {
		return nil, nil
	}
	hash := value.NewObject()
	for _, member := range n.members {
		if member.name == "__proto__" && in.language == value.JavaScript {
			return nil, value.Inexact("a member __proto__ becomes the prototype")
		}
		result, err := in.visit(member.node, v)
		if err != nil {
			return nil, err
		}
		hash.Set(member.name, result)
	}
	return hash, nil
}

// truthy: what is not null, undefined, false, or empty. Numbers always are.
func truthy(v value.Value) bool {
	switch v := v.(type) {
	case nil, value.Undefined:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case *value.Array:
		return len(v.Items) > 0
	case *value.Object:
		return v.Len() > 0
	default:
		return true
	}
}

func (in interpreter) compare(n comparison, v value.Value) (value.Value, error) {
	left, err := in.visit(n.left, v)
	if err != nil {
		return nil, err
	}
	right, err := in.visit(n.right, v)
	if err != nil {
		return nil, err
	}
	switch n.sign {
	case "==":
		return in.equal(left, right), nil
	case "!=":
		return !in.equal(left, right), nil
	}
	if in.language == value.JavaScript {
		l, isNumberL := left.(float64)
		r, isNumberR := right.(float64)
		if !isNumberL || !isNumberR {
			return value.Undefined{}, nil
		}
		return ordered(n.sign, compareFloats(l, r)), nil
	}
	if !hasOrder(left) || !hasOrder(right) {
		return nil, nil
	}
	if isNumber(left) != isNumber(right) {
		return nil, fmt.Errorf("%w: a number is compared with a string", ErrEvaluation)
	}
	return ordered(n.sign, order(left, right, in.language)), nil
}

func hasOrder(v value.Value) bool {
	_, isString := v.(string)
	return isString || isNumber(v)
}

// incomparable is the order of what has none: NaN.
const incomparable = 2

func ordered(sign string, order int) bool {
	switch sign {
	case "<":
		return order == -1
	case "<=":
		return order == -1 || order == 0
	case ">":
		return order == 1
	default:
		return order == 1 || order == 0
	}
}
