package dynamotest

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// condition is a parsed ConditionExpression, FilterExpression or KeyConditionExpression.
type condition interface {
	// holds reports whether the item, nil if there is none, fulfils the condition.
	holds(i item) bool
}

// operand is something a condition compares.
type operand interface {
	// in is the operand's value for the item, if it has one there.
	in(i item) (value, bool)
}

type (
	comparison struct {
		operator    string
		left, right operand
	}
	between    struct{ subject, low, high operand }
	membership struct {
		subject    operand
		candidates []operand
	}
	conjunction  struct{ left, right condition }
	disjunction  struct{ left, right condition }
	negation     struct{ of condition }
	group        struct{ condition } // in parentheses
	existence    struct{ of path }
	typeTest     struct{ of, kind operand }
	prefixTest   struct{ subject, prefix operand }
	containment  struct{ subject, element operand }
	constant     value
	sizeOf       struct{ of operand }
	unrestricted struct{}
)

func (unrestricted) holds(item) bool    { return true }
func (c conjunction) holds(i item) bool { return c.left.holds(i) && c.right.holds(i) }
func (d disjunction) holds(i item) bool { return d.left.holds(i) || d.right.holds(i) }
func (n negation) holds(i item) bool    { return !n.of.holds(i) }

func (e existence) holds(i item) bool {
	_, exists := e.of.in(i)
	return exists
}

func (c comparison) holds(i item) bool {
	left, hasLeft := c.left.in(i)
	right, hasRight := c.right.in(i)
	return hasLeft && hasRight && satisfies(left, c.operator, right) ||
		c.operator == "<>" && (!hasLeft || !hasRight)
}

// satisfies applies a comparator; values of different types are unequal and have no order.
func satisfies(left value, operator string, right value) bool {
	switch operator {
	case "=":
		return left.equal(right)
	case "<>":
		return !left.equal(right)
	}
	if left.kind != right.kind || !left.kind.isOrdered() {
		return false
	}
	switch order := left.compare(right); operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func (b between) holds(i item) bool {
	return comparison{">=", b.subject, b.low}.holds(i) && comparison{"<=", b.subject, b.high}.holds(i)
}

func (m membership) holds(i item) bool {
	return slices.ContainsFunc(m.candidates, func(candidate operand) bool {
		return comparison{"=", m.subject, candidate}.holds(i)
	})
}

func (t typeTest) holds(i item) bool {
	v, exists := t.of.in(i)
	wanted, _ := t.kind.in(i)
	return exists && string(v.kind) == wanted.text
}

func (t prefixTest) holds(i item) bool {
	subject, hasSubject := t.subject.in(i)
	prefix, hasPrefix := t.prefix.in(i)
	return hasSubject && hasPrefix && subject.kind == prefix.kind &&
		(subject.kind == kindString || subject.kind == kindBinary) &&
		strings.HasPrefix(subject.text, prefix.text)
}

func (c containment) holds(i item) bool {
	subject, hasSubject := c.subject.in(i)
	element, hasElement := c.element.in(i)
	if !hasSubject || !hasElement {
		return false
	}
	switch subject.kind {
	case kindString, kindBinary:
		return subject.kind == element.kind && strings.Contains(subject.text, element.text)
	default:
		return subject.has(element)
	}
}

func (c constant) in(item) (value, bool) { return value(c), true }

// in is the size of strings in UTF-16 units, of binaries in bytes, of collections in elements. Other types have none.
func (s sizeOf) in(i item) (value, bool) {
	v, exists := s.of.in(i)
	if !exists || !v.kind.hasSize() {
		return value{}, false
	}
	var size int
	switch v.kind {
	case kindString:
		size = len(utf16.Encode([]rune(v.text)))
	case kindBinary:
		size = len(v.text)
	default:
		size = len(v.list) + len(v.fields)
	}
	n, err := parseNumber(strconv.Itoa(size))
	return numberValue(n), err == nil
}

func (k kind) hasSize() bool { return k != kindNumber && k != kindBool && k != kindNull }
