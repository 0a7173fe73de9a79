package dynamotest

import (
	"strings"
	"unicode/utf8"
)

// tokenKind classifies the tokens of the expression grammars.
type tokenKind int

const (
	tokenEnd     tokenKind = iota
	tokenWord              // an attribute name or a function
	tokenKeyword           // AND OR NOT BETWEEN IN SET REMOVE ADD DELETE, in any case
	tokenName              // #name
	tokenValue             // :value
	tokenNumber            // digits, only inside [ ]
	tokenSymbol            // = <> < <= > >= + - ( ) [ ] , .
	tokenBad               // a character no grammar knows
)

// token is one token of an expression and where it stands in it.
type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// is reports whether the token is that symbol.
func (t token) is(symbol string) bool { return t.kind == tokenSymbol && t.text == symbol }

// isKeyword reports whether the token is that keyword, in any case.
func (t token) isKeyword(keyword string) bool {
	return t.kind == tokenKeyword && strings.EqualFold(t.text, keyword)
}

// tokenize splits an expression; the last token is always tokenEnd. It never fails: what it can't read
// becomes a tokenBad, for the parser to stumble over at the right place.
func tokenize(text string) []token {
	tokens := make([]token, 0, len(text)/3+1) // enough for most
	for at := 0; ; {
		at += len(text[at:]) - len(strings.TrimLeft(text[at:], " \t\r\n"))
		if at == len(text) {
			return append(tokens, token{kind: tokenEnd, text: "<EOF>", start: at, end: at})
		}
		kind, length := nextToken(text[at:])
		tokens = append(tokens, token{kind, text[at : at+length], at, at + length})
		at += length
	}
}

func nextToken(rest string) (tokenKind, int) {
	switch c := rest[0]; {
	case isLetter(c):
		length := lengthOf(rest, isWordByte)
		if length <= longestKeyword && keywords[strings.ToUpper(rest[:length])] {
			return tokenKeyword, length
		}
		return tokenWord, length
	case isDigit(c):
		return tokenNumber, lengthOf(rest, isDigit)
	case c == '#' || c == ':':
		length := 1 + lengthOf(rest[1:], isWordByte)
		switch {
		case length == 1:
			return tokenBad, 1
		case c == '#':
			return tokenName, length
		default:
			return tokenValue, length
		}
	case strings.HasPrefix(rest, "<>"), strings.HasPrefix(rest, "<="), strings.HasPrefix(rest, ">="):
		return tokenSymbol, 2
	case strings.IndexByte("=<>+-()[],.", c) >= 0:
		return tokenSymbol, 1
	default:
		_, length := utf8.DecodeRuneInString(rest)
		return tokenBad, length
	}
}

// keywords of all the grammars; none of them may name an attribute in any.
var keywords = map[string]bool{
	"AND": true, "OR": true, "NOT": true, "BETWEEN": true, "IN": true,
	"SET": true, "REMOVE": true, "ADD": true, "DELETE": true,
}

const longestKeyword = len("BETWEEN")

func lengthOf(s string, accept func(byte) bool) int {
	n := 0
	for n < len(s) && accept(s[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) }
