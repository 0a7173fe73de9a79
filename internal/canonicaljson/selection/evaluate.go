package selection

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
	"github.com/jmespath/go-jmespath"
)

// evaluation is that of one alternative on one payload. It walks the syntax tree
// itself and leaves functions and operators to the engine, for only here it is
// known which multi-selects count: one that || passes over or a filter drops may
// lack a part, any other may not, whatever is made of it.
type evaluation struct {
	payload []byte
	number  numberReader
	results map[*call]any // of the calls evaluated so far
}

// value returns the value of n on another value. The error matches ErrMissing if
// that has to be made of something that is missing.
func (e *evaluation) value(n *node, on any) (any, error) {
	switch n.kind {
	case int(jmespath.ASTField):
		object, _ := on.(map[string]any)
		return object[n.name], nil
	case int(jmespath.ASTIdentity), int(jmespath.ASTCurrentNode):
		return on, nil
	case int(jmespath.ASTLiteral):
		return n.literal, nil
	case int(jmespath.ASTIndex):
		list, _ := on.([]any)
		at := n.number
		if at < 0 {
			at += len(list)
		}
		if at < 0 || at >= len(list) {
			return nil, nil
		}
		return list[at], nil
	case int(jmespath.ASTSlice):
		return n.slice(on)
	case int(jmespath.ASTSubexpression), int(jmespath.ASTIndexExpression), int(jmespath.ASTPipe):
		left, err := e.value(&n.children[0], on)
		if err != nil {
			return nil, err
		}
		return e.value(&n.children[1], left)
	case int(jmespath.ASTProjection), int(jmespath.ASTFilterProjection):
		return e.projection(n, on)
	case int(jmespath.ASTFlatten):
		return e.flattened(n, on)
	case int(jmespath.ASTMultiSelectList):
		return e.multiSelectList(n, on)
	case int(jmespath.ASTMultiSelectHash):
		return e.multiSelectHash(n, on)
	case int(jmespath.ASTOrExpression):
		left, err := e.value(&n.children[0], on)
		if isPassedOver(left, err) {
			return e.value(&n.children[1], on)
		}
		return left, err
	case int(jmespath.ASTAndExpression):
		left, err := e.value(&n.children[0], on)
		if err != nil || isFalse(left) {
			return left, err
		}
		return e.value(&n.children[1], on)
	case int(jmespath.ASTNotExpression):
		operand, err := e.value(&n.children[0], on)
		return isFalse(operand), err
	case int(jmespath.ASTComparator):
		operands, err := e.values(n.children, on)
		if err != nil {
			return nil, err
		}
		return n.apply(operands)
	case int(jmespath.ASTFunctionExpression):
		return e.function(n, on)
	}
	return nil, errors.New("an operator is not known") // the checker refuses them all
}

// isPassedOver reports whether || goes on to its next alternative.
func isPassedOver(value any, err error) bool {
	if err != nil {
		return errors.Is(err, ErrMissing)
	}
	return isFalse(value)
}

// result returns that of a call, which is evaluated when it is first needed.
func (e *evaluation) result(c *call) (any, error) {
	if result, known := e.results[c]; known {
		return result, nil
	}
	result, err := c.evaluate(e.payload, e.number)
	if err != nil {
		return nil, fmt.Errorf("%s(): %w", c.function, err)
	}
	if e.results == nil {
		e.results = make(map[*call]any)
	}
	e.results[c] = result
	return result, nil
}

