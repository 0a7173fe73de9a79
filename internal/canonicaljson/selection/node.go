package selection

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/jmespath/go-jmespath"
)

// node mirrors a node of go-jmespath's syntax tree, whose fields are not
// exported. A test pins the field names and kinds that mirror relies on.
type node struct {
	kind     int    // int(jmespath.ASTField) and so on
	name     string // of a field, function or hash member
	number   int    // the index, the step of a slice (1 if absent), or the operator
	children []node
}

// parse parses an expression. The parser's errors and panics (the lexer indexes
// out of range on "a\u0080") come back as errors.
func parse(expression string) (_ node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("syntax error: the parser cannot read it")
		}
	}()
	tree, err := jmespath.NewParser().Parse(expression)
	if err != nil {
		return node{}, fmt.Errorf("%w", err)
	}
	return mirror(reflect.ValueOf(tree)), nil
}

func mirror(tree reflect.Value) node {
	n := node{kind: int(tree.FieldByName("nodeType").Int())}
	switch value := tree.FieldByName("value").Elem(); n.kind {
	case int(jmespath.ASTField), int(jmespath.ASTFunctionExpression), int(jmespath.ASTKeyValPair):
		n.name = value.String()
	case int(jmespath.ASTIndex), int(jmespath.ASTComparator):
		n.number = int(value.Int())
	case int(jmespath.ASTSlice):
		n.number = 1
		if step := value.Index(2); !step.IsNil() {
			n.number = int(step.Elem().Int())
		}
	}
	children := tree.FieldByName("children")
	for i := range children.Len() {
		n.children = append(n.children, mirror(children.Index(i)))
	}
	return n
}

// orderings are the comparison operators whose result depends on the size of a
// number, as go-jmespath numbers its tokens.
var orderings = func() map[int]bool {
	set := map[int]bool{}
	for _, example := range []string{"a < b", "a <= b", "a > b", "a >= b"} {
		n, err := parse(example)
		if err != nil {
			panic(err) // go-jmespath no longer parses JMESPath
		}
		set[n.number] = true
	}
	return set
}()
