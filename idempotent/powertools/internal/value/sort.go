package value

import (
	"slices"
	"strings"
	"unicode"
)

// deepSorted returns the names of an object in the order in which Powertools for
// TypeScript hashes them: by their lower-case forms, those with equal ones in the order
// in which they were. It puts the members into a new object one by one; so names that
// look like an index come first again, and one called __proto__ is lost, because
// setting it replaces the prototype. The error is an [*InexactError].
func deepSorted(o *Object) ([]string, error) {
	names := o.Names(JavaScript)
	lower := make(map[string][]uint16, len(names))
	for _, name := range names {
		if strings.ContainsFunc(name, isUnassigned) {
			return nil, Inexact("the name of a member has characters whose lower-case form depends on the version of Unicode")
		}
		lower[name] = Units(Lower(name))
	}
	slices.SortStableFunc(names, func(a, b string) int { return slices.Compare(lower[a], lower[b]) })
	names = slices.DeleteFunc(names, func(name string) bool { return name == prototype })
	indexFirst(names)
	return names, nil
}

const prototype = "__proto__"

// isUnassigned tells whether a later version of Unicode than Go's may have made a
// character, and a capital letter, of a code point.
func isUnassigned(r rune) bool { return unicode.Is(unicode.Cn, r) }

// Lower is JavaScript's toLowerCase: the full mapping of Unicode's SpecialCasing,
// without languages.
func Lower(s string) string {
	runes := Runes(s)
	lower := make([]rune, 0, len(runes))
	for i, r := range runes {
		switch {
		case r == 'İ':
			lower = append(lower, 'i', '\u0307')
		case r == 'Σ' && isFinal(runes, i):
			lower = append(lower, 'ς')
		default:
			lower = append(lower, unicode.ToLower(r))
		}
	}
	return FromRunes(lower)
}

// isFinal tells whether the sigma there ends a word (SpecialCasing, Final_Sigma).
func isFinal(runes []rune, at int) bool {
	before := at - 1
	for before >= 0 && isCaseIgnorable(runes[before]) {
		before--
	}
	behind := at + 1
	for behind < len(runes) && isCaseIgnorable(runes[behind]) {
		behind++
	}
	return before >= 0 && isCased(runes[before]) && (behind == len(runes) || !isCased(runes[behind]))
}

func isCased(r rune) bool {
	return unicode.In(r, unicode.Lower, unicode.Upper, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// isCaseIgnorable is Unicode's Case_Ignorable. The single characters are those whose
// Word_Break is MidLetter, MidNumLet or Single_Quote.
func isCaseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055f', '\u05f4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\ufe13', '\ufe52', '\ufe55', '\uff07', '\uff0e', '\uff1a':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
