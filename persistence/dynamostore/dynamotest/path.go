package dynamotest

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// path is a document path such as a.b[0]: where a value stands inside an item. Its first step is a name.
type path []step

// step is one step of a path: the name of an attribute or member, or, with noIndex replaced, a list index.
type step struct {
	name  string
	index int
}

const noIndex = -1

func nameStep(name string) step { return step{name: name, index: noIndex} }

func (s step) isIndex() bool { return s.index != noIndex }

func (s step) String() string {
	if s.isIndex() {
		return "[" + strconv.Itoa(s.index) + "]"
	}
	return s.name
}

// from is the value one step inside the container, if there is one.
func (s step) from(container value) (value, bool) {
	if s.isIndex() {
		if container.kind != kindList || s.index >= len(container.list) {
			return value{}, false
		}
		return container.list[s.index], true
	}
	v, ok := container.fields[s.name]
	return v, ok
}

// in is the value the path leads to, if it leads anywhere. It makes a path an operand.
func (p path) in(i item) (value, bool) {
	at := document(i)
	for _, s := range p {
		inner, ok := s.from(at)
		if !ok {
			return value{}, false
		}
		at = inner
	}
	return at, true
}

// document is the item seen as one map, so that paths start at a value like any other.
func document(i item) value { return value{kind: kindMap, fields: i} }

// String is the path as DynamoDB prints it inside error messages, e.g. [a, b, [0]].
func (p path) String() string {
	steps := make([]string, len(p))
	for i, s := range p {
		steps[i] = s.String()
	}
	return "[" + strings.Join(steps, ", ") + "]"
}

// compare orders paths so that list indexes ascend.
func (p path) compare(q path) int {
	return slices.CompareFunc(p, q, func(a, b step) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.index, b.index))
	})
}

// clash tells how two paths of one expression exclude each other: one contains the other ("overlap"), or
// they need one value to be both a list and a map ("conflict"). "" means they get along.
func (p path) clash(q path) string {
	for i := range min(len(p), len(q)) {
		if p[i].isIndex() != q[i].isIndex() {
			return "conflict"
		}
		if p[i] != q[i] {
			return ""
		}
	}
	return "overlap"
}

// mustNotClash fails the parse if any two of the paths exclude each other.
func (p *parser) mustNotClash(paths []path) {
	for i, second := range paths {
		for _, first := range paths[:i] {
			if clash := first.clash(second); clash != "" {
				p.fail("Two document paths %s with each other; must remove or rewrite one of these paths; path one: %s, path two: %s",
					clash, first, second)
			}
		}
	}
}
