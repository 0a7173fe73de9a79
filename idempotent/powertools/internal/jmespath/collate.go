package jmespath

import (
	"cmp"
	"strings"
)

// collate compares two strings as localeCompare does, for ASCII, the root collation of
// ICU: first by primary weight, then lower case before upper case. False for other
// characters.
func collate(a, b string) (int, bool) {
	primary, tertiary := 0, 0
	if strings.ContainsFunc(a+b, func(r rune) bool { return r < ' ' || r > '~' }) {
		return 0, false
	}
	for i := range min(len(a), len(b)) {
		wa, wb := weight(a[i]), weight(b[i])
		if primary == 0 {
			primary = cmp.Compare(wa, wb)
		}
		if tertiary == 0 && wa == wb {
			tertiary = cmp.Compare(b[i], a[i]) // upper case has the lower code
		}
	}
	return cmp.Or(primary, cmp.Compare(len(a), len(b)), tertiary), true
}

// collation is the order of ASCII in ICU's root collation.
const collation = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"

func weight(c byte) int {
	if c >= 'A' && c <= 'Z' {
		c |= 0x20
	}
	return strings.IndexByte(collation, c)
}
