package canonicaljson

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// Folded returns one text for all names that encoding/json takes for one: those that
// are equal under Unicode simple folding (bytes.EqualFold).
func Folded(name string) string { return string(AppendFolded(nil, []byte(name))) }

// AppendFolded appends the folded form of a name.
func AppendFolded(dst, name []byte) []byte {
	for i := 0; i < len(name); {
		if c := name[i]; c < utf8.RuneSelf {
			dst = append(dst, lower(c))
			i++
			continue
		}
		r, width := utf8.DecodeRune(name[i:])
		dst = utf8.AppendRune(dst, leastFolded(r))
		i += width
	}
	return dst
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// leastFolded returns the same character for all that are one without their case: the
// lower-case letter where one of them is ASCII.
func leastFolded(r rune) rune {
	least := unicode.MaxRune
	for other := unicode.SimpleFold(r); ; other = unicode.SimpleFold(other) {
		if other < 'A' || 'Z' < other {
			least = min(least, other)
		}
		if other == r {
			return least
		}
	}
}

// HasCase tells whether a name can be another one in a different case. Of names
// without upper case that are ASCII no two are.
func HasCase(name []byte) bool {
	for _, c := range name {
		if 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

// IsASCII tells whether a name is ASCII.
func IsASCII(name []byte) bool {
	for _, c := range name {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// HaveTwins tells whether some of the names, all of them distinct, differ only in case.
func HaveTwins(names iter.Seq[string]) bool {
	seen := make(map[string]bool)
	for name := range names {
		folded := Folded(name)
		if seen[folded] {
			return true
		}
		seen[folded] = true
	}
	return false
}
