package canonicaljson

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// maxExponent bounds the decimal exponent of a number. Doubles end at 308 and
// the widest decimal type of IEEE 754 at 6144; beyond that an exponent says more
// about the sender than about the value.
const maxExponent = 9999

var (
	// ErrExponent reports a number whose decimal exponent is beyond ±9999.
	ErrExponent = errors.New("number with an exponent beyond ±9999")
	// ErrNotFinite reports a computed number that JSON cannot hold: an infinity
	// or not a number.
	ErrNotFinite = errors.New("computed number is not finite")
)

// Number is a number that a float64 cannot hold without changing it, as its
// canonical text. Equal numbers are therefore equal strings.
type Number string

// MarshalJSON writes the digits, so that a Number inside a tree marshals as the
// number it is.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// ParseNumber gives the Go value of the JSON number text: a float64 where that
// is the same number (its shortest decimal text has the same canonical form),
// else a Number.
func ParseNumber(text []byte) (any, error) {
	canonical, err := AppendNumber(nil, text)
	if err != nil {
		return nil, err
	}
	if f, err := strconv.ParseFloat(string(canonical), 64); err == nil { // else it is beyond the range
		var buf [32]byte
		if shortest, _ := AppendFloat(buf[:0], f); bytes.Equal(shortest, canonical) {
			return f, nil
		}
	}
	return Number(canonical), nil
}

// AppendFloat appends the canonical text of the shortest decimal that reads back
// as f. Infinities and NaN give ErrNotFinite.
func AppendFloat(dst []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, ErrNotFinite
	}
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(dst, int64(f), 10), nil
	}
	var buf [32]byte
	return AppendNumber(dst, strconv.AppendFloat(buf[:0], f, 'e', -1, 64))
}

// AppendNumber appends the canonical text of the JSON number text, which must be
// syntactically valid.
func AppendNumber(dst, text []byte) ([]byte, error) {
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	whole, fraction, exponent := splitNumber(text)
	fraction = bytes.TrimRight(fraction, "0")
	leading := whole[0] == '0' && (len(fraction) == 0 || fraction[0] == '0')
	if exponent == 0 && !leading && len(whole) <= maxPlainDigits {
		return appendPlain(dst, negative, whole, fraction), nil // most numbers
	}

	// The value is 0.digits times ten to the point.
	var buf [64]byte
	digits := append(append(buf[:0], whole...), fraction...)
	significant := bytes.TrimLeft(digits, "0")
	point := len(whole) - (len(digits) - len(significant)) + exponent
	significant = bytes.TrimRight(significant, "0")
	if len(significant) == 0 {
		return append(dst, '0'), nil
	}
	if point-1 > maxExponent || point-1 < -maxExponent {
		return dst, ErrExponent
	}
	if negative {
		dst = append(dst, '-')
	}
	return appendDigits(dst, significant, point), nil
}

// appendPlain writes a number that needs no other layout than it has.
func appendPlain(dst []byte, negative bool, whole, fraction []byte) []byte {
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, whole...)
	if len(fraction) == 0 {
		return dst
	}
	return append(append(dst, '.'), fraction...)
}

// splitNumber cuts a number without its sign into parts. Most are a few digits, which a loop
// is through before a search has begun.
func splitNumber(text []byte) (whole, fraction []byte, exponent int) {
	mantissa, point := text, -1
	for at, c := range text {
		if c == '.' {
			point = at
		}
		if c == 'e' || c == 'E' {
			mantissa, exponent = text[:at], parseExponent(text[at+1:])
			break
		}
	}
	if point < 0 {
		return mantissa, nil, exponent
	}
	return mantissa[:point], mantissa[point+1:], exponent
}

// parseExponent reads an exponent. One too large for the limit saturates far outside it, but
// near enough that adding the length of a mantissa cannot overflow.
func parseExponent(text []byte) int {
	const far = math.MaxInt / 2
	exponent, err := strconv.Atoi(string(text))
	switch {
	case err == nil && exponent >= -far && exponent <= far:
		return exponent
	case text[0] == '-':
		return -far
	default:
		return far
	}
}

// maxPlainDigits is the longest integer that is written without an exponent.
const maxPlainDigits = 21

// appendDigits lays out 0.digits times ten to the point. digits neither starts
// nor ends with a zero.
func appendDigits(dst, digits []byte, point int) []byte {
	switch {
	case len(digits) <= point && point <= maxPlainDigits:
		dst = append(dst, digits...)
		return appendZeros(dst, point-len(digits))
	case 0 < point && point <= maxPlainDigits:
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case -6 < point && point <= 0:
		dst = append(dst, "0."...)
		dst = appendZeros(dst, -point)
		return append(dst, digits...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	if point-1 > 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendInt(dst, int64(point-1), 10)
}

func appendZeros(dst []byte, n int) []byte {
	const zeros = "000000000000000000000" // the longest run of the layout, maxPlainDigits
	return append(dst, zeros[:n]...)
}
