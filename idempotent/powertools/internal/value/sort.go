package value

import (
	"slices"
	"strings"
	"unicode"
)

// DeepSort is the sorting that Powertools for TypeScript does before it hashes: the
// members of all objects by the lower-case form of their names, those with equal ones
// in the order in which they were. It puts the members into new objects, one by one;
// so names that look like an index come first again, and one called __proto__ is
// lost, because setting it replaces the prototype. The error is an [*InexactError].
func DeepSort(v Value) (Value, error) {
	switch v := v.(type) {
	case *Array:
		sorted := &Array{Items: make([]Value, len(v.Items))}
		for i, item := range v.Items {
			var err error
			if sorted.Items[i], err = DeepSort(item); err != nil {
				return nil, err
			}
		}
		return sorted, nil
	case *Object:
		type member struct {
			name  string
			lower []uint16
		}
		var members []member
		for _, name := range v.Names(JavaScript) {
			if strings.ContainsFunc(name, isUnassigned) {
				return nil, Inexact("the name of a member has characters whose lower-case form depends on the version of Unicode")
			}
			members = append(members, member{name, Units(Lower(name))})
		}
		slices.SortStableFunc(members, func(a, b member) int { return slices.Compare(a.lower, b.lower) })
		sorted := NewObject()
		for _, m := range members {
			if m.name != prototype {
				inner, err := DeepSort(v.members[m.name])
				if err != nil {
					return nil, err
				}
				sorted.Set(m.name, inner)
			}
		}
		return sorted, nil
	default:
		return v, nil
	}
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
