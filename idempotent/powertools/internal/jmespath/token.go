package jmespath

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent/powertools/internal/value"
)

type token struct {
	kind   string
	text   string      // of an identifier
	value  value.Value // of a literal
	number int
	at     int
}

// SyntaxError says where an expression breaks the syntax.
type SyntaxError struct {
	At     int // byte
	Reason string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.At) }

// Kinds of tokens that are named after what stands there; the longest come first.
var signs = []string{"||", "&&", "==", "!=", "<=", ">=", "[]", "[?", "|", "&", "<", ">", "!", "[", "]", "{", "}", "(", ")", ",", ":", ".", "*", "@"}

const (
	kindEnd        = "end"
	kindIdentifier = "identifier"
	kindQuoted     = "quoted identifier"
	kindLiteral    = "literal"
	kindNumber     = "number"
)

// maxDigits is the length of the longest index. Longer ones are beyond every list, and
// beyond JavaScript's integers.
const maxDigits = 15

type lexer struct {
	text     string
	at       int
	language value.Language
}

func (l *lexer) tokens() ([]token, error) {
	var tokens []token
	for {
		for l.at < len(l.text) && strings.IndexByte(" \t\n\r", l.text[l.at]) >= 0 {
			l.at++
		}
		if l.at == len(l.text) {
			return append(tokens, token{kind: kindEnd, at: l.at}), nil
		}
		t, err := l.token()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
	}
}

func (l *lexer) token() (token, error) {
	start, c := l.at, l.text[l.at]
	switch {
	case isLetter(c):
		for l.at < len(l.text) && (isLetter(l.text[l.at]) || isDigit(l.text[l.at])) {
			l.at++
		}
		return token{kind: kindIdentifier, text: l.text[start:l.at], at: start}, nil
	case isDigit(c), c == '-':
		return l.number()
	case c == '"', c == '\'', c == '`':
		return l.quoted(c)
	}
	for _, sign := range signs {
		if strings.HasPrefix(l.text[start:], sign) {
			l.at += len(sign)
			return token{kind: sign, at: start}, nil
		}
	}
	return token{}, &SyntaxError{start, "unknown token"}
}

func (l *lexer) number() (token, error) {
	start := l.at
	l.at++
	for l.at < len(l.text) && isDigit(l.text[l.at]) {
		l.at++
	}
	if l.at-start > maxDigits {
		return token{}, value.Inexact("an index of more than %d digits", maxDigits)
	}
	n, err := strconv.Atoi(l.text[start:l.at])
	if err != nil {
		return token{}, &SyntaxError{start, "not an integer"}
	}
	return token{kind: kindNumber, number: n, at: start}, nil
}

// quoted reads a quoted identifier, a raw string or a literal. A backslash keeps
// whatever follows from being the delimiter, and both stay. TypeScript unescapes the
// first delimiter only.
func (l *lexer) quoted(delimiter byte) (token, error) {
	start := l.at
	l.at++
	for l.at < len(l.text) && l.text[l.at] != delimiter {
		if l.text[l.at] == '\\' {
			l.at++
		}
		l.at++
	}
	if l.at >= len(l.text) {
		return token{}, &SyntaxError{start, "an unclosed quotation"}
	}
	inner := l.text[start+1 : l.at]
	l.at++
	if delimiter == '"' {
		v, err := value.Parse(`"`+inner+`"`, l.language)
		name, isString := v.(string)
		if err != nil || !isString {
			return token{}, &SyntaxError{start, "not a JSON string"}
		}
		return token{kind: kindQuoted, text: name, at: start}, nil
	}
	unescaped := -1
	if l.language == value.JavaScript {
		unescaped = 1
	}
	inner = strings.Replace(inner, `\`+string(delimiter), string(delimiter), unescaped)
	if delimiter == '\'' {
		return token{kind: kindLiteral, value: inner, at: start}, nil
	}
	v, err := value.Parse(inner, l.language)
	if err != nil && l.language == value.Python { // deprecated, and still so
		v, err = value.Parse(`"`+strings.TrimLeftFunc(inner, value.IsPythonSpace)+`"`, l.language)
	}
	if err != nil {
		return token{}, &SyntaxError{start, "a literal that is not JSON"}
	}
	return token{kind: kindLiteral, value: v, at: start}, nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
