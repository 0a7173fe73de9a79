package jmespath

import "github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"

// kind is what a node of the syntax tree does. The kinds are those of both
// implementations, so that the depth of a tree is the depth of theirs.
type kind int

const (
	identity         kind = iota
	literal               // value
	field                 // name
	subexpression         // of several children, each applied to what the one before gives
	pipe                  // the same
	indexExpression       // the same; a slice behind an index stands in it, and is no projection
	index                 // bounds.start
	slice                 // bounds
	flatten               // one child
	projection            // the list, what is done to each element
	valueProjection       // the object, what is done to each member
	filterProjection      // the list, what is done to each element, the condition
	multiSelectList       // the elements
	multiSelectHash       // the members
	member                // name, and one child
	or                    // two children
	and                   // two children
	not                   // one child
	comparison            // name is the sign; two children
	reference             // &, and one child
	call                  // name, function, and the arguments
)

// node is immutable once it is parsed.
type node struct {
	kind     kind
	name     string
	value    value.Value
	bounds   bounds
	function *function
	children []node
	depth    int // 1 for a leaf
}

// bounds are those of a slice; what is nil was left out.
type bounds struct{ start, stop, step *int }

// walk calls visit for each node of the tree, and stops at the first error.
func (n *node) walk(visit func(*node) error) error {
	if err := visit(n); err != nil {
		return err
	}
	for i := range n.children {
		if err := n.children[i].walk(visit); err != nil {
			return err
		}
	}
	return nil
}
