// Package jmespath evaluates JMESPath expressions as one of two implementations does:
// jmespath.py, which Powertools for Python uses, or @aws-lambda-powertools/jmespath.
// One parser and one interpreter serve both, which differ in how strongly a filter
// binds, in what the functions make of a value, in the order of members, in what
// counts as undefined and in what is an error. Where the result of one of them is not
// to be had exactly, the error is a [*value.InexactError].
package jmespath

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

// The limits of an expression are those of this module's own. Below this depth
// CPython's recursion limit is not reached, wherever the expression is evaluated.
const (
	maxLength = 4 << 10 // bytes
	maxDepth  = 200     // levels of the syntax tree, and of expressions in each other
)

// ErrEvaluation matches what the implementation itself answers with an error.
var ErrEvaluation = errors.New("the expression fails on this payload")

// Expression is immutable and safe for concurrent use.
type Expression struct {
	root     node
	language value.Language
	names    map[string]bool // of the members that it reads
}

// Compile reads an expression. The error is a [*SyntaxError], or a
// [*value.InexactError] for what can't be had.
func Compile(text string, l value.Language) (*Expression, error) {
	switch {
	case len(text) > maxLength:
		return nil, value.Inexact("it is longer than %d bytes", maxLength)
	case !utf8.ValidString(text):
		return nil, &SyntaxError{0, "text that is not UTF-8"}
	case l == value.JavaScript && slices.Contains(inherited, text):
		return nil, value.Inexact("TypeScript's cache of expressions fails on a name that every object inherits")
	}
	lexer := lexer{text: text, language: l}
	tokens, err := lexer.tokens()
	if err != nil {
		return nil, err
	}
	p := parser{tokens: tokens, language: l}
	e := &Expression{language: l}
	if e.root, err = p.parse(); err != nil {
		return nil, err
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	e.names = make(map[string]bool)
	_ = e.root.walk(func(n *node) error { // never fails
		if n.kind == field {
			e.names[n.name] = true
		}
		return nil
	})
	return e, nil
}

// check refuses what compiles there, and is not evaluated here.
func (e *Expression) check() error {
	taken := 0 // references that are arguments of functions which take them
	isSorting := e.language == value.JavaScript && e.Calls("sort")
	if err := e.root.walk(func(n *node) error {
		switch {
		case n.kind == call:
			for i, argument := range n.children {
				isReference := argument.kind == reference
				if isReference != n.function.takesReference(i) {
					return value.Inexact("%s(): an &expression is an argument of the functions that take one, and of no others", n.name)
				}
				if isReference {
					taken++
				}
			}
		case n.kind == reference:
			taken--
		case n.kind == member && n.name == prototype && e.language == value.JavaScript:
			return value.Inexact("a member %s becomes the prototype", prototype)
		case n.kind == literal && isSorting && holdsArray(n.value):
			return value.Inexact("sort() beside a literal list, which it may sort for good")
		}
		return nil
	}); err != nil {
		return err
	}
	if taken != 0 {
		return value.Inexact("an &expression is an argument of a function, and nothing else")
	}
	return nil
}

const prototype = "__proto__"

func holdsArray(v value.Value) bool {
	switch v := v.(type) {
	case *value.Array:
		return true
	case *value.Object:
		return slices.ContainsFunc(v.Values(value.JavaScript), holdsArray)
	}
	return false
}

// Calls tells whether the expression, if there is one, calls one of the functions.
func (e *Expression) Calls(functions ...string) bool {
	errFound := errors.New("found")
	return e != nil && e.root.walk(func(n *node) error {
		if n.kind == call && slices.Contains(functions, n.name) {
			return errFound
		}
		return nil
	}) != nil
}

// Search evaluates the expression within a budget. The document may be changed by it, as it is in
// JavaScript, where sort() sorts the very list it is given. The error matches
// [ErrEvaluation] where the implementation has one too; else it is a
// [*value.InexactError].
func (e *Expression) Search(document value.Value, b *value.Budget) (value.Value, error) {
	in := &interpreter{e.language, b, e.names}
	return in.visit(&e.root, document)
}

// errSwallowed is an error that is not one of JMESPath's: Python lets it out, and
// TypeScript's interpreter drops it if it comes from inside of a function, which gives
// undefined.
var errSwallowed = fmt.Errorf("%w: an error that is not JMESPath's", ErrEvaluation)
