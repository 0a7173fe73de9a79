package canonicaljson

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"slices"
)

// compareNames orders two names, canonical strings, by their code points.
func compareNames(a, b []byte) int {
	if x, y := a[1], b[1]; x != y && min(x, y) > '\\' {
		return int(x) - int(y) // most names differ in their first letter
	}
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

// haveTwins tells whether two of the members have names that differ only in case.
// There are no two of one name. Names are folded once and compared by a digest: many
// may have most of their text in common.
func (w *writer) haveTwins(text []byte, members []member) bool {
	w.folded = w.folded[:0]
	for _, m := range members {
		name := m.name(text)
		w.folded = append(w.folded, foldedName{digest: w.foldedDigest(name), start: m.start, end: m.nameEnd})
	}
	slices.SortFunc(w.folded, func(a, b foldedName) int { return cmp.Compare(a.digest, b.digest) })
	first := 0 // of those with the digest of f
	for i, f := range w.folded {
		if f.digest != w.folded[first].digest {
			first = i
		}
		for _, other := range w.folded[first:i] {
			if bytes.EqualFold(f.name(text), other.name(text)) {
				return true
			}
		}
	}
	return false
}

// foldedName is where a name stands in the output, with a digest of it without its case.
type foldedName struct{ digest, start, end uint32 }

func (f foldedName) name(text []byte) []byte { return text[f.start:f.end] }

// seed makes the digests of this process: nobody can choose names that share one.
var seed = maphash.MakeSeed()

// foldedDigest digests a name so that names which differ only in case have one digest.
// The text of a canonical string will do for the name: no escape in it has another case.
func (w *writer) foldedDigest(name []byte) uint32 {
	w.scratch = AppendFolded(slices.Grow(w.scratch[:0], len(name)), name) // never longer
	return uint32(maphash.Bytes(seed, w.scratch))
}
