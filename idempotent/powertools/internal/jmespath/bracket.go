package jmespath

import "github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"

func (p *parser) filter(left node) node {
	condition := p.expression(0)
	p.match("]")
	each := node{kind: identity, depth: 1}
	if p.kind() != "[]" {
		each = p.projected(filtered[p.language])
	}
	return p.branch(node{kind: filterProjection}, left, each, condition)
}

// indexed reads an index or a slice. The first slice in a row of brackets makes a
// projection; one that stands behind an index does not.
func (p *parser) indexed(left node) node {
	isRow := left.kind == indexExpression
	if p.kind() == kindNumber && p.ahead(1) != ":" {
		at := p.advance().number
		p.match("]")
		return p.behind(indexExpression, left, p.leaf(node{kind: index, bounds: bounds{start: &at}}))
	}
	row := p.behind(indexExpression, left, p.leaf(node{kind: slice, bounds: p.bounds()}))
	if isRow {
		return row
	}
	return p.branch(node{kind: projection}, row, p.projected(power["*"]))
}

func (p *parser) bounds() bounds {
	var parts [3]*int
	for part := 0; p.kind() != "]"; {
		switch t := p.match(kindNumber, ":"); {
		case t.kind == kindNumber:
			parts[part] = &t.number
		case part == 2:
			p.at--
			p.fail()
		default:
			part++
		}
	}
	p.advance()
	return bounds{parts[0], parts[1], parts[2]}
}

func (p *parser) call(left node) node {
	switch {
	case left.kind != field && p.language == value.Python:
		p.fail()
	case left.kind != field:
		p.refuse("a call of what is not a name")
	}
	called := node{kind: call, name: left.name, function: functions[left.name]}
	if called.function == nil {
		p.refuse("the function %q is not one of JMESPath's or Powertools' own", left.name)
	}
	for p.kind() != ")" {
		called = p.branch(called, p.expression(0))
		if p.kind() == "," {
			p.advance()
		}
	}
	p.advance()
	return p.branch(called)
}

func (p *parser) list() node {
	l := node{kind: multiSelectList}
	for {
		l = p.branch(l, p.expression(0))
		if p.match("]", ",").kind == "]" {
			return l
		}
	}
}

// hash reads a multi-select hash, in which the commas may be left out.
func (p *parser) hash() node {
	h := node{kind: multiSelectHash}
	for {
		name := p.match(kindIdentifier, kindQuoted).text
		p.match(":")
		h = p.branch(h, p.branch(node{kind: member, name: name}, p.expression(0)))
		switch p.kind() {
		case ",":
			p.advance()
		case "}":
			p.advance()
			return h
		}
	}
}

// projected reads what a projection does to each of its elements.
func (p *parser) projected(binding int) node {
	switch kind := p.kind(); {
	case power[kind] < projectionStop:
		return node{kind: identity, depth: 1}
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
