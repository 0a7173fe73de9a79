package jmespath

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func isNumber(v value.Value) bool {
	switch v.(type) {
	case float64, *big.Int:
		return true
	}
	return false
}

// order compares two numbers, or two strings.
func order(a, b value.Value, l value.Language) int {
	if a, ok := a.(string); ok {
		if l == value.JavaScript {
			return slices.Compare(value.Units(a), value.Units(b.(string)))
		}
		return strings.Compare(a, b.(string))
	}
	return compareNumbers(a, b)
}

// compareNumbers compares by value, exactly also where one is an integer of many
// digits, as Python does.
func compareNumbers(a, b value.Value) int {
	if a, ok := a.(float64); ok {
		if b, ok := b.(float64); ok {
			return compareFloats(a, b)
		}
		if math.IsNaN(a) {
			return incomparable
		}
		return new(big.Float).SetFloat64(a).Cmp(exact(b.(*big.Int)))
	}
	if b, ok := b.(*big.Int); ok {
		return a.(*big.Int).Cmp(b)
	}
	if reversed := compareNumbers(b, a); reversed != incomparable {
		return -reversed
	}
	return incomparable
}

func exact(n *big.Int) *big.Float {
	return new(big.Float).SetPrec(uint(max(n.BitLen(), 64))).SetInt(n)
}

func compareFloats(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return incomparable
	}
	return cmp.Compare(a, b)
}

// equal is the == of the expressions.
func (in interpreter) equal(a, b value.Value) bool {
	if in.language == value.Python {
		// At the top a boolean and a number differ; inside of lists and dicts they
		// are compared by Python itself, for which True is 1.
		_, isBoolA := a.(bool)
		_, isBoolB := b.(bool)
		if isBoolA && isNumber(b) || isBoolB && isNumber(a) {
			return false
		}
		return pythonEqual(a, b)
	}
	switch a := a.(type) {
	case *value.Array:
		b, ok := b.(*value.Array)
		return ok && slices.EqualFunc(a.Items, b.Items, in.equal)
	case *value.Object:
		b, ok := b.(*value.Object)
		return ok && in.equalObjects(a, b)
	case float64:
		b, ok := b.(float64)
		return ok && a == b
	case expression:
		return false
	default:
		_, isReference := b.(expression)
		return !isReference && a == b
	}
}

func (in interpreter) equalObjects(a, b *value.Object) bool {
	if a.Len() != b.Len() {
		return false
	}
	for _, name := range a.Names(in.language) {
		memberA, _ := a.Get(name)
		memberB, known := b.Get(name)
		if !known || !in.equal(memberA, memberB) {
			return false
		}
	}
	return true
}

func pythonEqual(a, b value.Value) bool {
	a, b = asNumber(a), asNumber(b)
	switch a := a.(type) {
	case *big.Int, float64:
		return isNumber(b) && compareNumbers(a, b) == 0
	case *value.Array:
		b, ok := b.(*value.Array)
		return ok && slices.EqualFunc(a.Items, b.Items, pythonEqual)
	case *value.Object:
		b, ok := b.(*value.Object)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for _, name := range a.Names(value.Python) {
			memberA, _ := a.Get(name)
			memberB, known := b.Get(name)
			if !known || !pythonEqual(memberA, memberB) {
				return false
			}
		}
		return true
	case string:
		b, ok := b.(string)
		return ok && a == b
	default:
		return a == nil && b == nil
	}
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

// collate compares two strings as localeCompare does, for ASCII, the root collation of
// ICU: first by primary weight, then lower case before upper case. False for other
// characters.
func collate(a, b string) (int, bool) {
	primary, tertiary := 0, 0
	if strings.ContainsFunc(a+b, func(r rune) bool { return r < ' ' || r > '~' }) {
		return 0, false
	}
	for i := range min(len(a), len(b)) {
		wa, wb := weight(a[i]), weight(b[i])
		if primary == 0 {
			primary = cmp.Compare(wa, wb)
		}
		if tertiary == 0 && wa == wb {
			tertiary = cmp.Compare(b[i], a[i]) // upper case has the lower code
		}
	}
	return cmp.Or(primary, cmp.Compare(len(a), len(b)), tertiary), true
}

// collation is the order of ASCII in ICU's root collation.
const collation = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

func weight(c byte) int {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return strings.IndexByte(collation, c)
}
