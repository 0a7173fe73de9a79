package canonicaljson

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Document is a JSON text. Its methods step over one thing each, from its position
// to the one behind it. They find every fault of the syntax, but let invalid UTF-8
// and lone surrogates pass: whoever unquotes a string looks for those.
//
// A key is often one field of a large event, so that stepping over the rest is most
// of the work. Hence positions that stay in registers, and no tokenizer: that keeps
// track of more than is asked here, and takes longer.
//
// A negative position stands for a fault. A method that is given one returns it, so
// that whoever steps on and on need not look before the end.
type Document []byte

// faultAt is the position that stands for a fault at another one.
func faultAt(at int) int { return ^at }

const (
	tooDeep   = math.MinInt // the fault of a value with more than maxLevels levels
	maxLevels = 10000       // of arrays and objects in each other
)

// Fault returns the error that a negative position stands for.
func (d Document) Fault(at int) error {
	switch {
	case at == tooDeep:
		return ErrDepth
	case len(bytes.Trim(d, " \t\r\n")) == 0:
		return ErrNoValue
	}
	return SyntaxFault(faultAt(at))
}

// Kind returns the character at a position, and 0 if there is none.
func (d Document) Kind(at int) byte {
	if uint(at) >= uint(len(d)) {
		return 0
	}
	return d[at]
}

// Space steps over white space, if there is any. There seldom is.
func (d Document) Space(at int) int {
	if uint(at) < uint(len(d)) && d[at] > ' ' {
		return at
	}
	return d.indentation(at)
}

// indentation steps over white space of which there is some.
func (d Document) indentation(at int) int {
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

// Value steps over a value inside of that many arrays and objects.
func (d Document) Value(at, level int) int {
	switch c := d.Kind(at); c {
	case '"':
		return d.Text(at)
	case '{':
		at, more := d.Open(at, '}', level)
		for more {
			at = d.Value(d.Colon(d.Text(at)), level+1)
			at, more = d.Next(at, '}')
		}
		return at
	case '[':
		at, more := d.Open(at, ']', level)
		for more {
			at, more = d.Next(d.Value(at, level+1), ']')
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

// Open steps into an array or object, to its first element or name. If it has none
// it steps over it, and returns false, as it does at a fault.
func (d Document) Open(at int, closing byte, level int) (int, bool) {
	if level >= maxLevels {
		return tooDeep, false
	}
	at = d.Space(at + 1)
	if d.Kind(at) == closing {
		return at + 1, false
	}
	return at, true
}

// Next steps from behind an element or member to the next one. If there is none it
// steps out of the array or object, and returns false, as it does at a fault.
func (d Document) Next(at int, closing byte) (int, bool) {
	at = d.Space(at)
	switch d.Kind(at) {
	case ',':
		return d.Space(at + 1), true
	case closing:
		return at + 1, false
	}
	return d.unexpected(at), false
}

// Colon steps from behind a name to its value.
func (d Document) Colon(at int) int {
	at = d.Space(at)
	if d.Kind(at) != ':' {
		return d.unexpected(at)
	}
	return d.Space(at + 1)
}

// unexpected is the fault of what stands at a position, unless there was one before.
func (d Document) unexpected(at int) int {
	if at < 0 {
		return at
	}
	return faultAt(at)
}

func (d Document) literal(at int, text string) int {
	if !bytes.HasPrefix(d[at:], []byte(text)) {
		return faultAt(at)
	}
	return at + len(text)
}

func (d Document) number(at int) int {
	if d.Kind(at) == '-' {
		at++
	}
	if d.Kind(at) == '0' {
		at++
	} else {
		at = d.digits(at)
	}
	if d.Kind(at) == '.' {
		at = d.digits(at + 1)
	}
	if c := d.Kind(at); c == 'e' || c == 'E' {
		at++
		if c := d.Kind(at); c == '+' || c == '-' {
			at++
		}
		at = d.digits(at)
	}
	return at
}

// digits steps over digits, at least one.
func (d Document) digits(at int) int {
	start := at
	for uint(at) < uint(len(d)) && d[at]-'0' <= 9 {
		at++
	}
	if at == start {
		return d.unexpected(at)
	}
	return at
}

// End makes sure that nothing but white space follows.
func (d Document) End(at int) error {
	at = d.Space(at)
	switch {
	case at == len(d):
		return nil
	case d.Value(at, 0) >= 0:
		return ErrSeveralValues
	}
	return d.Fault(faultAt(at))
}
