package canonicaljson

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// member is where one object member stands in the output: "name":value. It is kept
// small: an object of six megabytes has a million of them.
type member struct {
	start, nameEnd, end uint32
	folded              uint32 // a digest of the name without its case
}

// name returns the name of a member in canonical text, with its quotes.
func (m member) name(text []byte) []byte { return text[m.start:m.nameEnd] }

// compareNames orders two names, canonical strings, by their code points.
func compareNames(a, b []byte) int {
	a, b = a[1:len(a)-1], b[1:len(b)-1]
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a, b)
	}
	for len(a) > 0 && len(b) > 0 {
		var x, y byte
		x, a = firstByte(a)
		y, b = firstByte(b)
		if x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// firstByte returns the first byte of what canonical text stands for, and the rest of
// the text. What it writes as an escape is one byte.
func firstByte(text []byte) (first byte, rest []byte) {
	if text[0] != '\\' {
		return text[0], text[1:]
	}
	switch c := text[1]; c {
	case 'b':
		return '\b', text[2:]
	case 't':
		return '\t', text[2:]
	case 'n':
		return '\n', text[2:]
	case 'f':
		return '\f', text[2:]
	case 'r':
		return '\r', text[2:]
	case 'u': // 00xx, of a control character
		return (text[4]-'0')<<4 | hexDigit(text[5]), text[6:]
	default:
		return c, text[2:]
	}
}

func hexDigit(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// foldedDigest digests a name so that names which differ only in case have one digest.
// The text of a canonical string will do for the name: no escape in it has another case.
func foldedDigest(name []byte) (digest uint32) {
	for i := 0; i < len(name); {
		c, width := rune(lower(name[i])), 1
		if c >= utf8.RuneSelf {
			c, width = utf8.DecodeRune(name[i:])
			c = leastFolded(c)
		}
		digest = digest*31 + uint32(c)
		i += width
	}
	return digest
}

// fewMembers is up to how many members it is cheaper to compare each with each.
const fewMembers = 40

// haveTwins tells whether two of the members have names that differ only in case.
// There are no two of one name.
func (w *writer) haveTwins(text []byte, members []member) bool {
	if len(members) > fewMembers {
		w.folded = append(w.folded[:0], members...)
		slices.SortFunc(w.folded, func(a, b member) int { return compareFolded(a.name(text), b.name(text)) })
		for i, m := range w.folded[1:] {
			if bytes.EqualFold(w.folded[i].name(text), m.name(text)) {
				return true
			}
		}
		return false
	}
	for i, m := range members {
		for _, other := range members[:i] {
			if m.folded == other.folded && bytes.EqualFold(m.name(text), other.name(text)) {
				return true
			}
		}
	}
	return false
}

// compareFolded orders names so that those which differ only in case are equal.
func compareFolded(a, b []byte) int {
	for len(a) > 0 && len(b) > 0 {
		x, widthX := utf8.DecodeRune(a)
		y, widthY := utf8.DecodeRune(b)
		if x != y {
			if x, y = leastFolded(x), leastFolded(y); x != y {
				return int(x) - int(y)
			}
		}
		a, b = a[widthX:], b[widthY:]
	}
	return len(a) - len(b)
}
