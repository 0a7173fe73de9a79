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

// incomparable is the order of what has none: NaN.
const incomparable = 2

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
