package jmespath

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// function is one of JMESPath's functions. Its error is ErrEvaluation where the
// implementation raises one of JMESPath's own, errSwallowed where it raises another.
type function struct {
	parameters []string // types, separated by "|"
	variadic   bool
	run        func(interpreter, []value.Value) (value.Value, error)
}

// functions is filled by init, because functions evaluate expressions.
var functions map[string]function

func init() {
	functions = map[string]function{
		"abs":                    {[]string{"number"}, false, abs},
		"avg":                    {[]string{"numbers"}, false, avg},
		"ceil":                   {[]string{"number"}, false, round(math.Ceil)},
		"contains":               {[]string{"array|string", "any"}, false, contains},
		"ends_with":              {[]string{"string", "string"}, false, affix(strings.HasSuffix)},
		"floor":                  {[]string{"number"}, false, round(math.Floor)},
		"join":                   {[]string{"string", "strings"}, false, join},
		"keys":                   {[]string{"object"}, false, keys},
		"length":                 {[]string{"string|array|object"}, false, length},
		"map":                    {[]string{"expression", "array"}, false, mapped},
		"max":                    {[]string{"numbers|strings"}, false, extreme(1)},
		"max_by":                 {[]string{"array", "expression"}, false, extremeBy(1)},
		"merge":                  {[]string{"object"}, true, merge},
		"min":                    {[]string{"numbers|strings"}, false, extreme(-1)},
		"min_by":                 {[]string{"array", "expression"}, false, extremeBy(-1)},
		"not_null":               {[]string{"any"}, true, notNull},
		"reverse":                {[]string{"array|string"}, false, reverse},
		"sort":                   {[]string{"numbers|strings"}, false, sorted},
		"sort_by":                {[]string{"array", "expression"}, false, sortBy},
		"starts_with":            {[]string{"string", "string"}, false, affix(strings.HasPrefix)},
		"sum":                    {[]string{"numbers"}, false, sum},
		"to_array":               {[]string{"any"}, false, toArray},
		"to_number":              {[]string{"any"}, false, toNumber},
		"to_string":              {[]string{"any"}, false, toString},
		"type":                   {[]string{"any"}, false, typeName},
		"values":                 {[]string{"object"}, false, valuesOf},
		"powertools_json":        {[]string{"string"}, false, powertoolsJSON},
		"powertools_base64":      {[]string{"string"}, false, powertoolsBase64},
		"powertools_base64_gzip": {[]string{"string"}, false, powertoolsBase64Gzip},
	}
}

// errSwallowed is an error that is not one of JMESPath's: Python lets it out, and
// TypeScript's interpreter drops it, which gives undefined.
var errSwallowed = fmt.Errorf("%w: an error inside of a function", ErrEvaluation)

func (in interpreter) call(c call, v value.Value) (value.Value, error) {
	args := make([]value.Value, len(c.args))
	for i, arg := range c.args {
		var err error
		if args[i], err = in.visit(arg, v); err != nil {
			return nil, err
		}
	}
	f := functions[c.function]
	if len(args) < len(f.parameters) || len(args) > len(f.parameters) && !f.variadic {
		return nil, fmt.Errorf("%w: %s() of %d arguments", ErrEvaluation, c.function, len(args))
	}
	for i, arg := range args {
		// Both check the types of the declared parameters only.
		if i >= len(f.parameters) {
			if f.parameters[0] == "object" && kindOf(arg) != "object" {
				return nil, value.Inexact("%s() of what is not an object", c.function)
			}
			continue
		}
		if err := check(arg, f.parameters[i]); err != nil {
			return nil, fmt.Errorf("%s(): %w", c.function, err)
		}
	}
	result, err := f.run(in, args)
	if err == errSwallowed && in.language == value.JavaScript {
		return value.Undefined{}, nil
	}
	return result, err
}

func kindOf(v value.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case *value.Array:
		return "array"
	case *value.Object:
		return "object"
	case float64, *big.Int:
		return "number"
	case expression:
		return "expression"
	default:
		return "unknown"
	}
}

