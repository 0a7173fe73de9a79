package canonicaljson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

var seeds = []string{
	`null`, `true`, `0`, `-0.0`, `1`, `1.0`, `"1"`, `1e2`, `100`, `9007199254740993`, `9007199254740992`, `0.1`, `0.10`,
	`1e-7`, `1e21`, `1e400`, `""`, `"a"`, `"\u0061"`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"\n"`, "\"\xff\"",
	`[]`, `[[]]`, `{}`, `[1,2]`, `[2,1]`, `[12]`, `{"a":1,"b":[{"c":null}]}`, `{"b":[{"c":null}],"a":1}`, `{"a":1,"a":1}`,
	`{"a,b":1}`, `{"a":"b"}`, `["a","b"]`, `["a\",\"b"]`, `{"\n":1," ":2}`, ` [ 1 , 2 ] `, `1 2`, `[`, `nul`,
}

// FuzzDistinctValues: two documents have one text if and only if an independent
// reader finds their values equal.
func FuzzDistinctValues(f *testing.F) {
	for i, a := range seeds {
		f.Add([]byte(a), []byte(seeds[(i+1)%len(seeds)]))
		f.Add([]byte(a), []byte(a))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		textA, errA := canonicaljson.Append(nil, a)
		textB, errB := canonicaljson.Append(nil, b)
		if errA != nil || errB != nil {
			return
		}
		if same := equal(decode(t, a), decode(t, b)); same != bytes.Equal(textA, textB) {
			t.Errorf("%s and %s have the texts %s and %s; equal values: %v", a, b, textA, textB, same)
		}
	})
}

// FuzzSpelling: the text of a value is its own text, is JSON of the same value, and
// is the text of every other spelling of it. The decoded tree has it too.
func FuzzSpelling(f *testing.F) {
	for i, seed := range seeds {
		f.Add([]byte(seed), uint64(i))
	}
	f.Fuzz(func(t *testing.T, document []byte, seed uint64) {
		text, err := canonicaljson.Append(nil, document)
		if err != nil {
			return
		}
		value := decode(t, document)
		if !equal(value, decode(t, text)) {
			t.Fatalf("%s has the text %s of another value", document, text)
		}
		spell := speller{rand.New(rand.NewPCG(seed, 1))}
		for range 3 {
			other := spell.value(value)
			if again, err := canonicaljson.Append(nil, []byte(other)); err != nil || !bytes.Equal(again, text) {
				t.Errorf("%s has the text %s, but %s has %s, %v", document, text, other, again, err)
			}
		}
		if again, err := canonicaljson.Append(nil, text); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s has the text %s, and that has %s, %v", document, text, again, err)
		}
		if again, err := canonicaljson.AppendValue(nil, tree(t, value)); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s has the text %s, but its tree has %s, %v", document, text, again, err)
		}
	})
}

func decode(t *testing.T, document []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s has a canonical form but encoding/json says %v", document, err)
	}
	return value
}

// equal compares values by their meaning. It shares no code with the package: its
// numbers are fractions.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && rational(a).Cmp(rational(b)) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, member := range a {
			other, ok := b[name]
			if !ok || !equal(member, other) {
				return false
			}
		}
		return true
	}
	_, isList := b.([]any)
	_, isObject := b.(map[string]any)
	return !isList && !isObject && a == b
}

func rational(n json.Number) *big.Rat {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	r, ok := new(big.Rat).SetString(mantissa)
	if !ok {
		panic("not a number: " + n)
	}
	if r.Sign() == 0 || exponent == "" {
		return r
	}
	power, err := strconv.Atoi(exponent)
	if err != nil {
		panic(err) // Append let it pass, so it is small
	}
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil))
	if power < 0 {
		return r.Quo(r, factor)
	}
	return r.Mul(r, factor)
}

// tree is value as the package's own decoders would build it.
func tree(t *testing.T, value any) any {
	switch v := value.(type) {
	case json.Number:
		number, err := canonicaljson.ParseNumber([]byte(v))
		if err != nil {
			t.Fatal(err)
		}
		return number
	case []any:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = tree(t, element)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, member := range v {
			object[name] = tree(t, member)
		}
		return object
	}
	return value
}

// speller writes a value in any of its spellings.
type speller struct{ *rand.Rand }

func (s speller) space() string {
	return [...]string{"", "", " ", "\n\t", "\r "}[s.IntN(5)]
}

func (s speller) value(value any) string {
	switch v := value.(type) {
	case json.Number:
		return s.space() + s.number(v.String()) + s.space()
	case string:
		return s.space() + s.string(v) + s.space()
	case []any:
		var elements []string
		for _, element := range v {
			elements = append(elements, s.value(element))
		}
		return s.space() + "[" + strings.Join(elements, ",") + s.space() + "]" + s.space()
	case map[string]any:
		var members []string
		for name, member := range v {
			members = append(members, s.space()+s.string(name)+s.space()+":"+s.value(member))
		}
		s.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		return s.space() + "{" + strings.Join(members, ",") + s.space() + "}" + s.space()
	}
	return s.space() + fmt.Sprint(map[any]string{nil: "null", true: "true", false: "false"}[value])
}

func (s speller) string(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r < ' ' || r == '"' || r == '\\' || s.IntN(3) == 0:
			if high, low := utf16.EncodeRune(r); high != '\ufffd' {
				fmt.Fprintf(&b, `\u%04x\u%04X`, high, low)
			} else {
				fmt.Fprintf(&b, `\u%04X`, r)
			}
		case r == '/' && s.IntN(2) == 0:
			b.WriteString(`\/`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func (s speller) number(text string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	power, err := strconv.Atoi(exponent)
	if exponent != "" && err != nil {
		return text // the exponent of a zero can be of any length
	}
	switch s.IntN(4) {
	case 0: // zeros behind the point
		if !strings.Contains(mantissa, ".") {
			mantissa += "."
		}
		mantissa += strings.Repeat("0", 1+s.IntN(30))
	case 1: // the point moved right
		if whole, fraction, ok := strings.Cut(mantissa, "."); !ok && strings.Trim(whole, "-0") != "" {
			mantissa = whole + "000"
			power -= 3
		} else if ok && strings.Trim(whole, "-") != "0" {
			mantissa = whole + fraction
			power -= len(fraction)
		}
	case 2: // the point moved left
		if whole, fraction, _ := strings.Cut(mantissa, "."); len(strings.Trim(whole, "-")) > 1 {
			mantissa = whole[:len(whole)-1] + "." + whole[len(whole)-1:] + fraction
			power++
		}
	}
	if power == 0 && s.IntN(2) == 0 {
		return mantissa
	}
	return fmt.Sprintf([...]string{"%se%d", "%sE%+d", "%se%+03d"}[s.IntN(3)], mantissa, power)
}
