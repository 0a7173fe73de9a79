package jmespath

import (
	"math"
	"math/big"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func sum(in *interpreter, args []value.Value) (value.Value, error) {
	items := args[0].(*value.Array).Items
	if err := in.budget.Steps(len(items)); err != nil {
		return nil, err
	}
	if in.language == value.Python {
		return pythonSum(items)
	}
	total := 0.0
	for _, item := range items {
		total += item.(float64)
	}
	return total, nil
}

// pythonSum is Python's sum(), if all versions give the same: since 3.12 it
// compensates for the digits that floats lose, since 3.14 beside integers too.
func pythonSum(items []value.Value) (value.Value, error) {
	var sums [3]adder
	for _, item := range items {
		for i := range sums {
			if err := sums[i].add(item, i > 0, i > 1); err != nil {
				return nil, err
			}
		}
	}
	total := sums[0].total()
	for _, s := range sums[1:] {
		if other := s.total(); compareNumbers(total, other) != 0 && (!isNaN(total) || !isNaN(other)) {
			return nil, value.Inexact("the sum of these floats depends on the version of Python, which compensates for lost digits since 3.12")
		}
	}
	return total, nil
}

// adder adds as CPython does: integers exactly, and from the first float on floats,
// until an integer is none of 64 bits, when it loses what it has compensated.
type adder struct {
	whole   big.Int
	isFloat bool
	general bool // the loop for values of all types
	float   float64
	lost    float64
}

func (a *adder) add(item value.Value, compensates, compensatesIntegers bool) error {
	n, isInteger := item.(*big.Int)
	if isInteger && !a.isFloat {
		// The loop for integers ends where the sum is none of 64 bits.
		a.whole.Add(&a.whole, n)
		a.general = a.general || !n.IsInt64() || !a.whole.IsInt64()
		return nil
	}
	if !a.isFloat {
		f, err := pythonFloat(&a.whole)
		if err != nil {
			return err
		}
		a.isFloat, a.float = true, f
		a.float += item.(float64)
		return nil
	}
	if isInteger {
		f, err := pythonFloat(n)
		if err != nil {
			return err
		}
		switch {
		case a.general || !compensates || compensatesIntegers:
		case n.IsInt64():
			a.float += f
			return nil
		default:
			a.settle()
			a.general = true
		}
		item = f
	}
	f := item.(float64)
	next := a.float + f
	if compensates && !a.general {
		if math.Abs(a.float) >= math.Abs(f) {
			a.lost += (a.float - next) + f
		} else {
			a.lost += (f - next) + a.float
		}
	}
	a.float = next
	return nil
}

func (a *adder) settle() {
	if a.lost != 0 && !math.IsInf(a.lost, 0) && !math.IsNaN(a.lost) {
		a.float += a.lost
	}
	a.lost = 0
}

func (a *adder) total() value.Value {
	if !a.isFloat {
		return &a.whole
	}
	a.settle()
	return a.float
}

// pythonFloat is float(n), which raises an OverflowError beyond the floats.
func pythonFloat(n *big.Int) (float64, error) {
	f, _ := new(big.Float).SetInt(n).Float64()
	if math.IsInf(f, 0) {
		return 0, errSwallowed
	}
	return f, nil
}

// avg divides the sum. jmespath.py divides by a float before version 1.1.0, and by an
// integer since.
func avg(in *interpreter, args []value.Value) (value.Value, error) {
	count := len(args[0].(*value.Array).Items)
	if count == 0 && in.language == value.Python {
		return nil, nil
	}
	total, err := sum(in, args)
	if err != nil {
		return nil, err
	}
	n, isInteger := total.(*big.Int)
	if !isInteger {
		return total.(float64) / float64(count), nil
	}
	exact, _ := new(big.Rat).SetFrac(n, big.NewInt(int64(count))).Float64()
	rounded, err := pythonFloat(n)
	switch {
	case math.IsInf(exact, 0):
		return nil, errSwallowed
	case err != nil || exact != rounded/float64(count):
		return nil, value.Inexact("the average of integers beyond 2⁵³ depends on the version of jmespath.py")
	}
	return exact, nil
}