func (e *evaluation) values(nodes []node, on any) ([]any, error) {
	values := make([]any, len(nodes))
	for i := range nodes {
		var err error
		if values[i], err = e.value(&nodes[i], on); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// each returns the values of n on all elements of a list.
func (e *evaluation) each(n *node, list []any) ([]any, error) {
	values := make([]any, len(list))
	for i, element := range list {
		var err error
		if values[i], err = e.value(n, element); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// projection evaluates the right side on the elements that the filter lets pass,
// and leaves out what is null.
func (e *evaluation) projection(n *node, on any) (any, error) {
	left, err := e.value(&n.children[0], on)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	projected := []any{}
	for _, element := range list {
		if n.kind == int(jmespath.ASTFilterProjection) {
			condition, err := e.value(&n.children[2], element)
			if err != nil {
				return nil, err
			}
			if isFalse(condition) {
				continue
			}
		}
		value, err := e.value(&n.children[1], element)
		if err != nil {
			return nil, err
		}
		if value != nil {
			projected = append(projected, value)
		}
	}
	return projected, nil
}

func (e *evaluation) flattened(n *node, on any) (any, error) {
	left, err := e.value(&n.children[0], on)
	list, ok := left.([]any)
	if err != nil || !ok {
		return nil, err
	}
	flat := []any{}
	for _, element := range list {
		if inner, ok := element.([]any); ok {
			flat = append(flat, inner...)
		} else {
			flat = append(flat, element)
		}
	}
	return flat, nil
}

func (e *evaluation) multiSelectList(n *node, on any) (any, error) {
	if on == nil {
		return nil, nil
	}
	list, err := e.values(n.children, on)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(list, isEmpty); at >= 0 && !n.lenient {
		return nil, fmt.Errorf("part %d of a multi-select list is %w", at+1, ErrMissing)
	}
	return list, nil
}

func (e *evaluation) multiSelectHash(n *node, on any) (any, error) {
	if on == nil {
		return nil, nil
	}
	object := make(map[string]any, len(n.children))
	for i := range n.children {
		pair := &n.children[i]
		value, err := e.value(&pair.children[0], on)
		if err != nil {
			return nil, err
		}
		if isEmpty(value) && !n.lenient {
			return nil, fmt.Errorf("the member %q of a multi-select hash is %w", pair.name, ErrMissing)
		}
		object[pair.name] = value
	}
	return object, nil
}

// slice returns a part of a list.
func (n *node) slice(on any) (any, error) {
	list, ok := on.([]any)
	if !ok {
		return nil, nil
	}
	wrapped := make([]any, len(list)) // the engine cannot slice without leaving out what is null
	for i, element := range list {
		wrapped[i] = []any{element}
	}
	value, err := search(n.engine, wrapped)
	if err != nil {
		return nil, err
	}
	part, _ := value.([]any)
	unwrapped := make([]any, len(part))
	for i, element := range part {
		unwrapped[i] = element.([]any)[0]
	}
	return unwrapped, nil
}

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
	if makesValueOfNull[n.name] && isEmpty(arguments[0]) && !n.lenient {
		return nil, fmt.Errorf("the argument of %s() is %w", n.name, ErrMissing)
	}
	return n.apply(arguments)
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
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s() got an argument that is not of type array", function.name)
	}
	return list, nil
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
func (n *node) apply(operands []any) (any, error) {
	value, err := search(n.engine, operands)
	if err != nil {
		return nil, n.failure(err, operands)
	}
	return value, nil
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

// prepare makes the tree of a checked expression ready for evaluation.
func (n *node) prepare() error {
	if n.call != nil {
		return nil
	}
	switch n.kind {
	case int(jmespath.ASTFilterProjection):
		n.children[2].onlyDecides()
	case int(jmespath.ASTAndExpression): // a multi-select on the left is never the value of the whole
		n.children[0].onlyDecides()
	case int(jmespath.ASTNotExpression), int(jmespath.ASTComparator):
		for i := range n.children {
			n.children[i].onlyDecides()
		}
	case int(jmespath.ASTFunctionExpression):
		if ranked[n.name] != "" {
			n.children[1].onlyDecides()
		}
	}
	if text := n.engineText(); text != "" {
		var err error
		if n.engine, err = jmespath.Compile(text); err != nil {
			return err
		}
	}
	for i := range n.children {
		if err := n.children[i].prepare(); err != nil {
			return err
		}
	}
	return nil
}

// onlyDecides marks an expression that chooses but becomes no part of what is
// selected: a condition, a compared operand, a sort key. It may hold what it likes.
func (n *node) onlyDecides() {
	if n.call != nil {
		return // its argument is a selection of its own
	}
	n.lenient = true
	for i := range n.children {
		n.children[i].onlyDecides()
	}
}

// ranked are the functions that order a list, as applied to pairs of the value to
// order by and the element.
var ranked = map[string]string{
	"sort_by": "map(&[1], sort_by(@, &[0]))",
	"max_by":  "max_by(@, &[0])[1]",
	"min_by":  "min_by(@, &[0])[1]",
}

// engineText is the expression that does to the list of the operands what n does
// to them, empty if that is not the engine's to do.
func (n *node) engineText() string {
	switch n.kind {
	case int(jmespath.ASTSlice):
		return "[" + n.name + "]"
	case int(jmespath.ASTComparator):
		return "[0] " + comparators[n.number] + " [1]"
	case int(jmespath.ASTFunctionExpression):
		if text := ranked[n.name]; text != "" {
			return text
		}
		operands := make([]string, len(n.children))
		for i := range operands {
			operands[i] = fmt.Sprintf("[%d]", i)
		}
		return n.name + "(" + strings.Join(operands, ", ") + ")"
	}
	return ""
}
