package dynamotest

import "strconv"

// parser reads one expression. Its methods panic with parseFailure; parse turns that into an error.
type parser struct {
	*placeholders
	parameter string
	text      string
	tokens    []token
	at        int
	mentions  []string // top-level attributes of the paths read so far
}

type parseFailure struct{ err *apiError }

// parse reads the whole of an expression by the given rule; the zero T for an absent expression.
func parse[T any](p *placeholders, x expressionParameter, rule func(*parser) T) (result T, err error) {
	if x.text == nil {
		return result, nil
	}
	reader := &parser{placeholders: p, parameter: x.name, text: *x.text}
	defer func() {
		if recovered := recover(); recovered != nil {
			failed, ours := recovered.(parseFailure)
			if !ours {
				panic(recovered)
			}
			err = failed.err
		}
	}()
	if *x.text == "" {
		reader.fail("The expression can not be empty;")
	}
	if len(*x.text) > maxExpressionSize {
		reader.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(*x.text))
	}
	reader.tokens = tokenize(*x.text)
	result = rule(reader)
	if reader.peek().kind != tokenEnd {
		reader.syntaxError()
	}
	return result, nil
}

func (p *parser) fail(format string, args ...any) {
	p.refuse("Invalid "+p.parameter+": "+format, args...)
}

// refuse fails with a complaint that does not name the parameter first.
func (p *parser) refuse(format string, args ...any) {
	panic(parseFailure{invalid(format, args...)})
}

// syntaxError fails at the current token, quoting its surroundings as DynamoDB does.
func (p *parser) syntaxError() {
	first, last := max(p.at-1, 0), min(p.at+1, len(p.tokens)-1)
	near := p.text[p.tokens[first].start:p.tokens[last].end]
	p.fail("Syntax error; token: \"%s\", near: \"%s\"", p.peek().text, near)
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// accept consumes the symbol if it comes next.
func (p *parser) accept(symbol string) bool {
	if !p.peek().is(symbol) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(symbol string) {
	if !p.accept(symbol) {
		p.syntaxError()
	}
}

// acceptKeyword consumes the keyword if it comes next.
func (p *parser) acceptKeyword(keyword string) bool {
	if !p.peek().isKeyword(keyword) {
		return false
	}
	p.at++
	return true
}

// atCall reports whether a function call comes next.
func (p *parser) atCall() bool {
	return p.peek().kind == tokenWord && p.tokens[p.at+1].is("(")
}

// path reads a document path.
func (p *parser) path() path {
	steps := path{p.name()}
	p.mentions = append(p.mentions, steps[0].name)
	for {
		switch {
		case p.accept("."):
			steps = append(steps, p.name())
		case p.accept("["):
			steps = append(steps, p.index())
			p.expect("]")
		default:
			if len(steps) > maxNesting {
				p.fail("The document path has too many nesting elements; nesting levels: %d", len(steps))
			}
			return steps
		}
	}
}

func (p *parser) name() step {
	t := p.peek()
	switch t.kind {
	case tokenName:
		name, defined := p.names[t.text]
		if !defined {
			p.fail("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
		}
		p.usedNames[t.text] = true
		p.next()
		return nameStep(name)
	case tokenWord:
		if isReserved(t.text) {
			p.fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.next()
		return nameStep(t.text)
	default:
		p.syntaxError()
		return step{}
	}
}

func (p *parser) index() step {
	t := p.peek()
	if t.kind != tokenNumber {
		p.syntaxError()
	}
	index, err := strconv.ParseInt(t.text, 10, 32)
	if err != nil {
		p.fail("List index is not within the allowable range; index: [%s]", t.text)
	}
	p.next()
	return step{index: int(index)}
}

// constant reads a :value placeholder.
func (p *parser) constant() constant {
	t := p.next()
	v, defined := p.values[t.text]
	if !defined {
		p.fail("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	p.usedValues[t.text] = true
	return constant(v)
}

// arguments reads a function's parenthesised operands with the given rule and checks their number.
func arguments[T any](p *parser, function string, count int, rule func(*parser) T) []T {
	p.expect("(")
	operands := []T{rule(p)}
	for p.accept(",") {
		operands = append(operands, rule(p))
	}
	p.expect(")")
	if len(operands) != count {
		p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", function, len(operands))
	}
	return operands
}

// wrongType fails because a constant's type does not fit the operator or function it is given to.
func (p *parser) wrongType(operator string, v value) {
	p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, v.kind)
}
