package selection

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jmespath/go-jmespath"
)

// maxOrigins bounds what an expression may build from one payload:
// [@, @] | [@, @] | … doubles at every pipe.
const maxOrigins = 1000

var errTooLarge = errors.New("it reads too many places of the payload, or builds too large a value")

// checker walks the syntax tree of one alternative. It follows where every value
// comes from and refuses what could not give a stable key.
type checker struct {
	root    *place
	calls   []*call
	ordered bool // the expression compares the size of numbers
}

// check walks the alternative and returns the origin of its result.
func (c *checker) check(tree *node) (origin, error) {
	result, err := c.walk(tree, origin{places: []*place{c.root}})
	if err != nil {
		return origin{}, err
	}
	result.visit(func(p *place) { p.selected = true })
	if !c.root.isRead() && len(c.calls) == 0 {
		return origin{}, errReadsNothing
	}
	return result, result.checkTelling()
}

// walk returns the origin of n's value when it is evaluated on in.
func (c *checker) walk(n *node, in origin) (origin, error) {
	result, err := c.follow(n, in)
	if err == nil && (c.root.isTooLarge() || result.size(maxOrigins+1) > maxOrigins) {
		return origin{}, errTooLarge
	}
	return result, err
}

func (c *checker) follow(n *node, in origin) (origin, error) {
	if n.looksIntoNot() {
		return origin{}, errors.New("!a.b means (!a).b, which is always null; write !(a.b)")
	}
	switch n.kind {
	case int(jmespath.ASTField):
		return in.field(n.name), nil
	case int(jmespath.ASTIdentity), int(jmespath.ASTCurrentNode):
		return in, nil
	case int(jmespath.ASTLiteral):
		return literal, nil
	case int(jmespath.ASTIndex):
		return in.index(n.number), nil
	case int(jmespath.ASTSubexpression), int(jmespath.ASTIndexExpression), int(jmespath.ASTPipe):
		left, err := c.walk(&n.children[0], in)
		if err != nil {
			return origin{}, err
		}
		return c.walk(&n.children[1], left)
	case int(jmespath.ASTSlice):
		if n.number == 0 {
			return origin{}, errors.New("the step of a slice is 0")
		}
		element := in.element()
		return origin{each: &element}, nil
	case int(jmespath.ASTProjection), int(jmespath.ASTFilterProjection):
		return c.followProjection(n, in)
	case int(jmespath.ASTFlatten):
		left, err := c.walk(&n.children[0], in)
		if err != nil {
			return origin{}, err
		}
		element := left.element()
		element = element.or(element.element())
		return origin{each: &element}, nil
	case int(jmespath.ASTMultiSelectList), int(jmespath.ASTMultiSelectHash):
		return c.followMultiSelect(n, in)
	case int(jmespath.ASTKeyValPair):
		return c.walk(&n.children[0], in)
	case int(jmespath.ASTOrExpression):
		left, err := c.inspect(&n.children[0], in)
		if err != nil {
			return origin{}, err
		}
		right, err := c.walk(&n.children[1], in)
		return left.or(right), err
	case int(jmespath.ASTAndExpression):
		if _, err := c.inspect(&n.children[0], in); err != nil {
			return origin{}, err
		}
		return c.walk(&n.children[1], in)
	case int(jmespath.ASTNotExpression):
		_, err := c.inspect(&n.children[0], in)
		return answer, err
	case int(jmespath.ASTComparator):
		c.ordered = c.ordered || n.comparesSize()
		if err := n.checkComparison(); err != nil {
			return origin{}, err
		}
		for i := range n.children {
			if _, err := c.inspect(&n.children[i], in); err != nil {
				return origin{}, err
			}
		}
		return answer, nil
	case int(jmespath.ASTFunctionExpression):
		return c.followFunction(n, in)
	case int(jmespath.ASTValueProjection):
		return origin{}, errors.New("the values of an object (*) have no order; name its members")
	case int(jmespath.ASTExpRef):
		return origin{}, errors.New("&expression can only be an argument of a function that takes one")
	}
	return origin{}, errors.New("syntax error: the parser cannot read a part of it")
}

// looksIntoNot reports whether n takes a member or an element of what ! gives.
func (n *node) looksIntoNot() bool {
	switch n.kind {
	case int(jmespath.ASTSubexpression), int(jmespath.ASTIndexExpression), int(jmespath.ASTProjection),
		int(jmespath.ASTFilterProjection), int(jmespath.ASTFlatten):
		return n.children[0].kind == int(jmespath.ASTNotExpression)
	}
	return false
}

// inspect walks an expression whose value the engine looks at.
func (c *checker) inspect(n *node, in origin) (origin, error) {
	result, err := c.walk(n, in)
	result.visit(func(p *place) { p.inspected = true })
	return result, err
}

func (c *checker) followProjection(n *node, in origin) (origin, error) {
	left, err := c.walk(&n.children[0], in)
	if err != nil {
		return origin{}, err
	}
	element := left.element()
	if n.kind == int(jmespath.ASTFilterProjection) {
		if _, err := c.inspect(&n.children[2], element); err != nil {
			return origin{}, err
		}
	}
	right, err := c.walk(&n.children[1], element)
	return origin{each: &right}, err
}

func (c *checker) followMultiSelect(n *node, in origin) (origin, error) {
	var list []origin
	members := make(map[string]origin)
	for i := range n.children {
		child := &n.children[i]
		part, err := c.walk(child, in)
		if err != nil {
			return origin{}, err
		}
		part.visit(func(p *place) { p.selected = true }) // to see whether it is missing, wherever it goes
		if _, twice := members[child.name]; twice && n.kind == int(jmespath.ASTMultiSelectHash) {
			return origin{}, fmt.Errorf("a multi-select hash names %q twice", child.name)
		}
		members[child.name] = part
		list = append(list, part)
	}
	if n.kind == int(jmespath.ASTMultiSelectHash) {
		return origin{objects: []map[string]origin{members}}, nil
	}
	return origin{lists: [][]origin{list}}, nil
}

// followCall compiles the call of a powertools_ function, which must stand where it
// is evaluated on the root. Equal calls are one.
func (c *checker) followCall(n *node, in origin) (origin, error) {
	if !in.is(c.root) {
		return origin{}, fmt.Errorf(`%s() cannot stand behind "." or "|" or inside a projection, filter or &expression, for it is evaluated once on the whole payload; `+
			"write the path into its argument, as in powertools_json(detail.body).id", n.name)
	}
	written := fmt.Sprintf("%#v", *n)
	same := slices.IndexFunc(c.calls, func(known *call) bool { return known.written == written })
	if same < 0 {
		argument, err := compile(n.children[0])
		if err != nil {
			return origin{}, fmt.Errorf("%s(): %w", n.name, err)
		}
		same = len(c.calls)
		c.calls = append(c.calls, &call{function: n.name, written: written, argument: argument, result: newTree()})
	}
	n.call = c.calls[same]
	return origin{places: []*place{n.call.result}}, nil
}
