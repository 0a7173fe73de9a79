package selection

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jmespath/go-jmespath"
)

// The syntax tree of go-jmespath is read by reflection. If a new version changes
// it, this test fails before any key does.
func TestSyntaxTreeIsMirrored(t *testing.T) {
	for expression, want := range map[string]node{
		"@":                         {kind: int(jmespath.ASTCurrentNode)},
		"a":                         {kind: int(jmespath.ASTField), name: "a"},
		"`5`":                       {kind: int(jmespath.ASTLiteral), literal: 5.0},
		"`[null, {\"x\": [true]}]`": {kind: int(jmespath.ASTLiteral), literal: []any{nil, map[string]any{"x": []any{true}}}},
		"a.b":                       {kind: int(jmespath.ASTSubexpression), children: []node{{kind: int(jmespath.ASTField), name: "a"}, {kind: int(jmespath.ASTField), name: "b"}}},
		"a | b":                     {kind: int(jmespath.ASTPipe), children: []node{{kind: int(jmespath.ASTField), name: "a"}, {kind: int(jmespath.ASTField), name: "b"}}},
		"[-2]": {kind: int(jmespath.ASTIndexExpression), children: []node{
			{kind: int(jmespath.ASTIdentity)}, {kind: int(jmespath.ASTIndex), number: -2}}},
		"a[::3]": {kind: int(jmespath.ASTProjection), children: []node{
			{kind: int(jmespath.ASTIndexExpression), children: []node{
				{kind: int(jmespath.ASTField), name: "a"}, {kind: int(jmespath.ASTSlice), name: "::3", number: 3}}},
			{kind: int(jmespath.ASTIdentity)}}},
		"a[1:]": {kind: int(jmespath.ASTProjection), children: []node{
			{kind: int(jmespath.ASTIndexExpression), children: []node{
				{kind: int(jmespath.ASTField), name: "a"}, {kind: int(jmespath.ASTSlice), name: "1::", number: 1}}},
			{kind: int(jmespath.ASTIdentity)}}},
		"a[]": {kind: int(jmespath.ASTProjection), children: []node{
			{kind: int(jmespath.ASTFlatten), children: []node{{kind: int(jmespath.ASTField), name: "a"}}},
			{kind: int(jmespath.ASTIdentity)}}},
		"a[?b].c": {kind: int(jmespath.ASTFilterProjection), children: []node{ // the condition comes last
			{kind: int(jmespath.ASTField), name: "a"}, {kind: int(jmespath.ASTField), name: "c"}, {kind: int(jmespath.ASTField), name: "b"}}},
		"*":   {kind: int(jmespath.ASTValueProjection), children: []node{{kind: int(jmespath.ASTIdentity)}, {kind: int(jmespath.ASTIdentity)}}},
		"[a]": {kind: int(jmespath.ASTMultiSelectList), children: []node{{kind: int(jmespath.ASTField), name: "a"}}},
		"{x: a}": {kind: int(jmespath.ASTMultiSelectHash), children: []node{
			{kind: int(jmespath.ASTKeyValPair), name: "x", children: []node{{kind: int(jmespath.ASTField), name: "a"}}}}},
		"a || !b && c": {kind: int(jmespath.ASTOrExpression), children: []node{
			{kind: int(jmespath.ASTField), name: "a"},
			{kind: int(jmespath.ASTAndExpression), children: []node{
				{kind: int(jmespath.ASTNotExpression), children: []node{{kind: int(jmespath.ASTField), name: "b"}}},
				{kind: int(jmespath.ASTField), name: "c"}}}}},
		"f(a, &b)": {kind: int(jmespath.ASTFunctionExpression), name: "f", children: []node{
			{kind: int(jmespath.ASTField), name: "a"},
			{kind: int(jmespath.ASTExpRef), children: []node{{kind: int(jmespath.ASTField), name: "b"}}}}},
	} {
		got, err := parse(expression)
		if err != nil {
			t.Errorf("parse(%s): %v", expression, err)
		} else if diff := cmp.Diff(want, got, cmp.AllowUnexported(node{})); diff != "" {
			t.Errorf("parse(%s) differs (-want +got):\n%s", expression, diff)
		}
	}
}

func TestOrderingOperatorsAreKnown(t *testing.T) {
	for expression, want := range map[string]bool{
		"a < b": true, "a <= b": true, "a > b": true, "a >= b": true, "a == b": false, "a != b": false,
	} {
		n, err := parse(expression)
		if err != nil || n.kind != int(jmespath.ASTComparator) || n.comparesSize() != want {
			t.Errorf("%s: %v, %v; want ordering %v", expression, n, err, want)
		}
	}
}

// The list of functions is the engine's own: it knows each of them, with this
// number of arguments, and no other.
func TestFunctionsAreTheEngines(t *testing.T) {
	for name, f := range functions {
		if decoders[name] != nil {
			continue
		}
		call := name + "("
		for i, p := range f.parameters {
			call += [...]string{"", ", "}[min(i, 1)] + [...]string{takesValue: "@", takesExpression: "&@"}[p]
		}
		_, err := jmespath.Search(call+")", map[string]any{}) // merge(null) is a panic
		if err != nil && (err.Error() == "unknown function: "+name || err.Error() == "incorrect number of args" || err.Error() == "Invalid arity.") {
			t.Errorf("%s): the engine says %v", call, err)
		}
	}
}
