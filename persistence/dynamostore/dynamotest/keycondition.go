package dynamotest

import "slices"

// keyCondition is a KeyConditionExpression bound to keys: one partition, and what of it by the sort keys.
type keyCondition struct{ partition, selected span }

// keyTerm is one of the at most two conditions a key condition is made of.
type keyTerm struct {
	attribute string
	operator  string
	operands  []operand
}

// keyTerms reads a KeyConditionExpression, which has the grammar of conditions but allows little of it.
func (p *parser) keyTerms() []keyTerm {
	terms := p.terms(p.condition())
	for i, t := range terms {
		for _, other := range terms[:i] {
			if t.attribute == other.attribute {
				p.fail("KeyConditionExpressions must only contain one condition per key")
			}
		}
	}
	return terms
}

func (p *parser) terms(c condition) []keyTerm {
	switch c := c.(type) {
	case group:
		return p.terms(c.condition)
	case conjunction:
		return append(p.terms(c.left), p.terms(c.right)...)
	case comparison:
		if c.operator == "<>" {
			p.notInKeyCondition("<>")
		}
		return p.term(c.operator, c.left, c.right)
	case between:
		return p.term("BETWEEN", c.subject, c.low, c.high)
	case prefixTest:
		return p.term("begins_with", c.subject, c.prefix)
	case disjunction:
		p.notInKeyCondition("OR")
	case negation:
		if _, isFunction := c.of.(existence); isFunction {
			p.notInKeyCondition("attribute_not_exists")
		}
		p.notInKeyCondition("NOT")
	case membership:
		p.notInKeyCondition("IN")
	case existence:
		p.notInKeyCondition("attribute_exists")
	case typeTest:
		p.notInKeyCondition("attribute_type")
	case containment:
		p.notInKeyCondition("contains")
	}
	return nil
}

func (p *parser) notInKeyCondition(operator string) {
	p.refuse("Invalid operator used in KeyConditionExpression: %s", operator)
}

func (p *parser) term(operator string, subject operand, operands ...operand) []keyTerm {
	for _, o := range append(operands, subject) {
		if _, isSize := o.(sizeOf); isSize {
			p.refuse("KeyConditionExpressions cannot contain nested operations")
		}
	}
	if _, isConstant := subject.(constant); isConstant && len(operands) == 1 {
		subject, operands[0], operator = operands[0], subject, mirrored[operator] // :value = key
	}
	at, isPath := subject.(path)
	if !isPath {
		p.refuse("Invalid condition in KeyConditionExpression: No key attribute specified")
	}
	if len(at) > 1 {
		p.fail("KeyConditionExpressions cannot have conditions on nested attributes")
	}
	for _, o := range operands {
		if _, isConstant := o.(constant); !isConstant {
			p.refuse("Invalid condition in KeyConditionExpression: Multiple attribute names used in one condition")
		}
	}
	return []keyTerm{{attribute: at[0].name, operator: operator, operands: operands}}
}

// mirrored are the comparators for operands that change sides.
var mirrored = map[string]string{"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

// bindKeyTerms fits the terms to the key of a table or index: an equal value for each attribute of the partition key, then
// conditions on the attributes of the sort key from the left, of which only the last may be another than equality.
func bindKeyTerms(terms []keyTerm, keys keySchema) (bound keyCondition, err error) {
	if len(keys) <= 2 && len(terms) > 2 {
		return bound, invalid("Conditions can be of length 1 or 2 only")
	}
	hashes := len(keys.hashes())
	var equal []value // to the leading attributes of the key
	var last *keyTerm // the condition that is not equality
	for _, key := range keys[:min(max(len(terms), hashes), len(keys))] {
		at := slices.IndexFunc(terms, func(t keyTerm) bool { return t.attribute == key.name })
		if at < 0 {
			return bound, invalid("Query condition missed key schema element: %s", key.name)
		}
		if err := terms[at].fit(key); err != nil {
			return bound, err
		}
		switch isEquality := terms[at].operator == "="; {
		case last != nil || !isEquality && !key.sort:
			return bound, errKeyCondition
		case isEquality:
			v, _ := terms[at].operands[0].in(nil)
			equal = append(equal, v)
		default:
			last = &terms[at]
		}
	}
	if len(terms) > len(keys) {
		return bound, errKeyCondition
	}
	partition := partitionOf(equal[:hashes])
	bound.partition, bound.selected = under(partition, equal[:hashes]), under(partition, equal)
	if last != nil {
		bound.selected = last.of(bound.selected)
	}
	return bound, nil
}

// of is what the condition on the next attribute of the key leaves of what lies under the ones before it.
func (t *keyTerm) of(whole span) span {
	under := func(v value) span {
		return under(whole.low.partition, append(slices.Clip(whole.low.keys), v))
	}
	var at []span // of the operands
	for _, o := range t.operands {
		v, _ := o.in(nil)
		at = append(at, under(v))
	}
	switch t.operator {
	case "=":
		return at[0]
	case "<":
		return span{whole.low, at[0].low}
	case "<=":
		return span{whole.low, at[0].high}
	case ">":
		return span{at[0].high, whole.high}
	case ">=":
		return span{at[0].low, whole.high}
	case "BETWEEN":
		return span{at[0].low, at[1].high}
	default: // begins_with
		prefix, _ := t.operands[0].in(nil)
		next, ok := following(prefix)
		if !ok {
			return span{at[0].low, whole.high}
		}
		return span{at[0].low, under(next).low}
	}
}

// following is the least value behind all those that begin with the prefix; false if there is none.
func following(prefix value) (value, bool) {
	for last := len(prefix.text) - 1; last >= 0; last-- {
		if b := prefix.text[last]; b < 0xff {
			return value{kind: prefix.kind, text: prefix.text[:last] + string([]byte{b + 1})}, true
		}
	}
	return value{}, false
}

var errKeyCondition = invalid("Query key condition not supported")

// fit refuses operands that no value of the key could equal.
func (t keyTerm) fit(key keyAttribute) error {
	for _, o := range t.operands {
		v, _ := o.in(nil)
		if v.kind != key.kind {
			return invalidParameter("Condition parameter type does not match schema type")
		}
		if v.kind != kindNumber && v.text == "" {
			return emptyKeyValue(key)
		}
	}
	return nil
}
