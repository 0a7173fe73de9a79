package jmespath

import (
	"fmt"
	"slices"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// interpreter is one evaluation.
type interpreter struct {
	language value.Language
	budget   *value.Budget
	names    map[string]bool // that the expression reads
}

// expression is an argument &…
type expression struct{ *node }

func (in *interpreter) visit(n *node, v value.Value) (value.Value, error) {
	if err := in.budget.Steps(1); err != nil {
		return nil, err
	}
	switch n.kind {
	case identity:
		return v, nil
	case literal:
		return n.value, nil
	case field:
		return in.field(n.name, v)
	case subexpression, pipe, indexExpression:
		return in.chain(n.children, v)
	case index:
		return at(v, *n.bounds.start), nil
	case slice:
		return in.slice(n.bounds, v)
	case flatten:
		return in.flatten(n, v)
	case projection, filterProjection, valueProjection:
		return in.project(n, v)
	case multiSelectList:
		return in.multiSelectList(n, v)
	case multiSelectHash:
		return in.multiSelectHash(n, v)
	case member:
		return in.visit(&n.children[0], v)
	case or, and:
		left, err := in.visit(&n.children[0], v)
		if err != nil || truthy(left) == (n.kind == or) {
			return left, err
		}
		return in.visit(&n.children[1], v)
	case not:
		of, err := in.visit(&n.children[0], v)
		return !truthy(of), err
	case comparison:
		return in.compare(n, v)
	case reference:
		return expression{&n.children[0]}, nil
	case call:
		return in.call(n, v)
	default:
		return nil, fmt.Errorf("%w: a node of kind %d", ErrEvaluation, n.kind)
	}
}

// inherited are the names that every JavaScript object has from its prototype: they
// can be selected from objects that have no such member.
var inherited = []string{
	"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
	"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", prototype,
}

func (in *interpreter) field(name string, v value.Value) (value.Value, error) {
	o, ok := v.(*value.Object)
	if !ok || name == "" && in.language == value.JavaScript {
		return nil, nil
	}
	if err := in.spelled(name, o); err != nil {
		return nil, err
	}
	member, known := o.Get(name)
	if !known && in.language == value.JavaScript && slices.Contains(inherited, name) {
		return nil, value.Inexact("%q is missing, and is what every JavaScript object inherits", name)
	}
	return member, nil
}

// spelled returns an error where an object has a member whose name differs only in case
// from the one that is read. To the peers that is another member, and their functions do
// not get it for this one; a Go function does (encoding/json), so the key would be that of
// another request. A name that the expression reads as well is meant.
func (in *interpreter) spelled(name string, o *value.Object) error {
	if err := in.budget.Steps(o.Len() / 16); err != nil {
		return err
	}
	if twin, found := o.Twin(name); found && !in.names[twin] {
		return value.Inexact("the payload has a member whose name differs only in case from %q, and a Go function may take one for the other", name)
	}
	return nil
}

func (in *interpreter) chain(steps []node, v value.Value) (_ value.Value, err error) {
	for i := range steps {
		if v, err = in.visit(&steps[i], v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (in *interpreter) flatten(n *node, v value.Value) (value.Value, error) {
	of, err := in.visit(&n.children[0], v)
	list, ok := of.(*value.Array)
	if err != nil || !ok {
		return nil, err
	}
	flat := new(value.Array)
	for _, item := range list.Items {
		items := []value.Value{item}
		if inner, ok := item.(*value.Array); ok {
			items = inner.Items
		}
		if err := in.spread(items); err != nil {
			return nil, err
		}
		if err := in.budget.Steps(len(items)); err != nil {
			return nil, err
		}
		flat.Items = append(flat.Items, items...)
	}
	return flat, nil
}

// maxSpread is how long a list may be that TypeScript passes as arguments. Somewhere
// beyond, the stack of the Node.js build is too small for it.
const maxSpread = 10_000

func (in *interpreter) spread(items []value.Value) error {
	if in.language == value.JavaScript && len(items) > maxSpread {
		return value.Inexact("a list of more than %d elements becomes arguments, for which the stack may be too small", maxSpread)
	}
	return nil
}

// project does something to each of the elements for which the condition, if there is
// one, holds. Nulls are left out; undefined stays.
func (in *interpreter) project(n *node, v value.Value) (value.Value, error) {
	base, err := in.visit(&n.children[0], v)
	if err != nil {
		return nil, err
	}
	items, ok := in.elements(n, base)
	if !ok {
		return nil, nil
	}
	collected := new(value.Array)
	for _, item := range items {
		if n.kind == filterProjection {
			holds, err := in.visit(&n.children[2], item)
			if err != nil {
				return nil, err
			}
			if !truthy(holds) {
				continue
			}
		}
		result, err := in.visit(&n.children[1], item)
		if err != nil {
			return nil, err
		}
		if result != nil {
			collected.Items = append(collected.Items, result)
		}
	}
	return collected, nil
}

// elements returns what a projection looks at, false for a value of another type.
func (in *interpreter) elements(n *node, of value.Value) ([]value.Value, bool) {
	if n.kind == valueProjection {
		o, ok := of.(*value.Object)
		if !ok {
			return nil, false
		}
		return o.Values(in.language), true
	}
	a, ok := of.(*value.Array)
	if !ok {
		return nil, false
	}
	return slices.Clone(a.Items), true
}

func (in *interpreter) multiSelectList(n *node, v value.Value) (value.Value, error) {
	if v == nil {
		return nil, nil
	}
	list := new(value.Array)
	for i := range n.children {
		result, err := in.visit(&n.children[i], v)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, result)
	}
	return list, nil
}

func (in *interpreter) multiSelectHash(n *node, v value.Value) (value.Value, error) {
	if v == nil {
		return nil, nil
	}
	hash := value.NewObject()
	for i := range n.children {
		result, err := in.visit(&n.children[i], v)
		if err != nil {
			return nil, err
		}
		hash.Set(n.children[i].name, result)
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