// check tells whether an argument has one of the types. Lists of several types are
// judged in different ways by the implementations.
func check(arg value.Value, types string) error {
	mismatch := fmt.Errorf("%w: an argument is a %s", ErrEvaluation, kindOf(arg))
	kind := kindOf(arg)
	for t := range strings.SplitSeq(types, "|") {
		if t == "any" && kind != "expression" || t == kind {
			return nil
		}
		element, isList := strings.CutSuffix(t, "s")
		if !isList || kind != "array" {
			continue
		}
		kinds := kindsIn(arg.(*value.Array))
		switch {
		case len(kinds) == 0, len(kinds) == 1 && kinds[0] == element:
			return nil
		case strings.Contains(types, "|"):
			if len(kinds) == 1 && (kinds[0] == "number" || kinds[0] == "string") {
				continue
			}
			return value.Inexact("a list of %s", strings.Join(kinds, " and "))
		}
		return mismatch
	}
	if kind == "expression" {
		return value.Inexact("an expression as an argument")
	}
	return mismatch
}

func kindsIn(a *value.Array) []string {
	var kinds []string
	for _, item := range a.Items {
		if kind := kindOf(item); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func contains(in interpreter, args []value.Value) (value.Value, error) {
	if s, ok := args[0].(string); ok {
		part, ok := args[1].(string)
		switch {
		case ok:
			return in.search(strings.Contains, s, part), nil
		case in.language == value.Python:
			return nil, errSwallowed
		default:
			return nil, value.Inexact("contains() of a string and a %s", kindOf(args[1]))
		}
	}
	list := args[0].(*value.Array)
	if in.language == value.Python {
		return slices.ContainsFunc(list.Items, func(item value.Value) bool { return pythonEqual(item, args[1]) }), nil
	}
	switch kindOf(args[1]) {
	case "array", "object":
		return nil, value.Inexact("contains() compares an %s by its identity", kindOf(args[1]))
	}
	return slices.ContainsFunc(list.Items, func(item value.Value) bool {
		return kindOf(item) == kindOf(args[1]) && in.equal(item, args[1])
	}), nil
}

func affix(has func(s, affix string) bool) func(interpreter, []value.Value) (value.Value, error) {
	return func(in interpreter, args []value.Value) (value.Value, error) {
		return in.search(has, args[0].(string), args[1].(string)), nil
	}
}

// search looks for a part of a string, which in JavaScript may be half a character.
func (in interpreter) search(has func(s, part string) bool, s, part string) bool {
	if in.language == value.JavaScript {
		s, part = value.Separate(s), value.Separate(part)
	}
	return has(s, part)
}

func join(in interpreter, args []value.Value) (value.Value, error) {
	var parts []string
	for _, item := range args[1].(*value.Array).Items {
		parts = append(parts, item.(string))
	}
	joined := strings.Join(parts, args[0].(string))
	if in.language == value.JavaScript {
		joined = value.Pair(joined)
	}
	return joined, nil
}

func keys(in interpreter, args []value.Value) (value.Value, error) {
	names := new(value.Array)
	for _, name := range args[0].(*value.Object).Names(in.language) {
		names.Items = append(names.Items, name)
	}
	return names, nil
}

func valuesOf(in interpreter, args []value.Value) (value.Value, error) {
	items, _ := in.members(args[0])
	return &value.Array{Items: items}, nil
}

func length(in interpreter, args []value.Value) (value.Value, error) {
	n := 0
	switch v := args[0].(type) {
	case string:
		if n = len(value.Runes(v)); in.language == value.JavaScript {
			n = len(value.Units(v))
		}
	case *value.Array:
		n = len(v.Items)
	case *value.Object:
		n = v.Len()
	}
	return value.Number(int64(n), in.language), nil
}

func mapped(in interpreter, args []value.Value) (value.Value, error) {
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

// orNull is JavaScript's v || null.
func orNull(v value.Value) value.Value {
	switch v := v.(type) {
	case float64:
		if v == 0 || math.IsNaN(v) {
			return nil
		}
	case *value.Array, *value.Object:
	default:
		if !truthy(v) {
			return nil
		}
	}
	return v
}

func merge(in interpreter, args []value.Value) (value.Value, error) {
	merged := value.NewObject()
	for _, arg := range args {
		o := arg.(*value.Object)
		for _, name := range o.Names(in.language) {
			member, _ := o.Get(name)
			merged.Set(name, member)
		}
	}
	return merged, nil
}

func notNull(in interpreter, args []value.Value) (value.Value, error) {
	for _, arg := range args {
		if arg != nil {
			if in.language == value.JavaScript {
				arg = orNull(arg)
			}
			return arg, nil
		}
	}
	return nil, nil
}

func reverse(in interpreter, args []value.Value) (value.Value, error) {
	s, isText := args[0].(string)
	switch {
	case isText && in.language == value.JavaScript:
		units := value.Units(s)
		slices.Reverse(units)
		return value.FromUnits(units), nil
	case in.language == value.JavaScript:
		return nil, value.Inexact("reverse() turns the list in the event itself around, so that its next evaluation gives another key")
	case isText:
		runes := value.Runes(s)
		slices.Reverse(runes)
		return value.FromRunes(runes), nil
	}
	items := slices.Clone(args[0].(*value.Array).Items)
	slices.Reverse(items)
	return &value.Array{Items: items}, nil
}

func sorted(in interpreter, args []value.Value) (value.Value, error) {
	list := args[0].(*value.Array)
	if in.language == value.Python {
		list = &value.Array{Items: slices.Clone(list.Items)}
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

func extreme(sign int) func(interpreter, []value.Value) (value.Value, error) {
	return func(in interpreter, args []value.Value) (value.Value, error) {
		var best value.Value
		for _, item := range args[0].(*value.Array).Items {
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
func (in interpreter) rank(args []value.Value) ([]ranked, error) {
	var all []ranked
	for _, item := range args[0].(*value.Array).Items {
		rank, err := in.visit(args[1].(expression).node, item)
		if err != nil {
			return nil, err
		}
		if !hasOrder(rank) {
			return nil, fmt.Errorf("%w: a %s has no rank", ErrEvaluation, kindOf(rank))
		}
		if len(all) > 0 && isNumber(rank) != isNumber(all[0].rank) {
			return nil, value.Inexact("numbers and strings in one order")
		}
		all = append(all, ranked{item, rank})
	}
	return all, nil
}

func extremeBy(sign int) func(interpreter, []value.Value) (value.Value, error) {
	return func(in interpreter, args []value.Value) (value.Value, error) {
		all, err := in.rank(args)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		best := all[0]
		for _, r := range all {
			if order(r.rank, best.rank, in.language) == sign {
				best = r
			}
		}
		return best.item, nil
	}
}

func sortBy(in interpreter, args []value.Value) (value.Value, error) {
	all, err := in.rank(args)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return order(a.rank, b.rank, in.language) })
	result := new(value.Array)
	for _, r := range all {
		result.Items = append(result.Items, r.item)
	}
	return result, nil
}

func toArray(_ interpreter, args []value.Value) (value.Value, error) {
	if list, ok := args[0].(*value.Array); ok {
		return list, nil
	}
	return &value.Array{Items: args[:1:1]}, nil
}

func toString(in interpreter, args []value.Value) (value.Value, error) {
	if s, ok := args[0].(string); ok {
		return s, nil
	}
	if in.language == value.Python {
		return value.Dumps(args[0], value.Compact)
	}
	text, defined, err := value.Stringify(args[0])
	if err == nil && !defined {
		return value.Undefined{}, nil
	}
	return text, err
}

func typeName(_ interpreter, args []value.Value) (value.Value, error) { return kindOf(args[0]), nil }
