package jmespath

import (
	"slices"
	"strconv"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// node is one of the types below.
type node any

type (
	identity   struct{}
	field      struct{ name string }
	literal    struct{ value value.Value }
	chain      struct{ steps []node } // of subexpressions, indices and pipes
	index      struct{ at int }
	slice      struct{ start, stop, step *int }
	flatten    struct{ of node }
	projection struct{ of, each node }
	values     struct{ of, each node }
	filter     struct{ of, each, condition node }
	multiList  struct{ items []node }
	multiHash  struct{ members []pair }
	or         struct{ left, right node }
	and        struct{ left, right node }
	not        struct{ of node }
	comparison struct {
		sign        string
		left, right node
	}
	reference struct{ to node }
	call      struct {
		function string
		args     []node
	}
	pair struct {
		name string
		node
	}
)

// power is how strongly a token binds what stands left of it.
var power = map[string]int{
	"|": 1, "||": 2, "&&": 3,
	"==": 5, "!=": 5, "<": 5, ">": 5, "<=": 5, ">=": 5,
	"[]": 9, "*": 20, "[?": 21, ".": 40, "!": 45, "{": 50, "[": 55, "(": 60,
}

// projectionStop is the power below which a token ends a projection.
const projectionStop = 10

type parser struct {
	tokens []token
	at     int
	calls  []string // functions that are called
}

func (p *parser) kind() string { return p.tokens[p.at].kind }

func (p *parser) ahead() string { return p.tokens[min(p.at+1, len(p.tokens)-1)].kind }

func (p *parser) advance() token {
	t := p.tokens[p.at]
	if p.at < len(p.tokens)-1 {
		p.at++
	}
	return t
}

func (p *parser) fail() { panic(&SyntaxError{p.tokens[p.at].at, "unexpected " + p.kind()}) }

func (p *parser) match(kinds ...string) token {
	if !slices.Contains(kinds, p.kind()) {
		p.fail()
	}
	return p.advance()
}

// parse reads a whole expression.
func (p *parser) parse() (n node, err error) {
	defer func() {
		if r := recover(); r != nil {
			syntax, ok := r.(*SyntaxError)
			if !ok {
				panic(r)
			}
			err = syntax
		}
	}()
	n = p.expression(0)
	p.match(kindEnd)
	return n, nil
}

func (p *parser) expression(binding int) node {
	left := p.prefix()
	for binding < power[p.kind()] {
		left = p.infix(left)
	}
	return left
}

func (p *parser) prefix() node {
	switch kind := p.kind(); kind {
	case kindLiteral:
		return literal{p.advance().value}
	case kindIdentifier:
		return field{p.advance().text}
	case kindQuoted:
		name := p.advance().text
		if p.kind() == "(" {
			p.fail()
		}
		return field{name}
	case "@":
		p.advance()
		return identity{}
	case "*":
		p.advance()
		if p.kind() == "]" {
			return values{identity{}, identity{}}
		}
		return values{identity{}, p.projected(power["*"])}
	case "[]", "[?":
		return p.infix(identity{})
	case "[":
		if next := p.ahead(); next == kindNumber || next == ":" || next == "*" && p.closes() {
			return p.infix(identity{})
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
		return not{p.expression(power["!"])}
	case "&":
		p.advance()
		return reference{p.expression(0)}
	}
	p.fail()
	return nil
}

// closes tells whether what stands there is [*].
func (p *parser) closes() bool { return p.at+2 < len(p.tokens) && p.tokens[p.at+2].kind == "]" }

func (p *parser) infix(left node) node {
	switch sign := p.advance().kind; sign {
	case ".":
		if p.kind() == "*" {
			p.advance()
			return values{left, p.projected(power["."])}
		}
		return chain{[]node{left, p.member(power["."])}}
	case "|":
		return chain{[]node{left, p.expression(power["|"])}}
	case "||":
		return or{left, p.expression(power["||"])}
	case "&&":
		return and{left, p.expression(power["&&"])}
	case "==", "!=", "<", ">", "<=", ">=":
		return comparison{sign, left, p.expression(power[sign])}
	case "[]":
		return projection{flatten{left}, p.projected(power["[]"])}
	case "[?":
		condition := p.expression(0)
		p.match("]")
		if p.kind() == "[]" {
			return filter{left, identity{}, condition}
		}
		return filter{left, p.projected(power["[]"]), condition}
	case "[":
		if kind := p.kind(); kind == kindNumber || kind == ":" {
			return p.indexed(left)
		}
		p.match("*")
		p.match("]")
		return projection{left, p.projected(power["*"])}
	case "(":
		return p.call(left)
	}
	p.at--
	p.fail()
	return nil
}

func (p *parser) call(left node) node {
	name, ok := left.(field)
	if !ok {
		p.fail()
	}
	p.calls = append(p.calls, name.name)
	c := call{function: name.name}
	for p.kind() != ")" {
		c.args = append(c.args, p.expression(0))
		if p.kind() == "," {
			p.advance()
		}
	}
	p.advance()
	return c
}

func (p *parser) indexed(left node) node {
	if p.kind() == kindNumber && p.ahead() == "]" {
		at, _ := strconv.Atoi(p.advance().text)
		p.advance()
		return chain{[]node{left, index{at}}}
	}
	var parts [3]*int
	for part := 0; p.kind() != "]"; {
		switch t := p.match(kindNumber, ":"); {
		case t.kind == kindNumber:
			n, _ := strconv.Atoi(t.text)
			parts[part] = &n
		case part == 2:
			p.at--
			p.fail()
		default:
			part++
		}
	}
	if parts[2] != nil && *parts[2] == 0 {
		p.fail()
	}
	p.advance()
	return projection{chain{[]node{left, slice{parts[0], parts[1], parts[2]}}}, p.projected(power["*"])}
}

func (p *parser) list() node {
	var l multiList
	for {
		l.items = append(l.items, p.expression(0))
		if p.match("]", ",").kind == "]" {
			return l
		}
	}
}

func (p *parser) hash() node {
	var h multiHash
	for {
		name := p.match(kindIdentifier, kindQuoted).text
		p.match(":")
		h.members = append(h.members, pair{name, p.expression(0)})
		if p.match("}", ",").kind == "}" {
			return h
		}
	}
}

// projected reads what a projection does to each of its elements.
func (p *parser) projected(binding int) node {
	switch kind := p.kind(); {
	case power[kind] < projectionStop:
		return identity{}
	case kind == "[", kind == "[?":
		return p.expression(binding)
	default:
		p.match(".")
		return p.member(binding)
	}
}

// member reads what may stand behind a dot.
func (p *parser) member(binding int) node {
	switch p.kind() {
	case kindIdentifier, kindQuoted, "*":
		return p.expression(binding)
	case "[":
		p.advance()
		return p.list()
	}
	p.match("{")
	return p.hash()
}
