package selection

import (
	"errors"
	"fmt"

	"github.com/jmespath/go-jmespath"
)

// maxOrigins bounds what an expression may build from one payload:
// [@, @] | [@, @] | … doubles at every pipe.
const maxOrigins = 1000

// checker walks the syntax tree of one alternative. It follows where every value
// comes from and refuses what could not give a stable key.
type checker struct {
	root    *place
	calls   map[string]*call // by placeholder
	ordered bool             // the expression compares the size of numbers
	sorted  []*place         // arrays of the payload that sort_by reorders
	indexed bool             // places of single elements are kept apart
}

// check walks the alternative and returns the origin of its result.
func (c *checker) check(tree node) (origin, error) {
	c.indexed = !tree.calls("sort_by") // else one array must be one place, see checkSorted
	result, err := c.walk(tree, origin{places: []*place{c.root}})
	if err != nil {
		return origin{}, err
	}
	result.visit(func(p *place) { p.selected = true; p.uses++ })
	if err := c.checkSorted(); err != nil {
		return origin{}, err
	}
	if !c.root.isRead() && len(c.calls) == 0 {
		return origin{}, errors.New("it reads nothing of the payload, so that all events would be one request")
	}
	if root := c.root; len(c.calls) > 0 && (root.uses > 0 || root.elements != nil || root.indexes != nil) {
		return origin{}, errors.New("beside a powertools_ function the payload can only be read by member names; name the members instead of using @, [ ] or *")
	}
	return result, nil
}

// walk returns the origin of n's value when it is evaluated on in.
func (c *checker) walk(n node, in origin) (origin, error) {
	result, err := c.follow(n, in)
	if err == nil && result.size(maxOrigins+1) > maxOrigins {
		return origin{}, errors.New("it builds too large a value")
	}
	return result, err
}

func (c *checker) follow(n node, in origin) (origin, error) {
	switch n.kind {
	case int(jmespath.ASTField):
		if call, ok := c.calls[n.name]; ok {
			return c.place(call, in)
		}
		return in.field(n.name), nil
	case int(jmespath.ASTIdentity), int(jmespath.ASTCurrentNode):
		return in, nil
	case int(jmespath.ASTLiteral):
		return somethingElse, nil
	case int(jmespath.ASTIndex):
		if !c.indexed {
			return in.element(), nil
		}
		return in.index(n.number), nil
	case int(jmespath.ASTSubexpression), int(jmespath.ASTIndexExpression), int(jmespath.ASTPipe):
		left, err := c.walk(n.children[0], in)
		if err != nil {
			return origin{}, err
		}
		return c.walk(n.children[1], left)
	case int(jmespath.ASTSlice):
		if n.number == 0 {
			return origin{}, errors.New("the step of a slice is 0")
		}
		element, err := projected(in)
		return origin{each: &element}, err
	case int(jmespath.ASTProjection), int(jmespath.ASTFilterProjection):
		return c.followProjection(n, in)
	case int(jmespath.ASTFlatten):
		left, err := c.walk(n.children[0], in)
		if err != nil {
			return origin{}, err
		}
		element, err := projected(left)
		if err != nil {
			return origin{}, err
		}
		inner, err := projected(element)
		element = element.or(inner)
		return origin{each: &element}, err
	case int(jmespath.ASTMultiSelectList), int(jmespath.ASTMultiSelectHash):
		return c.followMultiSelect(n, in)
	case int(jmespath.ASTKeyValPair):
		return c.walk(n.children[0], in)
	case int(jmespath.ASTOrExpression), int(jmespath.ASTAndExpression):
		left, err := c.inspect(n.children[0], in)
		if err != nil {
			return origin{}, err
		}
		if n.kind == int(jmespath.ASTAndExpression) { // it is left only if that is false, which no multi-select is
			left = origin{places: left.places, other: true}
		}
		right, err := c.walk(n.children[1], in)
		return left.or(right), err
	case int(jmespath.ASTNotExpression):
		_, err := c.inspect(n.children[0], in)
		return somethingElse, err
	case int(jmespath.ASTComparator):
		c.ordered = c.ordered || orderings[n.number]
		for _, operand := range n.children {
			if _, err := c.inspect(operand, in); err != nil {
				return origin{}, err
			}
		}
		return somethingElse, nil
	case int(jmespath.ASTFunctionExpression):
		return c.followFunction(n, in)
	case int(jmespath.ASTValueProjection):
		return origin{}, errors.New("the values of an object (*) have no order; name its members")
	case int(jmespath.ASTExpRef):
		return origin{}, errors.New("&expression can only be an argument of a function that takes one")
	}
	return origin{}, errors.New("syntax error: the parser cannot read a part of it")
}

// inspect walks an expression whose value the engine looks at. If that is a
// multi-select, its parts may be gone in what is made of it: join('-', [a, b]).
func (c *checker) inspect(n node, in origin) (origin, error) {
	result, err := c.walk(n, in)
	result.requireParts()
	result.visit(func(p *place) { p.inspected = true; p.uses++ })
	return result, err
}

// projected returns the origin of the elements over which a projection runs. A
// projection leaves out what is null: over a multi-select list it would hide that
// a part is missing.
func projected(list origin) (origin, error) {
	if list.lists != nil {
		return origin{}, errors.New("a projection over a multi-select list leaves out its missing parts; select the parts without it")
	}
	return list.element(), nil
}

func (c *checker) followProjection(n node, in origin) (origin, error) {
	left, err := c.walk(n.children[0], in)
	if err != nil {
		return origin{}, err
	}
	element, err := projected(left)
	if err != nil {
		return origin{}, err
	}
	if n.kind == int(jmespath.ASTFilterProjection) {
		if _, err := c.inspect(n.children[2], element); err != nil {
			return origin{}, err
		}
	}
	right, err := c.walk(n.children[1], element)
	return origin{each: &right}, err
}

func (c *checker) followMultiSelect(n node, in origin) (origin, error) {
	var list []origin
	members := make(map[string]origin)
	for _, child := range n.children {
		part, err := c.walk(child, in)
		if err != nil {
			return origin{}, err
		}
		part.part = true
		if _, twice := members[child.name]; twice && n.kind == int(jmespath.ASTMultiSelectHash) {
			return origin{}, fmt.Errorf("a multi-select hash names %q twice", child.name)
		}
		members[child.name] = part
		list = append(list, part)
	}
	if n.kind == int(jmespath.ASTMultiSelectHash) {
		return origin{members: members}, nil
	}
	return origin{lists: [][]origin{list}}, nil
}

// place puts the result of a call where its placeholder stands, which must be
// where the engine evaluates it on the root: only there is it known.
func (c *checker) place(call *call, in origin) (origin, error) {
	if !in.is(c.root) {
		return origin{}, fmt.Errorf(`%s cannot stand behind "." or "|" or inside a projection, filter or &expression, for it is evaluated once on the whole payload; `+
			"write the path into its argument, as in powertools_json(detail.body).id", call.text)
	}
	return origin{places: []*place{call.result}}, nil
}

// checkSorted makes sure that nobody else sees the arrays that sort_by reorders
// in place.
func (c *checker) checkSorted() error {
	for _, p := range c.sorted {
		alone := p.uses == 1 && !p.hasChildren()
		for above := p.parent; above != nil && alone; above = above.parent {
			alone = above.uses == 0
		}
		if !alone {
			return errSortsShared
		}
	}
	return nil
}

var errSortsShared = errors.New("sort_by reorders the array it is given, which another part of the expression would see; let it sort a new list, as in sort_by(items[*], &price)")
