package dynamotest

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// expressionAttributes are the two placeholder parameters every request with expressions has.
type expressionAttributes struct {
	Names  map[string]string    `json:"ExpressionAttributeNames"`
	Values map[string]wireValue `json:"ExpressionAttributeValues"`
}

// expressionParameter is one expression of a request; nil text if it is absent.
type expressionParameter struct {
	name string
	text *string
}

// takesValues reports whether the expression's grammar has :value placeholders.
func (e expressionParameter) takesValues() bool { return e.name != "ProjectionExpression" }

// placeholders are the #names and :values of one request, and which of them its expressions have used so far.
type placeholders struct {
	names      map[string]string
	values     map[string]value
	usedNames  map[string]bool
	usedValues map[string]bool
}

// placeholders checks the placeholder parameters against the expressions that may use them.
func (e expressionAttributes) placeholders(expressions ...expressionParameter) (*placeholders, error) {
	if err := e.checkNames(expressions); err != nil {
		return nil, err
	}
	if err := e.checkValues(expressions); err != nil {
		return nil, err
	}
	p := &placeholders{
		names:      e.Names,
		values:     make(map[string]value, len(e.Values)),
		usedNames:  make(map[string]bool, len(e.Names)),
		usedValues: make(map[string]bool, len(e.Values)),
	}
	for _, placeholder := range slices.Sorted(maps.Keys(e.Values)) {
		v, err := e.Values[placeholder].value()
		if err == nil && 1+v.nesting() > maxNesting {
			err = errTooNested
		}
		if err != nil {
			return nil, invalid("ExpressionAttributeValues contains invalid value: %s for key %s", asAPIError(err).message, placeholder)
		}
		p.values[placeholder] = v
	}
	return p, nil
}

func (e expressionAttributes) checkNames(expressions []expressionParameter) error {
	if e.Names == nil {
		return nil
	}
	if !slices.ContainsFunc(expressions, func(x expressionParameter) bool { return x.text != nil }) {
		return invalid("ExpressionAttributeNames can only be specified when using expressions")
	}
	if len(e.Names) == 0 {
		return invalid("ExpressionAttributeNames must not be empty")
	}
	for placeholder, name := range e.Names {
		if !isToken(placeholder, tokenName) {
			return invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", placeholder)
		}
		if name == "" {
			return invalid("ExpressionAttributeNames contains invalid value: Empty attribute name for key %s", placeholder)
		}
	}
	return nil
}

func (e expressionAttributes) checkValues(expressions []expressionParameter) error {
	if e.Values == nil {
		return nil
	}
	var takers []string
	for _, x := range expressions {
		if x.takesValues() && x.text != nil {
			takers = nil
			break
		}
		if x.takesValues() {
			takers = append(takers, x.name)
		}
	}
	switch {
	case len(takers) == 1:
		return invalid("ExpressionAttributeValues can only be specified when using expressions: %s is null", takers[0])
	case len(takers) > 1:
		return invalid("ExpressionAttributeValues can only be specified when using expressions: %s are null", strings.Join(takers, " and "))
	case len(e.Values) == 0:
		return invalid("ExpressionAttributeValues must not be empty")
	}
	for placeholder := range e.Values {
		if !isToken(placeholder, tokenValue) {
			return invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", placeholder)
		}
	}
	return nil
}

// isToken reports whether the text is one token of that kind and nothing else.
func isToken(text string, kind tokenKind) bool {
	if text == "" {
		return false
	}
	first, length := nextToken(text)
	return first == kind && length == len(text)
}

// unused is the complaint about placeholders that no expression of the request refers to.
func (p *placeholders) unused() error {
	if keys := missingFrom(p.usedValues, p.values); keys != "" {
		return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", keys)
	}
	if keys := missingFrom(p.usedNames, p.names); keys != "" {
		return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", keys)
	}
	return nil
}

func missingFrom[V any](used map[string]bool, given map[string]V) string {
	var unused []string
	for key := range given {
		if !used[key] {
			unused = append(unused, key)
		}
	}
	slices.Sort(unused)
	return strings.Join(unused, ", ")
}

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
