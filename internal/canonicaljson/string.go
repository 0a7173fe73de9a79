package canonicaljson

import (
	"encoding/binary"
	"math/bits"
)

// Text steps over a string. Most are short and have no escapes.
func (d Document) Text(at int) int {
	if d.Kind(at) != '"' {
		return d.unexpected(at)
	}
	at++
	for len(d)-at >= 8 {
		chunk := binary.LittleEndian.Uint64(d[at:])
		notable := zeroBytes(chunk^every*'"') | zeroBytes(chunk^every*'\\') | zeroBytes(chunk&(every*0xe0))
		if notable == 0 {
			at += 8
			continue
		}
		if at += bits.TrailingZeros64(notable) / 8; d[at] == '"' {
			return at + 1
		}
		break
	}
	end := endOfString(d, at)
	if end < 0 {
		return faultAt(at)
	}
	return end + 1
}

// plainText steps over a string whose text stands there as it is: ASCII without escapes.
// It returns false for all else.
func (d Document) plainText(at int) (end int, plain bool) {
	if d.Kind(at) != '"' {
		return at, false
	}
	at++
	for len(d)-at >= 8 {
		chunk := binary.LittleEndian.Uint64(d[at:])
		notable := zeroBytes(chunk^every*'"') | zeroBytes(chunk^every*'\\') | zeroBytes(chunk&(every*0xe0)) | chunk&(every*0x80)
		if notable != 0 {
			at += bits.TrailingZeros64(notable) / 8
			return at + 1, d[at] == '"'
		}
		at += 8
	}
	return at, false
}

// endOfString returns the index of the quote that ends a string, from a character
// of it on, or -1 if the string breaks the syntax.
//
// JSON in a string has an escape every few characters, so that a branch for each
// costs more than the rest. Eight bytes are therefore looked at together; in the
// words below the top bit of a byte says something about that byte.
func endOfString(document []byte, at int) int {
	const even, odd = 0x0080008000800080, 0x8000800080008000
	at = unicodeEscapes(document, at)
	carried := uint64(0) // the top bit of the first byte: it is escaped
	for len(document)-at >= 8 {
		chunk := binary.LittleEndian.Uint64(document[at:])
		quotes := zeroBytes(chunk ^ every*'"')
		backslashes := zeroBytes(chunk ^ every*'\\')
		controls := zeroBytes(chunk & (every * 0xe0))

		// A character is escaped if a run of backslashes of odd length precedes it
		// (simdjson's way to see that). Adding 1 where a run begins at an odd byte
		// carries through the run, and so turns the parity of the bytes behind it.
		escaping := backslashes &^ carried
		behind := escaping<<8 | carried
		runs, carry := bits.Add64((escaping&odd&^behind)>>7, escaping>>7*0xff, 0)
		escaped := (even ^ (runs&every)<<15) & behind

		notable := quotes&^escaped | controls | escaped&^(quotes|backslashes)
		if notable == 0 {
			at, carried = at+8, carry<<7
			continue
		}
		first := bits.TrailingZeros64(notable)
		at += first / 8
		if escaped>>first&1 == 0 {
			if document[at] != '"' {
				return -1 // a control character
			}
			return at
		}
		width := escapeWidth(document[at:])
		if width == 0 {
			return -1
		}
		at, carried = unicodeEscapes(document, at+width), 0
	}
	if carried != 0 {
		at-- // back to the backslash
	}
	for at < len(document) {
		switch c := document[at]; {
		case c == '"':
			return at
		case c == '\\':
			width := escapeWidth(document[at+1:])
			if width == 0 {
				return -1
			}
			at += 1 + width
		case c < ' ':
			return -1
		default:
			at++
		}
	}
	return -1
}

const every = 0x0101010101010101 // times a byte: eight of them

// zeroBytes sets the top bit of each byte that is 0.
func zeroBytes(chunk uint64) uint64 {
	const low = every * 0x7f
	return ^((chunk&low + low) | chunk | low)
}

// unicodeEscapes steps over the \uXXXX that stand there one behind another, as they
// do where a sender escapes all that is not ASCII.
func unicodeEscapes(document []byte, at int) int {
	for len(document)-at >= 6 && document[at] == '\\' && document[at+1] == 'u' && areHexDigits([4]byte(document[at+2:])) {
		at += 6
	}
	return at
}

// escapeWidth returns the length of the escape sequence behind a backslash, or 0.
func escapeWidth(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(text) >= 5 && areHexDigits([4]byte(text[1:])) {
			return 5
		}
	}
	return 0
}

func areHexDigits(c [4]byte) bool {
	return isHexDigit[c[0]]&isHexDigit[c[1]]&isHexDigit[c[2]]&isHexDigit[c[3]] == 1
}

// isHexDigit is 1 for a hexadecimal digit. Looking all four of an escape up at once
// leaves one branch, which is always taken alike.
var isHexDigit = func() (table [256]uint8) {
	for _, c := range "0123456789abcdefABCDEF" {
		table[c] = 1
	}
	return table
}()
