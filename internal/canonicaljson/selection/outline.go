package selection

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// Most of a large event is often one string: the body of a request. The tokenizer
// checks a string character by character, whether it is wanted or not. So long
// strings are checked and taken out first, and what the tokenizer finds in the
// outline that remains is looked up in the document.

const (
	// longString is the length from which a string is worth taking out.
	longString = 512
	// probe is how far into the document the first long string must begin for the
	// rest to be searched too: the headers of a request fit in.
	probe = 16 << 10
)

// cut says that outline[at:] continues at document[original:].
type cut struct{ at, original int }

// outline returns the document with its long strings emptied and notes the cuts.
// Without long strings, or if a string is not valid, it returns the document.
func (r *reader) outline() []byte {
	r.cuts, r.outlined = r.cuts[:0], r.outlined[:0]
	copied := 0
	for at := 0; at < probe || len(r.cuts) > 0; {
		quote := bytes.IndexByte(r.document[at:], '"')
		if quote < 0 {
			break
		}
		start := at + quote + 1
		end := endOfString(r.document, start)
		if end < 0 {
			r.cuts = r.cuts[:0]
			return r.document // for the tokenizer to say what is wrong
		}
		if end-start >= longString {
			r.outlined = append(r.outlined, r.document[copied:start]...)
			r.cuts = append(r.cuts, cut{at: len(r.outlined), original: end})
			copied = end
		}
		at = end + 1
	}
	if len(r.cuts) == 0 {
		return r.document
	}
	r.outlined = append(r.outlined, r.document[copied:]...)
	return r.outlined
}

// original returns where in the document an offset of the outline lies.
func (r *reader) original(offset int) int {
	after, _ := slices.BinarySearchFunc(r.cuts, offset, func(c cut, offset int) int { return c.at - offset })
	if after == 0 {
		return offset
	}
	c := r.cuts[after-1]
	return c.original + offset - c.at
}

// endOfString returns the index of the quote that ends the string whose first
// character is at, or -1 if the string breaks the syntax. Like the tokenizer for
// what is not selected, it lets invalid UTF-8 and lone surrogates pass.
//
// JSON in a string has an escape every few characters, so that a branch for each
// costs more than the rest. Eight bytes are therefore looked at together; in the
// words below the top bit of a byte says something about that byte.
func endOfString(document []byte, at int) int {
	const even, odd = 0x0080008000800080, 0x8000800080008000
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
		at, carried = at+width, 0
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

// escapeWidth returns the length of the escape sequence behind a backslash, or 0.
func escapeWidth(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(text) < 5 {
			return 0
		}
		for _, c := range text[1:5] {
			if strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
				return 0
			}
		}
		return 5
	}
	return 0
}
