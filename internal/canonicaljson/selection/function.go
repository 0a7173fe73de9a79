package selection

import (
	"fmt"

	"github.com/jmespath/go-jmespath"
)

// A parameter of a function takes a value or an &expression.
type parameter int

const (
	takesValue parameter = iota
	takesExpression
)

// signature is what has to be known of a function before it is called. result
// gives the origin of its result from those of its arguments (an &expression's is
// that of its value on an element); nil means that the result is computed.
// The places in it are read anyway, for the arguments are inspected; how much the
// result is built of counts.
type signature struct {
	parameters []parameter
	variadic   bool  // the last parameter takes one argument or more
	required   bool  // it would turn a missing argument into a value
	answers    bool  // its result is one of few, whatever the arguments are
	types      types // that its result can have
	result     func(arguments []origin) origin
}

// functions are go-jmespath's functions and ours.
var functions = map[string]signature{
	"abs":         {parameters: []parameter{takesValue}, types: isNumber},
	"avg":         {parameters: []parameter{takesValue}, types: isNumber},
	"ceil":        {parameters: []parameter{takesValue}, types: isNumber},
	"contains":    {parameters: []parameter{takesValue, takesValue}, types: isBoolean, answers: true},
	"ends_with":   {parameters: []parameter{takesValue, takesValue}, types: isBoolean, answers: true},
	"floor":       {parameters: []parameter{takesValue}, types: isNumber},
	"join":        {parameters: []parameter{takesValue, takesValue}, types: isString},
	"length":      {parameters: []parameter{takesValue}, types: isNumber},
	"map":         {parameters: []parameter{takesExpression, takesValue}, types: isArray, result: listOfFirst},
	"max":         {parameters: []parameter{takesValue}, types: isNumber | isString, result: elementOfFirst},
	"max_by":      {parameters: []parameter{takesValue, takesExpression}, types: isAnything, result: elementOfFirst},
	"merge":       {parameters: []parameter{takesValue}, variadic: true, types: isObject, result: anyArgument},
	"min":         {parameters: []parameter{takesValue}, types: isNumber | isString, result: elementOfFirst},
	"min_by":      {parameters: []parameter{takesValue, takesExpression}, types: isAnything, result: elementOfFirst},
	"not_null":    {parameters: []parameter{takesValue}, variadic: true, types: isAnything, result: anyArgument},
	"reverse":     {parameters: []parameter{takesValue}, types: isArray | isString, result: reordered},
	"sort":        {parameters: []parameter{takesValue}, types: isArray, result: reordered},
	"sort_by":     {parameters: []parameter{takesValue, takesExpression}, types: isArray, result: reordered},
	"starts_with": {parameters: []parameter{takesValue, takesValue}, types: isBoolean, answers: true},
	"sum":         {parameters: []parameter{takesValue}, types: isNumber},
	"to_array":    {parameters: []parameter{takesValue}, required: true, types: isArray, result: listOrItself},
	"to_number":   {parameters: []parameter{takesValue}, types: isNumber},
	"to_string":   {parameters: []parameter{takesValue}, required: true, types: isString},
	"type":        {parameters: []parameter{takesValue}, types: isString, answers: true},

	"powertools_json":        {parameters: []parameter{takesValue}, types: isAnything},
	"powertools_base64":      {parameters: []parameter{takesValue}, types: isString},
	"powertools_base64_gzip": {parameters: []parameter{takesValue}, types: isString},
}

func listOfFirst(arguments []origin) origin { return origin{each: &arguments[0]} }

func elementOfFirst(arguments []origin) origin { return arguments[0].element() }

// listOrItself is the argument if that is a list, else the list of it.
func listOrItself(arguments []origin) origin {
	return arguments[0].or(origin{each: &arguments[0]})
}

func anyArgument(arguments []origin) origin {
	var result origin
	for _, a := range arguments {
		result = result.or(a)
	}
	return result
}

// reordered is a list whose elements are those of the first argument. They are
// inspected as a whole, so that they need no places of their own.
func reordered(arguments []origin) origin {
	list := arguments[0]
	list.computed = list.computed || len(list.places) > 0
	list.places = nil
	element := list.element()
	return origin{each: &element}
}

// checkFunctions refuses calls that would fail for every payload. go-jmespath
// finds them only when it evaluates them.
func checkFunctions(n node) error {
	if n.kind == int(jmespath.ASTFunctionExpression) {
		if n.name == "keys" || n.name == "values" {
			return fmt.Errorf("%s() has no stable order; name the members of the object", n.name)
		}
		f, known := functions[n.name]
		if !known {
			return fmt.Errorf("there is no function %s()", n.name)
		}
		if len(n.children) < len(f.parameters) || len(n.children) > len(f.parameters) && !f.variadic {
			return fmt.Errorf("%s() takes %d arguments, not %d", n.name, len(f.parameters), len(n.children))
		}
		for i, argument := range n.children {
			p := f.parameters[min(i, len(f.parameters)-1)]
			if isReference := argument.kind == int(jmespath.ASTExpRef); isReference != (p == takesExpression) {
				return fmt.Errorf("argument %d of %s() must be %s", i+1, n.name, [...]string{takesValue: "a value, not an &expression", takesExpression: "an &expression"}[p])
			}
		}
	}
	for _, child := range n.children {
		if err := checkFunctions(child); err != nil {
			return err
		}
	}
	return nil
}

// followFunction is follow for a call. The engine looks at every argument.
func (c *checker) followFunction(n *node, in origin) (origin, error) {
	if decoders[n.name] != nil {
		return c.followCall(n, in)
	}
	f := functions[n.name]
	arguments := make([]origin, len(n.children))
	var values []origin
	for i := range n.children {
		if n.children[i].kind == int(jmespath.ASTExpRef) {
			continue
		}
		value, err := c.inspect(&n.children[i], in)
		if err != nil {
			return origin{}, err
		}
		arguments[i] = value
		values = append(values, value)
	}
	made := madeOf(values)
	for i := range n.children {
		if n.children[i].kind != int(jmespath.ASTExpRef) {
			continue
		}
		var err error
		if arguments[i], err = c.walk(&n.children[i].children[0], made); err != nil {
			return origin{}, err
		}
	}
	switch {
	case f.answers:
		return answer, nil
	case f.result != nil:
		return f.result(arguments), nil
	}
	return made, nil
}
