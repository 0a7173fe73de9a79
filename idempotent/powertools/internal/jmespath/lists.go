package jmespath

import (
	"fmt"
	"slices"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func keys(in *interpreter, args []value.Value) (value.Value, error) {
	names := new(value.Array)
	for _, name := range args[0].(*value.Object).Names(in.language) {
		names.Items = append(names.Items, name)
	}
	return names, in.budget.Steps(len(names.Items))
}

func valuesOf(in *interpreter, args []value.Value) (value.Value, error) {
	items := args[0].(*value.Object).Values(in.language)
	return &value.Array{Items: items}, in.budget.Steps(len(items))
}

func mapped(in *interpreter, args []value.Value) (value.Value, error) {
	result := new(value.Array)
	for _, item := range args[1].(*value.Array).Items {
		v, err := in.visit(args[0].(expression).node, item)
		if err != nil {
			return nil, err
		}
		if in.language == value.JavaScript {
			v = orNull(v)
		}
		result.Items = append(result.Items, v)
	}
	return result, nil
}

func merge(in *interpreter, args []value.Value) (value.Value, error) {
	merged := value.NewObject()
	for _, arg := range args {
		o := arg.(*value.Object)
		if err := in.budget.Steps(o.Len()); err != nil {
			return nil, err
		}
		for _, name := range o.Names(in.language) {
			member, _ := o.Get(name)
			merged.Set(name, member)
		}
	}
	return merged, nil
}

func toArray(_ *interpreter, args []value.Value) (value.Value, error) {
	if list, ok := args[0].(*value.Array); ok {
		return list, nil
	}
	return &value.Array{Items: args[:1:1]}, nil
}

// errNaN is why lists with NaN are not sorted.
var errNaN = value.Inexact("where NaN is sorted to depends on the algorithm")

// sorted is sort(), which in JavaScript sorts the list itself.
func sorted(in *interpreter, args []value.Value) (value.Value, error) {
	list := args[0].(*value.Array)
	if in.language == value.Python {
		list = &value.Array{Items: slices.Clone(list.Items)}
	}
	if len(list.Items) > 1 && slices.ContainsFunc(list.Items, isNaN) {
		return nil, errNaN
	}
	var err error
	slices.SortStableFunc(list.Items, func(a, b value.Value) int {
		textA, isText := a.(string)
		if !isText || in.language == value.Python {
			return order(a, b, in.language)
		}
		order, known := collate(textA, b.(string))
		if !known {
			err = value.Inexact("sort() of strings that are not ASCII depends on the collation of the Node.js build")
		}
		return order
	})
	return list, err
}

func extreme(sign int) func(*interpreter, []value.Value) (value.Value, error) {
	return func(in *interpreter, args []value.Value) (value.Value, error) {
		items := args[0].(*value.Array).Items
		if err := in.spread(items); err != nil {
			return nil, err
		}
		if nan := slices.IndexFunc(items, isNaN); nan >= 0 && in.language == value.JavaScript {
			return items[nan], nil // so say Math.max and Math.min
		}
		var best value.Value
		for _, item := range items {
			if best == nil || order(item, best, in.language) == sign {
				best = item
			}
		}
		return best, nil
	}
}

// ranked is an item and what an expression makes of it.
type ranked struct{ item, rank value.Value }

// rank evaluates an expression on each item, all of which must give a number or all
// a string.
func (in *interpreter) rank(list, by value.Value) ([]ranked, error) {
	var all []ranked
	for _, item := range list.(*value.Array).Items {
		rank, err := in.visit(by.(expression).node, item)
		if err != nil {
			return nil, err
		}
		if !hasOrder(rank) {
			return nil, fmt.Errorf("%w: a %s has no rank", ErrEvaluation, kindOf(rank))
		}
		all = append(all, ranked{item, rank})
	}
	isMixed := slices.ContainsFunc(all, func(r ranked) bool { return isNumber(r.rank) != isNumber(all[0].rank) })
	switch {
	case isMixed && in.language == value.Python:
		return nil, fmt.Errorf("%w: numbers and strings in one order", ErrEvaluation)
	case isMixed:
		return nil, value.Inexact("numbers and strings in one order")
	}
	return all, nil
}

func extremeBy(sign int) func(*interpreter, []value.Value) (value.Value, error) {
	return func(in *interpreter, args []value.Value) (value.Value, error) {
		all, err := in.rank(args[0], args[1])
		if err != nil || len(all) == 0 {
			return nil, err
		}
		best := all[0]
		for _, r := range all {
			switch order(r.rank, best.rank, in.language) {
			case sign:
				best = r
			case incomparable: // Python looks whether the next is better, TypeScript whether the best still is
				if in.language == value.JavaScript {
					best = r
				}
			}
		}
		return best.item, nil
	}
}

func sortBy(in *interpreter, args []value.Value) (value.Value, error) {
	all, err := in.rank(args[0], args[1])
	if err != nil {
		return nil, err
	}
	if len(all) > 1 && slices.ContainsFunc(all, func(r ranked) bool { return isNaN(r.rank) }) {
		return nil, errNaN
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return order(a.rank, b.rank, in.language) })
	result := new(value.Array)
	for _, r := range all {
		result.Items = append(result.Items, r.item)
	}
	return result, nil
}
