package jmespath

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func (in *interpreter) compare(n *node, v value.Value) (value.Value, error) {
	left, err := in.visit(&n.children[0], v)
	if err != nil {
		return nil, err
	}
	right, err := in.visit(&n.children[1], v)
	if err != nil {
		return nil, err
	}
	switch n.name {
	case "==", "!=":
		equal, err := in.equal(left, right)
		return equal == (n.name == "=="), err
	}
	if in.language == value.JavaScript {
		l, isNumberL := left.(float64)
		r, isNumberR := right.(float64)
		if !isNumberL || !isNumberR {
			return value.Undefined{}, nil
		}
		return ordered(n.name, compareFloats(l, r)), nil
	}
	if !hasOrder(left) || !hasOrder(right) {
		return nil, nil
	}
	if isNumber(left) != isNumber(right) {
		return nil, fmt.Errorf("%w: a number is compared with a string", ErrEvaluation)
	}
	return ordered(n.name, order(left, right, in.language)), nil
}

func hasOrder(v value.Value) bool {
	_, isString := v.(string)
	return isString || isNumber(v)
}

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

// equal is the == of the expressions.
func (in *interpreter) equal(a, b value.Value) (bool, error) {
	e := equality{in.budget}
	if in.language == value.JavaScript {
		return e.javaScript(a, b, 0)
	}
	// At the top a boolean and a number differ, and no NaN is equal to another. Inside
	// of lists and dicts they are compared by Python itself.
	_, isBoolA := a.(bool)
	_, isBoolB := b.(bool)
	if isBoolA && isNumber(b) || isBoolB && isNumber(a) || isNaN(a) && isNaN(b) {
		return false, nil
	}
	return e.python(a, b, 0)
}

// equality compares values without end, and with values that are shared by many.
type equality struct{ budget *value.Budget }

func (e equality) step(depth int) error {
	if depth > value.MaxDepth {
		return value.Inexact("values nested more than %d deep are compared", value.MaxDepth)
	}
	return e.budget.Steps(1)
}

// python is Python's ==, which takes two values that are one for equal. True is 1.
func (e equality) python(a, b value.Value, depth int) (bool, error) {
	if err := e.step(depth); err != nil {
		return false, err
	}
	a, b = asNumber(a), asNumber(b)
	switch a := a.(type) {
	case *big.Int, float64:
		if isNaN(a) && isNaN(b) {
			return false, value.Inexact("whether NaN is in a list depends on which NaN it is")
		}
		return isNumber(b) && compareNumbers(a, b) == 0, nil
	case *value.Array:
		b, ok := b.(*value.Array)
		if !ok || a == b {
			return ok, nil
		}
		return e.arrays(a, b, depth, e.python)
	case *value.Object:
		b, ok := b.(*value.Object)
		if !ok || a == b {
			return ok, nil
		}
		if a.Len() != b.Len() {
			return false, nil
		}
		for _, name := range a.Names(value.Python) {
			memberA, _ := a.Get(name)
			memberB, known := b.Get(name)
			if !known {
				return false, nil
			}
			if equal, err := e.python(memberA, memberB, depth+1); !equal || err != nil {
				return false, err
			}
		}
		return true, nil
	case string:
		b, ok := b.(string)
		return ok && a == b, nil
	default:
		return a == nil && b == nil, nil
	}
}

// javaScript is Powertools' isStrictEqual. It starts with ===, by which a list is
// itself, also with NaN in it, and reads what a record has not, as undefined.
func (e equality) javaScript(a, b value.Value, depth int) (bool, error) {
	if err := e.step(depth); err != nil {
		return false, err
	}
	switch a := a.(type) {
	case *value.Array:
		b, ok := b.(*value.Array)
		if !ok || a == b {
			return ok, nil
		}
		return e.arrays(a, b, depth, e.javaScript)
	case *value.Object:
		b, ok := b.(*value.Object)
		if !ok || a == b {
			return ok, nil
		}
		return e.records(a, b, depth)
	case float64:
		b, ok := b.(float64)
		return ok && a == b, nil
	default:
		switch b.(type) {
		case *value.Array, *value.Object:
			return false, nil
		}
		return a == b, nil
	}
}

func (e equality) records(a, b *value.Object, depth int) (bool, error) {
	if a.Len() != b.Len() {
		return false, nil
	}
	for _, name := range a.Names(value.JavaScript) {
		memberA, _ := a.Get(name)
		memberB, known := b.Get(name)
		switch {
		case !known && slices.Contains(inherited, name):
			return false, value.Inexact("a record is compared with one that inherits a member")
		case !known:
			memberB = value.Undefined{}
		}
		if equal, err := e.javaScript(memberA, memberB, depth+1); !equal || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e equality) arrays(a, b *value.Array, depth int, equal func(a, b value.Value, depth int) (bool, error)) (bool, error) {
	if len(a.Items) != len(b.Items) {
		return false, nil
	}
	for i := range a.Items {
		if equal, err := equal(a.Items[i], b.Items[i], depth+1); !equal || err != nil {
			return false, err
		}
	}
	return true, nil
}

// asNumber returns what Python takes a boolean for.
func asNumber(v value.Value) value.Value {
	switch v {
	case true:
		return big.NewInt(1)
	case false:
		return big.NewInt(0)
	}
	return v
}

func isNaN(v value.Value) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}
