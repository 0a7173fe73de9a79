package selection

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/jmespath/go-jmespath"
)

// node mirrors a node of go-jmespath's syntax tree, whose fields are not
// exported. A test pins the field names and kinds that mirror relies on.
type node struct {
	kind     int    // int(jmespath.ASTField) and so on
	name     string // of a field, function or hash member; the bounds of a slice
	number   int    // the index, the step of a slice (1 if absent), or the operator
	literal  any
	children []node

	call *call // of a powertools_ function, set by the checker

	// Set by prepare, for the evaluation.
	engine  *jmespath.JMESPath // applies the function or operator to the list of its operands
	lenient bool               // it may be made of what is missing
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
		n.name = bound(value.Index(0)) + ":" + bound(value.Index(1)) + ":" + bound(value.Index(2))
	case int(jmespath.ASTLiteral):
		n.literal = literalValue(value)
	}
	children := tree.FieldByName("children")
	for i := range children.Len() {
		n.children = append(n.children, mirror(children.Index(i)))
	}
	return n
}

func bound(v reflect.Value) string {
	if v.IsNil() {
		return ""
	}
	return strconv.FormatInt(v.Elem().Int(), 10)
}

// literalValue returns the value of a literal, which the syntax tree does not export.
func literalValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Interface:
		return literalValue(v.Elem())
	case reflect.String:
		return v.String()
	case reflect.Float64:
		return v.Float()
	case reflect.Bool:
		return v.Bool()
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = literalValue(v.Index(i))
		}
		return list
	case reflect.Map:
		object := make(map[string]any, v.Len())
		for members := v.MapRange(); members.Next(); {
			object[members.Key().String()] = literalValue(members.Value())
		}
		return object
	}
	return nil
}

// depth is the number of levels of the tree.
func (n *node) depth() int {
	deepest := 0
	for i := range n.children {
		deepest = max(deepest, n.children[i].depth())
	}
	return 1 + deepest
}

// alternatives are the a, b, c of a || b || c.
func (n *node) alternatives() []node {
	if n.kind != int(jmespath.ASTOrExpression) {
		return []node{*n}
	}
	return append(n.children[0].alternatives(), n.children[1].alternatives()...)
}

// comparators are the comparison operators, as go-jmespath numbers its tokens.
// They are found out when first needed: most functions compare nothing, and it
// would be most of what this module does at a cold start.
var comparators = sync.OnceValue(func() map[int]string {
	texts := map[int]string{}
	for _, text := range []string{"<", "<=", ">", ">=", "==", "!="} {
		n, err := parse("a " + text + " b")
		if err != nil {
			panic(err) // go-jmespath no longer parses JMESPath
		}
		texts[n.number] = text
	}
	return texts
})

// comparesSize reports whether the result of a comparison depends on the size of
// numbers.
func (n *node) comparesSize() bool {
	text := comparators()[n.number]
	return text != "==" && text != "!="
}
