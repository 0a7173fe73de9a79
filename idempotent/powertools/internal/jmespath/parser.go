package jmespath

import (
	"slices"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// power is how strongly a token binds what stands left of it.
var power = map[string]int{
	"|": 1, "||": 2, "&&": 3,
	"==": 5, "!=": 5, "<": 5, ">": 5, "<=": 5, ">=": 5,
	"[]": 9, "*": 20, "[?": 21, ".": 40, "!": 45, "{": 50, "[": 55, "(": 60,
}

// filtered is how strongly what stands right of a filter binds: the one thing in
// which the two grammars differ.
var filtered = map[value.Language]int{value.Python: power["[?"], value.JavaScript: power["[]"]}

// projectionStop is the power below which a token ends a projection.
const projectionStop = 10

// parser is a top-down operator precedence parser, as both implementations have it,
// down to what they accept besides the grammar.
type parser struct {
	tokens   []token
	at       int
	language value.Language
	nesting  int // of expressions being parsed
}

func (p *parser) kind() string { return p.tokens[p.at].kind }

func (p *parser) ahead(n int) string { return p.tokens[min(p.at+n, len(p.tokens)-1)].kind }

func (p *parser) advance() token {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

// refusal carries an error through the recursion; parse catches it.
type refusal struct{ error }

func (p *parser) fail() { panic(refusal{&SyntaxError{p.tokens[p.at].at, "unexpected " + p.kind()}}) }

func (p *parser) refuse(format string, args ...any) {
	panic(refusal{value.Inexact(format, args...)})
}

func (p *parser) match(kinds ...string) token {
	if !slices.Contains(kinds, p.kind()) {
		p.fail()
	}
	return p.advance()
}

// parse reads a whole expression.
func (p *parser) parse() (n node, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case refusal:
			err = r.error
		default:
			panic(r)
		}
	}()
	n = p.expression(0)
	p.match(kindEnd)
	return n, nil
}

// branch returns a node of the tree with more children.
func (p *parser) branch(n node, children ...node) node {
	n.children = append(n.children, children...)
	n.depth = max(n.depth, 1)
	for _, child := range children {
		n.depth = max(n.depth, child.depth+1)
	}
	if n.depth > maxDepth {
		p.refuse("it is nested deeper than %d levels", maxDepth)
	}
	return n
}

// behind appends to a node of the kind, or makes one of both.
func (p *parser) behind(k kind, left, right node) node {
	if left.kind == k {
		return p.branch(left, right)
	}
	return p.branch(node{kind: k}, left, right)
}

func (p *parser) leaf(n node) node { return p.branch(n) }

func (p *parser) expression(binding int) node {
	if p.nesting++; p.nesting > maxDepth {
		p.refuse("it is nested deeper than %d levels", maxDepth)
	}
	left := p.prefix()
	for binding < power[p.kind()] {
		left = p.infix(left)
	}
	p.nesting--
	return left
}

func (p *parser) prefix() node {
	itself := node{kind: identity, depth: 1}
	switch p.kind() {
	case kindLiteral:
		return p.leaf(node{kind: literal, value: p.advance().value})
	case kindIdentifier:
		return p.leaf(node{kind: field, name: p.advance().text})
	case kindQuoted:
		name := p.advance().text
		if p.kind() == "(" {
			p.fail()
		}
		return p.leaf(node{kind: field, name: name})
	case "@":
		p.advance()
		return itself
	case "*":
		p.advance()
		if p.kind() == "]" {
			return p.branch(node{kind: valueProjection}, itself, itself)
		}
		return p.branch(node{kind: valueProjection}, itself, p.projected(power["*"]))
	case "[]", "[?":
		return p.infix(itself)
	case "[":
		if next := p.ahead(1); next == kindNumber || next == ":" || next == "*" && p.ahead(2) == "]" {
			return p.infix(itself)
		}
		p.advance()
		return p.list()
	case "{":
		p.advance()
		return p.hash()
	case "(":
		p.advance()
		inner := p.expression(0)
		p.match(")")
		return inner
	case "!":
		p.advance()
		return p.branch(node{kind: not}, p.expression(power["!"]))
	case "&":
		p.advance()
		return p.branch(node{kind: reference}, p.expression(0))
	}
	p.fail()
	return node{}
}

func (p *parser) infix(left node) node {
	switch sign := p.advance().kind; sign {
	case ".":
		if p.kind() == "*" {
			p.advance()
			return p.branch(node{kind: valueProjection}, left, p.projected(power["."]))
		}
		return p.behind(subexpression, left, p.member(power["."]))
	case "|":
		return p.branch(node{kind: pipe}, left, p.expression(power["|"]))
	case "||":
		return p.branch(node{kind: or}, left, p.expression(power["||"]))
	case "&&":
		return p.branch(node{kind: and}, left, p.expression(power["&&"]))
	case "==", "!=", "<", ">", "<=", ">=":
		return p.branch(node{kind: comparison, name: sign}, left, p.expression(power[sign]))
	case "[]":
		flat := p.branch(node{kind: flatten}, left)
		return p.branch(node{kind: projection}, flat, p.projected(power["[]"]))
	case "[?":
		return p.filter(left)
	case "[":
		if kind := p.kind(); kind == kindNumber || kind == ":" {
			return p.indexed(left)
		}
		p.match("*")
		p.match("]")
		return p.branch(node{kind: projection}, left, p.projected(power["*"]))
	case "(":
		return p.call(left)
	}
	p.at--
	p.fail()
	return node{}
}
