package selection

import (
	"fmt"
	"strings"

	"github.com/jmespath/go-jmespath"
)

// prepare makes the tree of a checked expression ready for evaluation.
func (n *node) prepare() {
	if n.call != nil {
		return // its argument is a selection of its own
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
		n.engine = jmespath.MustCompile(text)
	}
	for i := range n.children {
		n.children[i].prepare()
	}
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
		return "[0] " + comparators()[n.number] + " [1]"
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
