package dynamotest

import (
	"slices"
	"strings"
)

// clauses are the rules of what follows their keywords.
var clauses = map[string]func(p *parser, clause string) action{
	"SET":    (*parser).set,
	"REMOVE": (*parser).removal,
	"ADD":    (*parser).setOperation,
	"DELETE": (*parser).setOperation,
}

// update reads a whole UpdateExpression: each of its four clauses at most once, in any order.
func (p *parser) update() update {
	var actions update
	var seen []string
	for {
		clause := strings.ToUpper(p.peek().text)
		rule, known := clauses[clause]
		if !known {
			p.syntaxError()
		}
		if slices.Contains(seen, clause) {
			p.fail("The %q section can only be used once in an update expression;", clause)
		}
		seen = append(seen, clause)
		p.next()
		actions = append(actions, rule(p, clause))
		for p.accept(",") {
			actions = append(actions, rule(p, clause))
		}
		if p.peek().kind == tokenEnd {
			p.mustNotClash(actions.targets())
			return actions
		}
	}
}

func (p *parser) set(clause string) action {
	target := p.path()
	p.expect("=")
	return action{clause, target, p.arithmetic()}
}

func (p *parser) removal(clause string) action { return action{clause: clause, target: p.path()} }

// setOperation reads what follows ADD and DELETE: a path and a constant of a type the clause can work with.
func (p *parser) setOperation(clause string) action {
	target := p.path()
	if p.peek().kind != tokenValue {
		p.syntaxError()
	}
	operand := p.constant()
	if !operand.kind.isSet() && (clause == "DELETE" || operand.kind != kindNumber) {
		p.fail("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_ADD_OPERAND",
			clause, operand.kind.operandName())
	}
	return action{clause, target, operand}
}

// arithmetic reads one source, or two joined by + or -.
func (p *parser) arithmetic() source {
	left := p.source()
	switch {
	case p.accept("+"):
		right := p.source()
		p.requireKind("+", kindNumber, left, right)
		return sum{left, right}
	case p.accept("-"):
		right := p.source()
		p.requireKind("-", kindNumber, left, right)
		return difference{left, right}
	default:
		return left
	}
}

// setFunctions are the functions a SET action may use, with the number of their operands.
var setFunctions = map[string]int{"if_not_exists": 2, "list_append": 2}

func (p *parser) source() source {
	switch {
	case p.peek().kind == tokenValue:
		return p.constant()
	case p.accept("("):
		inner := p.arithmetic()
		p.expect(")")
		return inner
	case !p.atCall():
		return pathSource(p.path())
	}
	function := p.next().text
	count, known := setFunctions[function]
	if !known {
		p.fail("Invalid function name; function: %s", function)
	}
	operands := arguments(p, function, count, (*parser).source)
	if function == "list_append" {
		p.requireKind(function, kindList, operands...)
		return listAppend{operands[0], operands[1]}
	}
	at, isPath := operands[0].(pathSource)
	if !isPath {
		p.fail("Operator or function requires a document path; operator or function: %s", function)
	}
	return ifNotExists{path(at), operands[1]}
}

func (p *parser) requireKind(operator string, want kind, sources ...source) {
	for _, s := range sources {
		if v, isConstant := s.(constant); isConstant && v.kind != want {
			p.wrongType(operator, value(v))
		}
	}
}
