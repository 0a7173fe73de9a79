package dynamotest

import (
	"slices"
	"strings"
)

// condition reads a whole condition; OR binds loosest, then AND, then NOT.
func (p *parser) condition() condition {
	left := p.conjunction()
	for p.acceptKeyword("OR") {
		left = disjunction{left, p.conjunction()}
	}
	return left
}

func (p *parser) conjunction() condition {
	left := p.negation()
	for p.acceptKeyword("AND") {
		left = conjunction{left, p.negation()}
	}
	return left
}

func (p *parser) negation() condition {
	if p.acceptKeyword("NOT") {
		return negation{p.negation()}
	}
	if p.accept("(") {
		inner := p.condition()
		p.expect(")")
		if _, doubled := inner.(group); doubled {
			p.fail("The expression has redundant parentheses;")
		}
		return group{inner}
	}
	if p.atCall() && p.peek().text != "size" {
		return p.test()
	}
	return p.comparison()
}

// tests are the functions that are conditions by themselves, with the number of their operands.
var tests = map[string]int{
	"attribute_exists":     1,
	"attribute_not_exists": 1,
	"attribute_type":       2,
	"begins_with":          2,
	"contains":             2,
}

func (p *parser) test() condition {
	function := p.next().text
	count, known := tests[function]
	if !known {
		p.fail("Invalid function name; function: %s", function)
	}
	operands := arguments(p, function, count, (*parser).operand)
	if isComparator(p.peek()) {
		p.misused(function)
	}
	switch function {
	case "attribute_exists":
		return existence{p.requirePath(function, operands[0])}
	case "attribute_not_exists":
		return negation{existence{p.requirePath(function, operands[0])}}
	case "attribute_type":
		p.requirePath(function, operands[0])
		p.requireTypeName(operands[1])
		return typeTest{operands[0], operands[1]}
	case "begins_with":
		for _, o := range operands {
			if v, isConstant := o.(constant); isConstant && v.kind != kindString && v.kind != kindBinary {
				p.wrongType(function, value(v))
			}
		}
		p.requireDistinct(function, operands)
		return prefixTest{operands[0], operands[1]}
	default:
		p.requireDistinct(function, operands)
		return containment{operands[0], operands[1]}
	}
}

func (p *parser) misused(function string) {
	p.fail("The function is not allowed to be used this way in an expression; function: %s", function)
}

func isComparator(t token) bool {
	return slices.ContainsFunc([]string{"=", "<>", "<", "<=", ">", ">="}, t.is)
}

// comparison reads operand comparator operand, or BETWEEN, or IN.
func (p *parser) comparison() condition {
	left := p.operand()
	switch t := p.peek(); {
	case isComparator(t):
		p.next()
		right := p.operand()
		if t.text != "=" && t.text != "<>" {
			p.requireOrdered(t.text, left, right)
		}
		p.requireDistinct(t.text, []operand{left, right})
		return comparison{t.text, left, right}
	case p.acceptKeyword("BETWEEN"):
		low := p.operand()
		if !p.acceptKeyword("AND") {
			p.syntaxError()
		}
		high := p.operand()
		p.requireOrdered("BETWEEN", left, low, high)
		p.requireAscending(low, high)
		return between{left, low, high}
	case p.acceptKeyword("IN"):
		return p.membership(left)
	}
	if _, isSize := left.(sizeOf); isSize {
		p.misused("size")
	}
	p.syntaxError()
	return nil
}

const maxCandidates = 100

func (p *parser) membership(subject operand) condition {
	p.expect("(")
	candidates := []operand{p.operand()}
	for p.accept(",") {
		candidates = append(candidates, p.operand())
	}
	p.expect(")")
	if len(candidates) > maxCandidates {
		p.fail("The IN operator is provided with too many operands; number of operands: %d", len(candidates))
	}
	return membership{subject, candidates}
}

// operand reads a path, a :value or size(…).
func (p *parser) operand() operand {
	if p.peek().kind == tokenValue {
		return p.constant()
	}
	if !p.atCall() {
		return p.path()
	}
	function := p.next().text
	if function != "size" {
		if tests[function] == 0 {
			p.fail("Invalid function name; function: %s", function)
		}
		p.misused(function)
	}
	switch of := arguments(p, function, 1, (*parser).operand)[0].(type) {
	case sizeOf:
		p.wrongType(function, value{kind: kindNumber})
		return nil
	case constant:
		if !of.kind.hasSize() {
			p.wrongType(function, value(of))
		}
		return sizeOf{of}
	default:
		return sizeOf{of}
	}
}

func (p *parser) requirePath(function string, o operand) path {
	at, isPath := o.(path)
	if !isPath {
		p.fail("Operator or function requires a document path; operator or function: %s", function)
	}
	return at
}

func (p *parser) requireTypeName(o operand) {
	v, isConstant := o.(constant)
	switch {
	case !isConstant:
		p.fail("Incorrect operand type for operator or function; operator or function: attribute_type, operand type: {NS,SS,L,BS,N,M,B,BOOL,NULL,S}")
	case v.kind != kindString:
		p.wrongType("attribute_type", value(v))
	case !isTypeName(v.text):
		p.fail("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", v.text)
	}
}

func isTypeName(name string) bool {
	return slices.Contains(strings.Fields("B NULL SS BOOL L BS N NS S M"), name)
}

func (p *parser) requireOrdered(operator string, operands ...operand) {
	for _, o := range operands {
		if v, isConstant := o.(constant); isConstant && !v.kind.isOrdered() {
			p.wrongType(operator, value(v))
		}
	}
}

func (p *parser) requireAscending(low, high operand) {
	a, lowConstant := low.(constant)
	b, highConstant := high.(constant)
	if !lowConstant || !highConstant {
		return
	}
	bounds := "lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s"
	if a.kind != b.kind {
		p.fail("The BETWEEN operator requires same data type for lower and upper bounds; "+bounds, value(a), value(b))
	}
	if value(a).compare(value(b)) > 0 {
		p.fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "+bounds, value(a), value(b))
	}
}

// requireDistinct refuses an operator applied to one and the same path twice.
func (p *parser) requireDistinct(operator string, operands []operand) {
	first, isPath := operands[0].(path)
	if !isPath {
		return
	}
	for _, o := range operands[1:] {
		if other, isPath := o.(path); isPath && slices.Equal(first, other) {
			p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", operator, first)
		}
	}
}
