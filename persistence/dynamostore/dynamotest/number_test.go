package dynamotest

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestNumbersHaveOneNormalForm(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"0", "0"}, {"-0", "0"}, {"0.00", "0"}, {"0e999999999999999999999", "0"},
		{"1", "1"}, {"+1", "1"}, {"-1", "-1"}, {"001", "1"}, {"1.0", "1"}, {"5.", "5"}, {".5", "0.5"},
		{"100", "100"}, {"1e2", "100"}, {"1E+2", "100"}, {"0.01e4", "100"}, {"12000e-2", "120"},
		{"1e-3", "0.001"}, {"-12.340", "-12.34"}, {"9007199254740993", "9007199254740993"},
		{"1" + strings.Repeat("0", 125), "1" + strings.Repeat("0", 125)},
	} {
		n, err := parseNumber(c.given)
		if err != nil || n.String() != c.want {
			t.Errorf("%q: got %v, %v, want %s", c.given, n, err, c.want)
		}
	}
}

func TestNumbersOutOfRangeAreRefused(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for given, want := range map[string]error{
		nines:                        nil,
		nines + "e88":                nil,
		nines + "e89":                errNumberOverflow,
		"-" + nines + "e89":          errNumberOverflow,
		nines + ".9":                 errManyDigits,
		"1e-130":                     nil,
		"1.1e-131":                   errNumberUnderrun,
		"1e99999999999999999999999":  errNumberOverflow,
		"1e-99999999999999999999999": errNumberUnderrun,
		"":                           errNotNumeric,
	} {
		if _, err := parseNumber(given); err != want {
			t.Errorf("%q: got %v, want %v", given, err, want)
		}
	}
	for _, given := range []string{"-", "+", ".", "e1", "1e", "1e+", "1e1.5", "--1", "1-", "1 ", " 1", "1_0", "0x1", "NaN", "Inf", "１", "1,0"} {
		if n, err := parseNumber(given); err == nil {
			t.Errorf("%q was read as %s", given, n)
		}
	}
}

// randomNumber spreads over digits, magnitudes and signs.
func randomNumber(random *rand.Rand) number {
	digits := make([]byte, 1+random.IntN(20))
	for i := range digits {
		digits[i] = '0' + byte(random.IntN(10))
	}
	n, err := normalNumber(random.IntN(2) == 0, string(digits), random.IntN(30)-10)
	if err != nil {
		panic(err)
	}
	return n
}

func rational(n number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic(n.String())
	}
	return r
}

func TestArithmeticAndOrderAreThoseOfRationalNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		a, b := randomNumber(random), randomNumber(random)
		if got, want := a.compare(b), rational(a).Cmp(rational(b)); got != 0 && got/abs(got) != want || got == 0 && want != 0 {
			t.Fatalf("compare %s with %s: got %d, want %d", a, b, got, want)
		}
		want := new(big.Rat).Add(rational(a), rational(b))
		sum, err := a.plus(b)
		if err == errManyDigits {
			continue // exact or refused, never rounded
		}
		if err != nil || rational(sum).Cmp(want) != 0 {
			t.Fatalf("%s + %s: got %s, %v", a, b, sum, err)
		}
		difference, err := sum.plus(b.negated())
		if err == nil && difference != a {
			t.Fatalf("(%s + %s) − %s: got %s", a, b, b, difference)
		}
	}
}

func abs(n int) int { return max(n, -n) }

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"0", "-1.50", "1e125", "1E-130", "9007199254740993", "+.5", "1e", "0e9999999999", strings.Repeat("9", 40)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		n, err := parseNumber(given)
		if err != nil {
			return
		}
		again, err := parseNumber(n.String())
		if err != nil || again != n {
			t.Fatalf("%q prints as %s, which reads as %v, %v", given, n, again, err)
		}
		if len(given) < 400 {
			if want, ok := new(big.Rat).SetString(given); !ok || want.Cmp(rational(n)) != 0 {
				t.Fatalf("%q was read as %s", given, n)
			}
		}
	})
}
