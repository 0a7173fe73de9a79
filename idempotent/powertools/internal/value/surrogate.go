package value

import (
	"strings"
	"unicode/utf8"
)

// decode returns the first code point, also a lone surrogate, and its size; 0 for
// what is neither.
func decode(s string) (rune, int) {
	if r, size := utf8.DecodeRuneInString(s); size > 1 || r != utf8.RuneError {
		return r, size
	}
	if len(s) >= 3 && s[0] == 0xed && s[1]&0xe0 == 0xa0 && s[2]&0xc0 == 0x80 {
		return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), 3
	}
	return 0, 0
}

// encode appends a code point, also a lone surrogate.
func encode(dst []byte, r rune) []byte {
	if isHigh(r) || isLow(r) {
		return append(dst, 0xed, 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// Runes returns the code points of a string.
func Runes(s string) []rune {
	runes := make([]rune, 0, len(s))
	for len(s) > 0 {
		r, size := decode(s)
		runes = append(runes, r)
		s = s[size:]
	}
	return runes
}

// FromRunes returns the string of code points.
func FromRunes(runes []rune) string {
	var s []byte
	for _, r := range runes {
		s = encode(s, r)
	}
	return string(s)
}

// Units returns the UTF-16 code units of a string.
func Units(s string) []uint16 {
	units := make([]uint16, 0, len(s))
	for _, r := range Runes(s) {
		if r >= 0x10000 {
			units = append(units, 0xd800|uint16((r-0x10000)>>10), 0xdc00|uint16(r-0x10000)&0x3ff)
			continue
		}
		units = append(units, uint16(r))
	}
	return units
}

// FromUnits returns the string of UTF-16 code units.
func FromUnits(units []uint16) string {
	return Pair(separate(units))
}

// Separate returns a string with its pairs of surrogates apart, to be searched by code
// units.
func Separate(s string) string { return separate(Units(s)) }

func separate(units []uint16) string {
	runes := make([]rune, len(units))
	for i, unit := range units {
		runes[i] = rune(unit)
	}
	return FromRunes(runes)
}

// Pair joins the surrogates that have come to stand together, as they do in
// JavaScript's strings by themselves.
func Pair(s string) string {
	if !strings.Contains(s, "\xed") {
		return s
	}
	var paired []rune
	for _, r := range Runes(s) {
		if last := len(paired) - 1; last >= 0 && isHigh(paired[last]) && isLow(r) {
			paired[last] = joined(paired[last], r)
			continue
		}
		paired = append(paired, r)
	}
	return FromRunes(paired)
}

func isHigh(r rune) bool { return r >= 0xd800 && r < 0xdc00 }

func isLow(r rune) bool { return r >= 0xdc00 && r < 0xe000 }

func joined(high, low rune) rune { return 0x10000 + (high-0xd800)<<10 + (low - 0xdc00) }
