package selection

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// document is a JSON text. Its methods step over one thing each, from its position
// to the one behind it. They find every fault of the syntax, but let invalid UTF-8
// and lone surrogates pass: whoever unquotes a string looks for those.
//
// A key is often one field of a large event, so that stepping over the rest is most
// of the work. Hence positions that stay in registers, and no tokenizer: that keeps
// track of more than is asked here, and takes longer.
//
// A negative position stands for a fault. A method that is given one returns it, so
// that whoever steps on and on need not look before the end.
type document []byte

// faultAt is the position that stands for a fault at another one.
func faultAt(at int) int { return ^at }

const (
	tooDeep   = math.MinInt // the fault of a value with more than maxLevels levels
	maxLevels = 10000       // of arrays and objects in each other
)

// fault returns the error that a negative position stands for.
func (d document) fault(at int) error {
	switch {
	case at == tooDeep:
		return canonicaljson.ErrDepth
	case len(bytes.Trim(d, " \t\r\n")) == 0:
		return canonicaljson.ErrNoValue
	}
	return canonicaljson.SyntaxFault(faultAt(at))
}

// kind returns the character at a position, and 0 if there is none.
func (d document) kind(at int) byte {
	if uint(at) >= uint(len(d)) {
		return 0
	}
	return d[at]
}

// space steps over white space, if there is any. There seldom is.
func (d document) space(at int) int {
	if uint(at) < uint(len(d)) && d[at] > ' ' {
		return at
	}
	return d.indentation(at)
}

// indentation steps over white space of which there is some.
func (d document) indentation(at int) int {
	if uint(at) >= uint(len(d)) || !isSpace[d[at]] {
		return at
	}
	at++
	for len(d)-at >= 8 && binary.LittleEndian.Uint64(d[at:]) == every*' ' {
		at += 8
	}
	for at < len(d) && isSpace[d[at]] {
		at++
	}
	return at
}

var isSpace = [256]bool{' ': true, '\n': true, '\r': true, '\t': true}

// value steps over a value inside of that many arrays and objects.
func (d document) value(at, level int) int {
	switch c := d.kind(at); c {
	case '"':
		return d.string(at)
	case '{':
		at, more := d.open(at, '}', level)
		for more {
			at = d.value(d.colon(d.string(at)), level+1)
			at, more = d.next(at, '}')
		}
		return at
	case '[':
		at, more := d.open(at, ']', level)
		for more {
			at, more = d.next(d.value(at, level+1), ']')
		}
		return at
	case 't':
		return d.literal(at, "true")
	case 'f':
		return d.literal(at, "false")
	case 'n':
		return d.literal(at, "null")
	}
	return d.number(at)
}

// open steps into an array or object, to its first element or name. If it has none
// it steps over it, and returns false, as it does at a fault.
func (d document) open(at int, closing byte, level int) (int, bool) {
	if level >= maxLevels {
		return tooDeep, false
	}
	at = d.space(at + 1)
	if d.kind(at) == closing {
		return at + 1, false
	}
	return at, true
}

// next steps from behind an element or member to the next one. If there is none it
// steps out of the array or object, and returns false, as it does at a fault.
func (d document) next(at int, closing byte) (int, bool) {
	at = d.space(at)
	switch d.kind(at) {
	case ',':
		return d.space(at + 1), true
	case closing:
		return at + 1, false
	}
	return d.unexpected(at), false
}

// colon steps from behind a name to its value.
func (d document) colon(at int) int {
	at = d.space(at)
	if d.kind(at) != ':' {
		return d.unexpected(at)
	}
	return d.space(at + 1)
}

// unexpected is the fault of what stands at a position, unless there was one before.
func (d document) unexpected(at int) int {
	if at < 0 {
		return at
	}
	return faultAt(at)
}

func (d document) literal(at int, text string) int {
	if !bytes.HasPrefix(d[at:], []byte(text)) {
		return faultAt(at)
	}
	return at + len(text)
}

func (d document) number(at int) int {
	if d.kind(at) == '-' {
		at++
	}
	if d.kind(at) == '0' {
		at++
	} else {
		at = d.digits(at)
	}
	if d.kind(at) == '.' {
		at = d.digits(at + 1)
	}
	if c := d.kind(at); c == 'e' || c == 'E' {
		at++
		if c := d.kind(at); c == '+' || c == '-' {
			at++
		}
		at = d.digits(at)
	}
	return at
}

// digits steps over digits, at least one.
func (d document) digits(at int) int {
	start := at
	for uint(at) < uint(len(d)) && d[at]-'0' <= 9 {
		at++
	}
	if at == start {
		return d.unexpected(at)
	}
	return at
}

// end makes sure that nothing but white space follows.
func (d document) end(at int) error {
	at = d.space(at)
	switch {
	case at == len(d):
		return nil
	case d.value(at, 0) >= 0:
		return canonicaljson.ErrSeveralValues
	}
	return d.fault(faultAt(at))
}
