package jmespath

import (
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

func contains(in *interpreter, args []value.Value) (value.Value, error) {
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
	if in.language == value.JavaScript {
		return in.includes(list, args[1])
	}
	for _, item := range list.Items {
		if equal, err := (equality{in.budget}).python(item, args[1], 0); equal || err != nil {
			return equal, err
		}
	}
	return false, nil
}

// includes is JavaScript's, by which NaN is NaN.
func (in *interpreter) includes(list *value.Array, v value.Value) (value.Value, error) {
	switch kindOf(v) {
	case "array", "object":
		return nil, value.Inexact("contains() compares an %s by its identity", kindOf(v))
	}
	if err := in.budget.Steps(len(list.Items)); err != nil {
		return nil, err
	}
	return slices.ContainsFunc(list.Items, func(item value.Value) bool {
		return kindOf(item) == kindOf(v) && (item == v || isNaN(item) && isNaN(v))
	}), nil
}

func affix(has func(s, affix string) bool) func(*interpreter, []value.Value) (value.Value, error) {
	return func(in *interpreter, args []value.Value) (value.Value, error) {
		return in.search(has, args[0].(string), args[1].(string)), nil
	}
}

// search looks for a part of a string, which in JavaScript may be half a character.
func (in *interpreter) search(has func(s, part string) bool, s, part string) bool {
	if in.language == value.JavaScript {
		s, part = value.Separate(s), value.Separate(part)
	}
	return has(s, part)
}

func join(in *interpreter, args []value.Value) (value.Value, error) {
	separator, items := args[0].(string), args[1].(*value.Array).Items
	parts := make([]string, len(items))
	size := 0
	for i, item := range items {
		parts[i] = item.(string)
		size += len(parts[i]) + len(separator)
	}
	if err := in.budget.Text(size); err != nil {
		return nil, err
	}
	joined := strings.Join(parts, separator)
	if in.language == value.JavaScript {
		joined = value.Pair(joined)
	}
	return joined, nil
}

func reverse(in *interpreter, args []value.Value) (value.Value, error) {
	if s, isText := args[0].(string); isText {
		if err := in.budget.Text(len(s)); err != nil {
			return nil, err
		}
		if in.language == value.JavaScript {
			units := value.Units(s)
			slices.Reverse(units)
			return value.FromUnits(units), nil
		}
		runes := value.Runes(s)
		slices.Reverse(runes)
		return value.FromRunes(runes), nil
	}
	if in.language == value.JavaScript {
		return nil, value.Inexact("reverse() turns the list in the event itself around, so that its next evaluation gives another key")
	}
	items := slices.Clone(args[0].(*value.Array).Items)
	slices.Reverse(items)
	return &value.Array{Items: items}, in.budget.Steps(len(items))
}

func toString(in *interpreter, args []value.Value) (value.Value, error) {
	if s, ok := args[0].(string); ok {
		return s, nil
	}
	if in.language == value.Python {
		return value.Dumps(args[0], value.Compact, in.budget)
	}
	text, defined, err := value.Stringify(args[0], in.budget)
	if err == nil && !defined {
		return value.Undefined{}, nil
	}
	return text, err
}
