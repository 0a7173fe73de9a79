package selection

import (
	"strings"
)

// tokenKind tells apart what has to be found in the text of an expression because
// the syntax tree does not keep it: where a part begins and ends, and the digits
// of a literal.
type tokenKind int

const (
	other tokenKind = iota
	identifier
	quotedIdentifier
	rawString
	literal
	opening
	closing
	or
	pipe
)

// token is text[start:end] of the expression.
type token struct {
	kind       tokenKind
	start, end int
}

// tokenize splits the text of an expression that parses. It quotes and pairs
// characters exactly as go-jmespath's lexer does.
func tokenize(text string) []token {
	var tokens []token
	for at := 0; at < len(text); {
		t := token{start: at, end: at + 1}
		switch c := text[at]; {
		case isIdentifierStart(c):
			t.kind = identifier
			for t.end < len(text) && (isIdentifierStart(text[t.end]) || '0' <= text[t.end] && text[t.end] <= '9') {
				t.end++
			}
		case c == '"':
			t.kind, t.end = quotedIdentifier, closingQuote(text, at)
		case c == '`':
			t.kind, t.end = literal, closingQuote(text, at)
		case c == '\'':
			t.kind, t.end = rawString, closingApostrophe(text, at)
		case strings.IndexByte("([{", c) >= 0:
			t.kind = opening
		case strings.IndexByte(")]}", c) >= 0:
			t.kind = closing
		case strings.HasPrefix(text[at:], "||"):
			t.kind, t.end = or, at+2
		case c == '|':
			t.kind = pipe
		case strings.IndexByte(" \t\r\n", c) >= 0:
			at++
			continue
		}
		tokens = append(tokens, t)
		at = t.end
	}
	return tokens
}

func isIdentifierStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

// closingQuote finds the end of a token in which a backslash escapes any
// character.
func closingQuote(text string, start int) int {
	for at := start + 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case text[start]:
			return at + 1
		}
	}
	return len(text)
}

// closingApostrophe finds the end of a raw string, in which a backslash escapes
// nothing but an apostrophe.
func closingApostrophe(text string, start int) int {
	for at := start + 1; at < len(text); at++ {
		switch {
		case strings.HasPrefix(text[at:], `\'`):
			at++
		case text[at] == '\'':
			return at + 1
		}
	}
	return len(text)
}

// splitAlternatives cuts a || b || c at the operators that stand outside all
// brackets. An expression with a pipe there is one alternative, for a pipe binds
// weaker than ||.
func splitAlternatives(text string) []string {
	var alternatives []string
	depth, start := 0, 0
	for _, t := range tokenize(text) {
		switch {
		case t.kind == opening:
			depth++
		case t.kind == closing:
			depth--
		case t.kind == pipe && depth == 0:
			return []string{text}
		case t.kind == or && depth == 0:
			alternatives = append(alternatives, text[start:t.start])
			start = t.end
		}
	}
	return append(alternatives, text[start:])
}

// matchingClose returns the index of the token that closes tokens[open].
func matchingClose(tokens []token, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch tokens[i].kind {
		case opening:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens) - 1
}
