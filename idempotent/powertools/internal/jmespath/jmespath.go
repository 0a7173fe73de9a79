// Package jmespath evaluates JMESPath expressions as one of two implementations does:
// jmespath.py, which Powertools for Python uses, or @aws-lambda-powertools/jmespath.
// They share a grammar and disagree in what the functions make of a value, in the
// order of members, in what counts as undefined and in what is an error. Where the
// result of one of them is not to be had exactly, the error is a
// [*value.InexactError].
package jmespath

import (
	"errors"
	"slices"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// ErrEvaluation matches what the implementation itself answers with an error.
var ErrEvaluation = errors.New("the expression fails on this payload")

// Expression is immutable and safe for concurrent use.
type Expression struct {
	root     node
	calls    []string
	language value.Language
}

// Compile reads an expression. The error is a [*SyntaxError], or a
// [*value.InexactError] for what can't be had.
func Compile(text string, l value.Language) (*Expression, error) {
	lexer := lexer{text: text, language: l}
	tokens, err := lexer.tokens()
	if err != nil {
		return nil, err
	}
	p := parser{tokens: tokens}
	root, err := p.parse()
	if err != nil {
		return nil, err
	}
	for _, name := range p.calls {
		if _, known := functions[name]; !known {
			return nil, value.Inexact("the function %q is not one of JMESPath's or Powertools' own", name)
		}
	}
	return &Expression{root, p.calls, l}, nil
}

// Calls tells whether the expression, if there is one, calls one of the functions.
func (e *Expression) Calls(functions ...string) bool {
	return e != nil && slices.ContainsFunc(e.calls, func(name string) bool { return slices.Contains(functions, name) })
}

// Search evaluates the expression. The document may be changed by it, as it is in
// JavaScript, where sort() sorts the very list it is given.
func (e *Expression) Search(document value.Value) (value.Value, error) {
	return interpreter{e.language}.visit(e.root, document)
}
