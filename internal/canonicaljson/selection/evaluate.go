package selection

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jmespath/go-jmespath"
)

// evaluation is that of one alternative on one payload. It walks the syntax tree
// itself and leaves functions and operators to the engine, for only here it is
// known which multi-selects count: one that || passes over or a filter drops may
// lack a part, any other may not, whatever is made of it.
type evaluation struct {
	payload []byte
	number  numberReader
	memory  *memory
	results map[*call]any // of the calls evaluated so far
}

// value returns the value of n on another value. The error matches ErrMissing if
// that has to be made of something that is missing.
func (e *evaluation) value(n *node, on any) (any, error) {
	switch n.kind {
	case int(jmespath.ASTField):
		return member(on, n.name), nil
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
		return e.slice(n, on)
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
		if err != nil || isFalse(left) && n.lenient {
			return left, err
		}
		if isFalse(left) {
			return nil, nil // a condition that does not hold selects nothing: false would be the same for all
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
		return e.apply(n, operands)
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
	result, err := c.evaluate(e.payload, e.number, e.memory)
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
	if err := e.memory.takeList(len(nodes)); err != nil {
		return nil, err
	}
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
	if err := e.memory.takeList(len(list)); err != nil {
		return nil, err
	}
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
	if err := e.memory.takeList(len(list)); err != nil {
		return nil, err
	}
	projected := make([]any, 0, len(list))
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
	length := len(list)
	for _, element := range list {
		if inner, ok := element.([]any); ok {
			length += len(inner) - 1
		}
	}
	if err := e.memory.takeList(length); err != nil {
		return nil, err
	}
	flat := make([]any, 0, length)
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
	if err := e.memory.take(sizeOfObject + len(n.children)*sizeOfMember); err != nil {
		return nil, err
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
func (e *evaluation) slice(n *node, on any) (any, error) {
	list, ok := on.([]any)
	if !ok {
		return nil, nil
	}
	if err := e.memory.takeList(4 * len(list)); err != nil {
		return nil, err
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
