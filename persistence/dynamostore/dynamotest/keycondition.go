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

// bindKeyTerms fits the terms to the keys of a table or index: an equal partition key, maybe a sort key condition.
func bindKeyTerms(terms []keyTerm, keys keySchema) (keyCondition, error) {
	var bound keyCondition
	var sort *keyTerm
	if len(terms) > 2 {
		return bound, invalid("Conditions can be of length 1 or 2 only")
	}
	for _, key := range keys[:min(len(terms), len(keys))] {
		at := slices.IndexFunc(terms, func(t keyTerm) bool { return t.attribute == key.name })
		if at < 0 {
			return bound, invalid("Query condition missed key schema element: %s", key.name)
		}
		if err := terms[at].fit(key); err != nil {
			return bound, err
		}
		switch {
		case key != keys.hash():
			sort = &terms[at]
		case terms[at].operator != "=":
			return bound, errKeyCondition
		default:
			hash, _ := terms[at].operands[0].in(nil)
			bound.partition = under(hash)
		}
	}
	if len(terms) > len(keys) {
		return bound, errKeyCondition
	}
	bound.selected = bound.partition
	if sort != nil {
		bound.selected = sort.of(bound.partition)
	}
	return bound, nil
}

// of is what the condition on a sort key leaves of a partition.
func (t *keyTerm) of(partition span) span {
	var at []span // of the operands
	for _, o := range t.operands {
		v, _ := o.in(nil)
		at = append(at, under(partition.low.keys[0], v))
	}
	switch t.operator {
	case "=":
		return at[0]
	case "<":
		return span{partition.low, at[0].low}
	case "<=":
		return span{partition.low, at[0].high}
	case ">":
		return span{at[0].high, partition.high}
	case ">=":
		return span{at[0].low, partition.high}
	case "BETWEEN":
		return span{at[0].low, at[1].high}
	default: // begins_with
		prefix, _ := t.operands[0].in(nil)
		next, ok := following(prefix)
		if !ok {
			return span{at[0].low, partition.high}
		}
		return span{at[0].low, under(partition.low.keys[0], next).low}
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
