package selection

import (
	"fmt"

	"github.com/jmespath/go-jmespath"
)

// types is a set of JMESPath's types.
type types int

const (
	isNull types = 1 << iota
	isBoolean
	isNumber
	isString
	isArray
	isObject
	isAnything = isNull | isBoolean | isNumber | isString | isArray | isObject
)

// types returns those that the value of n can have, whatever the payload is.
func (n *node) types() types {
	switch n.kind {
	case int(jmespath.ASTLiteral):
		return typeOf(n.literal)
	case int(jmespath.ASTNotExpression):
		return isBoolean
	case int(jmespath.ASTComparator):
		if n.comparesSize() {
			return isBoolean | isNull
		}
		return isBoolean
	case int(jmespath.ASTMultiSelectList), int(jmespath.ASTSlice), int(jmespath.ASTProjection),
		int(jmespath.ASTFilterProjection), int(jmespath.ASTFlatten):
		return isArray | isNull
	case int(jmespath.ASTMultiSelectHash):
		return isObject | isNull
	case int(jmespath.ASTOrExpression), int(jmespath.ASTAndExpression):
		return n.children[0].types() | n.children[1].types() | isNull
	case int(jmespath.ASTSubexpression), int(jmespath.ASTIndexExpression), int(jmespath.ASTPipe):
		return n.children[1].types() | isNull
	case int(jmespath.ASTFunctionExpression):
		return functions[n.name].types | isNull
	}
	return isAnything
}

func typeOf(literal any) types {
	switch literal.(type) {
	case bool:
		return isBoolean
	case float64:
		return isNumber
	case string:
		return isString
	case []any:
		return isArray
	case map[string]any:
		return isObject
	}
	return isNull
}

// checkComparison refuses comparisons that have one answer for all payloads.
func (n *node) checkComparison() error {
	left, right := n.children[0].types(), n.children[1].types()
	operator := comparators()[n.number]
	switch {
	case n.comparesSize() && (left&isNumber == 0 || right&isNumber == 0):
		return fmt.Errorf("%s compares numbers, and one side of it never is one (a number is written in backquotes: price %s `5`)", operator, operator)
	case left&right == 0:
		return fmt.Errorf("the sides of %s never have one type, so that it has the same answer for all events", operator)
	}
	return nil
}
