package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
	"github.com/jmespath/go-jmespath"
)

// function evaluates a call. What it does with the arguments is up to the engine,
// except where an argument is not evaluated once on the same value.
func (e *evaluation) function(n *node, on any) (any, error) {
	if n.call != nil {
		return e.result(n.call)
	}
	switch n.name {
	case "not_null":
		return e.firstNotNull(n, on)
	case "map":
		list, err := e.list(n, &n.children[1], on)
		if err != nil {
			return nil, err
		}
		return e.each(&n.children[0].children[0], list)
	case "sort_by", "max_by", "min_by":
		return e.ranked(n, on)
	}
	arguments, err := e.values(n.children, on)
	if err != nil {
		return nil, err
	}
	if functions[n.name].required && !n.lenient && isEmpty(arguments[0]) {
		return nil, n.lacksArgument()
	}
	return e.apply(n, arguments)
}

// firstNotNull passes over arguments as || does over alternatives, and evaluates
// no more of them than it has to.
func (e *evaluation) firstNotNull(n *node, on any) (any, error) {
	var value any
	var err error
	for i := range n.children {
		value, err = e.value(&n.children[i], on)
		if err == nil && value != nil || err != nil && !errors.Is(err, ErrMissing) {
			break
		}
	}
	return value, err
}

// list evaluates an argument that must be a list.
func (e *evaluation) list(function, argument *node, on any) ([]any, error) {
	value, err := e.value(argument, on)
	if err != nil {
		return nil, err
	}
	switch list, ok := value.([]any); {
	case ok:
		return list, nil
	case value == nil && !function.lenient:
		return nil, function.lacksArgument()
	}
	return nil, fmt.Errorf("%s(): an argument is not of type array", function.name)
}

// ranked evaluates a function that orders a list by the values of an &expression.
// The engine gets pairs of its own, for it sorts in place.
func (e *evaluation) ranked(n *node, on any) (any, error) {
	list, err := e.list(n, &n.children[0], on)
	if err != nil {
		return nil, err
	}
	by, err := e.each(&n.children[1].children[0], list)
	if err != nil {
		return nil, err
	}
	if err := e.memory.takeList(4 * len(list)); err != nil {
		return nil, err
	}
	pairs := make([]any, len(list))
	for i := range list {
		pairs[i] = []any{by[i], list[i]}
	}
	value, err := search(n.engine, pairs)
	if err != nil {
		return nil, n.failure(err, by)
	}
	return value, nil
}

// apply lets the engine apply a function or an operator.
func (e *evaluation) apply(n *node, operands []any) (any, error) {
	if n.looksDeep() {
		if err := checkSize(operands); err != nil {
			return nil, err
		}
	}
	if n.name == "join" {
		if err := checkJoin(operands); err != nil {
			return nil, err
		}
	}
	value, err := search(n.engine, operands)
	switch {
	case err == nil:
		return value, e.memory.take(ownSize(value))
	case !n.lenient && slices.ContainsFunc(operands, func(operand any) bool { return operand == nil }):
		return nil, n.lacksArgument()
	}
	return nil, n.failure(err, operands)
}

// looksDeep tells whether the engine looks at all that is in the operands, again for
// each place where a part stands.
func (n *node) looksDeep() bool {
	switch n.name {
	case "to_string", "contains", "join":
		return true
	}
	return n.kind == int(jmespath.ASTComparator)
}

// checkJoin returns an error if join would repeat a separator too often.
func checkJoin(operands []any) error {
	separator, _ := operands[0].(string)
	list, _ := operands[1].([]any)
	if len(separator) > 0 && len(list) > maxText/len(separator) {
		return errText
	}
	return nil
}

func (n *node) lacksArgument() error {
	return fmt.Errorf("an argument of %s() is %w", n.name, ErrMissing)
}

// failure says why the engine could not apply a function.
func (n *node) failure(err error, operands []any) error {
	if holdsNumber(operands) {
		return fmt.Errorf("%s(): an argument is or holds a number with more digits than a double, which functions do not compute with; select it without a function", n.name)
	}
	return fmt.Errorf("%s(): %w", n.name, err)
}

// holdsNumber reports whether there is a number in value that is no double.
func holdsNumber(value any) bool {
	switch v := value.(type) {
	case canonicaljson.Number:
		return true
	case []any:
		return slices.ContainsFunc(v, holdsNumber)
	}
	return false
}

// search runs the engine. The engine's own errors quote the payload and are
// replaced; its panics on operands it did not expect become errors.
func search(engine *jmespath.JMESPath, operands []any) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, errors.New("an operand has a type that it does not take")
		}
	}()
	value, err = engine.Search(operands)
	if err != nil {
		return nil, engineError(err)
	}
	return value, nil
}

func engineError(err error) error {
	text := err.Error()
	if at := strings.LastIndex(text, "expected: []jmespath.jpType{"); at >= 0 {
		types := strings.TrimSuffix(text[at+len("expected: []jmespath.jpType{"):], "}")
		return fmt.Errorf("an argument is not of type %s", strings.ReplaceAll(types, `"`, ""))
	}
	return errors.New("it cannot work on the types of value in this payload")
}
