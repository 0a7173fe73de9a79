package dynamotest

import (
	"maps"
	"slices"
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
