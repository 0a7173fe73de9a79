package value

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrSyntax reports a text that the language's JSON parser refuses.
var ErrSyntax = errors.New("not valid JSON")

// MaxDepth is how deep values may be nested. CPython's recursion limit is 1000, of
// which the functions that parse, evaluate and write use some.
const MaxDepth = 300

// maxDigits is the length of the longest integer that CPython parses, since 3.11.
const maxDigits = 4300

// Parse reads a JSON text: json.loads, JSON.parse. The error is [ErrSyntax] or an
// [*InexactError].
func Parse(text string, l Language) (Value, error) { return parse(parser{text: text, language: l}) }

// ParseWithin is Parse within a budget: for texts that an expression has found.
func ParseWithin(b *Budget, text string, l Language) (Value, error) {
	return parse(parser{text: text, language: l, budget: b})
}

func parse(p parser) (Value, error) {
	if !utf8.ValidString(p.text) && hasNoSurrogates(p.text) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrSyntax)
	}
	v, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.syntax()
	}
	return v, nil
}

// hasNoSurrogates tells whether text that is not UTF-8 is none for another reason
// than lone surrogates.
func hasNoSurrogates(text string) bool {
	for i := 0; i < len(text); {
		_, size := decode(text[i:])
		if size == 0 {
			return true
		}
		i += size
	}
	return false
}

type parser struct {
	text     string
	at       int
	language Language
	budget   *Budget // nil for none
}

func (p *parser) syntax() error { return fmt.Errorf("%w at byte %d", ErrSyntax, p.at) }

func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next steps over white space and returns the byte behind it, 0 at the end.
func (p *parser) next() byte {
	p.space()
	return p.peek()
}

func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) literal(word string) bool {
	if !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

func (p *parser) value(depth int) (Value, error) {
	if depth > MaxDepth {
		return nil, Inexact("JSON nested more than %d deep", MaxDepth)
	}
	if p.budget != nil {
		if err := p.budget.Steps(parsedCost); err != nil {
			return nil, err
		}
	}
	switch c := p.next(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		return p.string()
	case p.literal("null"):
		return nil, nil
	case p.literal("true"):
		return true, nil
	case p.literal("false"):
		return false, nil
	case p.language == Python && p.literal("NaN"):
		return math.NaN(), nil
	case p.language == Python && p.literal("Infinity"):
		return math.Inf(1), nil
	case p.language == Python && p.literal("-Infinity"):
		return math.Inf(-1), nil
	default:
		return p.number()
	}
}

func (p *parser) object(depth int) (Value, error) {
	o := NewObject()
	p.at++
	if p.next() == '}' {
		p.at++
		return o, nil
	}
	for {
		if p.next() != '"' {
			return nil, p.syntax()
		}
		name, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.next() != ':' {
			return nil, p.syntax()
		}
		p.at++
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		o.Set(name, v)
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return o, nil
		default:
			return nil, p.syntax()
		}
	}
}

func (p *parser) array(depth int) (Value, error) {
	a := new(Array)
	p.at++
	if p.next() == ']' {
		p.at++
		return a, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		a.Items = append(a.Items, v)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return a, nil
		default:
			return nil, p.syntax()
		}
	}
}

func (p *parser) string() (string, error) {
	p.at++
	var s []byte
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if p.language == JavaScript {
				return Pair(string(s)), nil
			}
			return string(s), nil
		case c == '\\':
			escaped, err := p.escape()
			if err != nil {
				return "", err
			}
			s = encode(s, escaped)
		case c < ' ':
			return "", p.syntax()
		default:
			s = append(s, c)
			p.at++
		}
	}
	return "", p.syntax()
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads an escape sequence, and two of them if they are a surrogate pair.
func (p *parser) escape() (rune, error) {
	p.at++
	c, known := escapes[p.peek()]
	if known {
		p.at++
		return c, nil
	}
	c, ok := p.unicode()
	if !ok {
		return 0, p.syntax()
	}
	if isHigh(c) && strings.HasPrefix(p.text[p.at:], `\u`) {
		before := p.at
		p.at++
		if low, ok := p.unicode(); ok && isLow(low) {
			return joined(c, low), nil
		}
		p.at = before
	}
	return c, nil
}

// unicode reads uXXXX.
func (p *parser) unicode() (rune, bool) {
	if p.peek() != 'u' || len(p.text)-p.at < 5 {
		return 0, false
	}
	n, err := strconv.ParseUint(p.text[p.at+1:p.at+5], 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += 5
	return rune(n), true
}
