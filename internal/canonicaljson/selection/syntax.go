package selection

import "strings"

// token is text[start:end] of an expression.
type token struct{ start, end int }

// quotedTokens finds the quoted identifiers, literals and raw strings in the text of
// an expression that parses, for the syntax tree does not keep how they are
// written. It quotes exactly as go-jmespath's lexer does.
func quotedTokens(text string) []token {
	var tokens []token
	for at := 0; at < len(text); at++ {
		start := at
		switch text[at] {
		case '"', '`':
			at = closingQuote(text, start)
		case '\'':
			at = closingApostrophe(text, start)
		default:
			continue
		}
		tokens = append(tokens, token{start: start, end: at + 1})
	}
	return tokens
}

// closingQuote finds the end of a token in which a backslash escapes any
// character.
func closingQuote(text string, start int) int {
	at := start + 1
	for at < len(text)-1 && text[at] != text[start] {
		if text[at] == '\\' {
			at++
		}
		at++
	}
	return at
}

// closingApostrophe finds the end of a raw string, in which a backslash escapes
// nothing but an apostrophe.
func closingApostrophe(text string, start int) int {
	at := start + 1
	for at < len(text)-1 && text[at] != '\'' {
		if strings.HasPrefix(text[at:], `\'`) {
			at++
		}
		at++
	}
	return at
}
