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
	"github.com/jmespath/go-jmespath"
)

// maxLength of an expression in bytes. The parser is recursive.
const maxLength = 8 << 10

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
	return compile(text)
}

func compile(text string) (*Selection, error) {
	if strings.Trim(text, " \t\r\n") == "" {
		return nil, errors.New("it is empty")
	}
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	if err := checkFunctions(tree); err != nil {
		return nil, err
	}
	if err := checkLiterals(text); err != nil {
		return nil, err
	}
	s := &Selection{}
	for _, part := range splitAlternatives(text) {
		a, err := compileAlternative(part)
		if err != nil {
			return nil, err
		}
		s.alternatives = append(s.alternatives, a)
	}
	return s, nil
}

func compileAlternative(text string) (*alternative, error) {
	rewritten, calls, err := replaceCalls(text)
	if err != nil {
		return nil, err
	}
	tree, err := parse(rewritten)
	if err != nil {
		return nil, err
	}
	engine, err := jmespath.Compile(rewritten)
	if err != nil {
		return nil, err
	}
	a := &alternative{engine: engine, reads: &place{}, calls: calls, number: canonicaljson.ParseNumber}
	c := &checker{root: a.reads, calls: make(map[string]*call)}
	for _, call := range calls {
		c.calls[call.placeholder] = call
	}
	if a.result, err = c.check(tree); err != nil {
		return nil, err
	}
	a.reads.settle()
	for _, call := range calls {
		call.result.settle()
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
	for _, t := range tokenize(text) {
		written := text[t.start:t.end]
		switch t.kind {
		case literal:
			written = strings.ReplaceAll(written[1:len(written)-1], "\\`", "`")
		case quotedIdentifier:
		default:
			continue
		}
		if _, err := canonicaljson.Append(nil, []byte(written)); err != nil {
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

// replaceCalls puts a placeholder for each call of a powertools_ function. Equal
// calls share one.
func replaceCalls(text string) (rewritten string, calls []*call, err error) {
	tokens := tokenize(text)
	prefix := unusedPrefix(text, tokens)
	var out strings.Builder
	copied := 0
	known := make(map[string]*call)
	for i := 0; i < len(tokens)-1; i++ {
		t, open := tokens[i], tokens[i+1]
		function := text[t.start:t.end]
		if decoders[function] == nil || text[open.start:open.end] != "(" {
			continue
		}
		end := tokens[matchingClose(tokens, i+1)]
		written := text[t.start:end.end]
		c := known[written]
		if c == nil {
			argument, err := compile(text[open.end:end.start])
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", written, err)
			}
			c = &call{
				text:        written,
				placeholder: fmt.Sprintf("%s%d", prefix, len(calls)),
				decode:      decoders[function],
				argument:    argument,
				result:      &place{},
			}
			known[written] = c
			calls = append(calls, c)
		}
		out.WriteString(text[copied:t.start])
		out.WriteString(c.placeholder)
		copied = end.end
		for i+1 < len(tokens) && tokens[i+1].start < end.end {
			i++
		}
	}
	out.WriteString(text[copied:])
	return out.String(), calls, nil
}

// unusedPrefix returns an identifier with which no name in the expression begins,
// also none that is spelled with escapes.
func unusedPrefix(text string, tokens []token) string {
	names := []byte(text)
	for _, t := range tokens {
		if t.kind == quotedIdentifier {
			names, _ = canonicaljson.Append(names, []byte(text[t.start:t.end])) // checkLiterals has let it pass
		}
	}
	prefix := "call_"
	for bytes.Contains(names, []byte(prefix)) {
		prefix += "_"
	}
	return prefix
}
