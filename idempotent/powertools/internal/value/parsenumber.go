package value

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

func (p *parser) number() (Value, error) {
	start := p.at
	p.literal("-")
	if p.peek() == '0' {
		p.at++
	} else if p.digits() == 0 {
		return nil, p.syntax()
	}
	isInteger := true
	if p.peek() == '.' {
		before := p.at
		p.at++
		if p.digits() == 0 {
			p.at = before
			return nil, p.syntax()
		}
		isInteger = false
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return nil, p.syntax()
		}
		isInteger = false
	}
	text := p.text[start:p.at]
	if isInteger && p.language == Python {
		return ParseInteger(text)
	}
	f, _ := strconv.ParseFloat(text, 64) // what is out of range is infinite, as there
	return f, nil
}

// ParseInteger reads the digits of an integer for Python.
func ParseInteger(digits string) (Value, error) {
	if len(strings.TrimLeft(digits, "+-")) > maxDigits {
		return nil, fmt.Errorf("%w: an integer of more than %d digits", ErrSyntax, maxDigits)
	}
	n, ok := new(big.Int).SetString(digits, 10)
	if !ok {
		return nil, ErrSyntax
	}
	return n, nil
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}
