package jmespath

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// function is one of JMESPath's functions, or of Powertools' own. Its error is
// ErrEvaluation where the implementation raises one of JMESPath's own, errSwallowed
// where it raises another.
type function struct {
	parameters []string // types, separated by "|"
	variadic   bool
	run        func(*interpreter, []value.Value) (value.Value, error)
}

func (f *function) takesReference(i int) bool {
	return i < len(f.parameters) && f.parameters[i] == "expression"
}

var functions = map[string]*function{
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

func (in *interpreter) call(n *node, v value.Value) (value.Value, error) {
	args := make([]value.Value, len(n.children))
	for i := range n.children {
		var err error
		if args[i], err = in.visit(&n.children[i], v); err != nil {
			return nil, err
		}
	}
	f := n.function
	if len(args) < len(f.parameters) || len(args) > len(f.parameters) && !f.variadic {
		return nil, fmt.Errorf("%w: %s() of %d arguments", ErrEvaluation, n.name, len(args))
	}
	for i, arg := range args {
		// Both check the types of the declared parameters only.
		if i >= len(f.parameters) {
			if f.parameters[0] == "object" && kindOf(arg) != "object" {
				return nil, value.Inexact("%s() of what is not an object", n.name)
			}
			continue
		}
		if err := in.check(arg, f.parameters[i]); err != nil {
			return nil, fmt.Errorf("%s(): %w", n.name, err)
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

// check tells whether an argument has one of the types.
func (in *interpreter) check(arg value.Value, types string) error {
	kind := kindOf(arg)
	for t := range strings.SplitSeq(types, "|") {
		if t == "any" || t == kind {
			return nil
		}
		if element, isList := strings.CutSuffix(t, "s"); isList && kind == "array" {
			return in.checkElements(arg.(*value.Array), element, types)
		}
	}
	return fmt.Errorf("%w: an argument is a %s", ErrEvaluation, kind)
}

// checkElements tells whether a list has only elements of the type, or of either type
// where there are two: the first element decides. TypeScript overlooks the elements
// in front of the first number.
func (in *interpreter) checkElements(list *value.Array, element, types string) error {
	if len(list.Items) == 0 {
		return nil
	}
	first := kindOf(list.Items[0])
	if strings.Contains(types, "|") && first == "string" {
		element = first
	}
	if err := in.budget.Steps(len(list.Items)); err != nil {
		return err
	}
	stray := slices.IndexFunc(list.Items, func(item value.Value) bool { return kindOf(item) != element })
	switch {
	case stray < 0:
		return nil
	case in.language == value.JavaScript && strings.Contains(types, "|") && first != "number":
		return value.Inexact("a list of several types, or of none that has an order")
	default:
		return fmt.Errorf("%w: an element is a %s", ErrEvaluation, kindOf(list.Items[stray]))
	}
}

func length(in *interpreter, args []value.Value) (value.Value, error) {
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

func notNull(in *interpreter, args []value.Value) (value.Value, error) {
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

func typeName(_ *interpreter, args []value.Value) (value.Value, error) { return kindOf(args[0]), nil }
