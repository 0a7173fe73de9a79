package selection

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

const (
	maxLength = 4 << 10 // of an expression, in bytes
	maxDepth  = 200     // levels of its syntax tree: a.b.c has three
)

// Compile parses an expression and refuses what would fail for every payload,
// what would depend on the order of members in memory and what would make
// different payloads alike. The error says why.
func Compile(text string) (*Selection, error) {
	switch {
	case len(text) > maxLength:
		return nil, fmt.Errorf("it is longer than %d bytes", maxLength)
	case !utf8.ValidString(text):
		return nil, errors.New("it is not UTF-8")
	}
	if strings.Trim(text, " \t\r\n") == "" {
		return nil, errors.New("it is empty")
	}
	tree, err := parse(text)
	if err != nil {
		return nil, explain(text, err)
	}
	if tree.depth() > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	if err := checkFunctions(tree); err != nil {
		return nil, err
	}
	if err := checkLiterals(text); err != nil {
		return nil, err
	}
	s, err := compile(tree)
	if err != nil {
		return nil, err
	}
	s.guardNames()
	return s, nil
}

func compile(tree node) (*Selection, error) {
	s := &Selection{}
	var chosen origin
	for _, part := range tree.alternatives() {
		a, err := compileAlternative(part)
		if err != nil {
			return nil, err
		}
		s.alternatives = append(s.alternatives, a)
		chosen = chosen.or(a.result)
	}
	return s, chosen.checkTelling()
}

func compileAlternative(tree node) (*alternative, error) {
	a := &alternative{tree: tree, reads: newTree(), number: canonicaljson.ParseNumber}
	c := &checker{root: a.reads}
	var err error
	if a.result, err = c.check(&a.tree); err != nil {
		return nil, err
	}
	a.tree.prepare()
	a.calls = c.calls
	for _, tree := range a.trees() {
		if tree.settle(); tree.isTooLarge() {
			return nil, errTooLarge
		}
	}
	if c.ordered {
		a.number = exactNumber
	}
	return a, nil
}

// checkLiterals refuses literals that the engine would read as another value than
// the one written: it decodes numbers to float64, repairs text and drops repeated
// members.
func checkLiterals(text string) error {
	for _, t := range quotedTokens(text) {
		written := text[t.start:t.end]
		switch written[0] {
		case '`':
			written = strings.ReplaceAll(written[1:len(written)-1], "\\`", "`")
		case '\'':
			continue
		}
		if _, err := canonicaljson.AppendWithTwins(nil, []byte(written)); err != nil {
			return fmt.Errorf("literal %s: %v", text[t.start:t.end], err)
		}
		if err := checkNumbers(written); err != nil {
			return fmt.Errorf("literal %s: %v", text[t.start:t.end], err)
		}
	}
	return nil
}

func checkNumbers(written string) error {
	dec := jsontext.NewDecoder(bytes.NewBufferString(written))
	for {
		switch token, err := dec.ReadToken(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case token.Kind() == '0':
			if _, err := exactNumber([]byte(token.String())); err != nil {
				return err
			}
		}
	}
}

// numberReader decodes a number that the engine looks at.
type numberReader func(text []byte) (any, error)

var errInexact = errors.New("a number has more digits than the engine can compare")

// exactNumber is the numberReader of expressions that compare the size of
// numbers: the engine would find no number in a canonicaljson.Number and quietly
// leave it out.
func exactNumber(text []byte) (any, error) {
	number, err := canonicaljson.ParseNumber(text)
	if _, inexact := number.(canonicaljson.Number); inexact {
		return nil, errInexact
	}
	return number, err
}
