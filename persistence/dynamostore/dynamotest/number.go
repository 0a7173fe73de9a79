package dynamotest

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// Limits of a DynamoDB number: 38 significant digits, magnitude 1E-130 to 9.99…E+125.
// See "Data types: Number" in the DynamoDB developer guide.
const (
	maxDigits    = 38
	maxMagnitude = 125
	minMagnitude = -130
)

var (
	errNotNumeric     = errors.New("The parameter cannot be converted to a numeric value")
	errManyDigits     = errors.New("Attempting to store more than 38 significant digits in a Number")
	errNumberOverflow = errors.New("Number overflow. Attempting to store a number with magnitude larger than supported range")
	errNumberUnderrun = errors.New("Number underflow. Attempting to store a number with magnitude smaller than supported range")
)

// number is an exact decimal in normal form, so equal numbers are equal with ==.
// Its value is ±0.d₁d₂d₃… × 10^point.
type number struct {
	negative bool
	digits   string // no leading and no trailing zero; "" is zero
	point    int
}

// parseNumber reads the decimal or scientific notation DynamoDB accepts.
func parseNumber(s string) (number, error) {
	mantissa, exponent, scientific := cutExponent(s)
	var power int
	if scientific {
		if !isInteger(exponent) {
			return number{}, notNumeric(s)
		}
		power = saturatingAtoi(exponent)
	}
	negative := strings.HasPrefix(mantissa, "-")
	if negative || strings.HasPrefix(mantissa, "+") {
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	if whole+fraction == "" || !isDigits(whole) || !isDigits(fraction) {
		return number{}, notNumeric(s)
	}
	return normalNumber(negative, whole+fraction, len(whole)+power)
}

func notNumeric(s string) error {
	if s == "" {
		return errNotNumeric
	}
	return errors.New(errNotNumeric.Error() + ": " + s)
}

func cutExponent(s string) (mantissa, exponent string, found bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

func isInteger(s string) bool {
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && isDigits(s)
}

func isDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// saturatingAtoi keeps absurd exponents absurd without overflowing: they end as overflow or underflow.
func saturatingAtoi(s string) int {
	const absurd = 1 << 20
	n, err := strconv.Atoi(s)
	if err != nil && s[0] == '-' {
		return -absurd
	}
	if err != nil {
		return absurd
	}
	return max(-absurd, min(absurd, n))
}

// normalNumber brings ±0.digits × 10^point into normal form and checks DynamoDB's limits.
func normalNumber(negative bool, digits string, point int) (number, error) {
	trimmed := strings.TrimLeft(digits, "0")
	point -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	if trimmed == "" {
		return number{}, nil
	}
	switch magnitude := point - 1; {
	case magnitude > maxMagnitude:
		return number{}, errNumberOverflow
	case magnitude < minMagnitude:
		return number{}, errNumberUnderrun
	case len(trimmed) > maxDigits:
		return number{}, errManyDigits
	}
	return number{negative: negative, digits: trimmed, point: point}, nil
}

// compare orders numbers by value.
func (n number) compare(m number) int {
	if s := n.sign() - m.sign(); s != 0 {
		return s
	}
	magnitude := n.point - m.point
	if magnitude == 0 {
		magnitude = strings.Compare(n.digits, m.digits)
	}
	return magnitude * n.sign()
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	default:
		return 1
	}
}

// negated is -n.
func (n number) negated() number {
	n.negative = !n.negative && n.digits != ""
	return n
}

// plus is the exact sum; more than 38 significant digits or a magnitude out of range is an error.
func (n number) plus(m number) (number, error) {
	scale := min(n.scale(), m.scale())
	sum := new(big.Int).Add(n.scaled(scale), m.scaled(scale))
	digits := new(big.Int).Abs(sum).String()
	return normalNumber(sum.Sign() < 0, digits, scale+len(digits))
}

// scale is the power of ten of the last significant digit.
func (n number) scale() int { return n.point - len(n.digits) }

// scaled is the integer n / 10^scale, for a scale not above n's own.
func (n number) scaled(scale int) *big.Int {
	unscaled := new(big.Int)
	if n.digits != "" {
		unscaled.SetString(n.digits+strings.Repeat("0", n.scale()-scale), 10)
	}
	if n.negative {
		unscaled.Neg(unscaled)
	}
	return unscaled
}

// String is the number as DynamoDB prints it: plain decimal digits, no exponent, no needless zeros.
func (n number) String() string {
	var text strings.Builder
	if n.negative {
		text.WriteByte('-')
	}
	switch {
	case n.digits == "":
		text.WriteByte('0')
	case n.point <= 0:
		text.WriteString("0." + strings.Repeat("0", -n.point) + n.digits)
	case n.point >= len(n.digits):
		text.WriteString(n.digits + strings.Repeat("0", n.point-len(n.digits)))
	default:
		text.WriteString(n.digits[:n.point] + "." + n.digits[n.point:])
	}
	return text.String()
}
