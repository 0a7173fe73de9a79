package canonicaljson_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

func TestOneValueHasOneText(t *testing.T) {
	for _, c := range []struct {
		name      string
		canonical string
		spellings []string
	}{
		{"null", `null`, []string{` null `}},
		{"white space", `{"a":[1,true,false]}`, []string{"\n{ \"a\" :\t[ 1 , true\r, false ] } "}},
		{"member order at every level", `{"a":{"x":1,"y":2},"l":[{"p":1,"q":2}]}`, []string{`{"l":[{"q":2,"p":1}],"a":{"y":2,"x":1}}`}},
		{"members by code point, not by UTF-16 unit", `{"﹏":1,"😀":2}`, []string{`{"😀":2,"﹏":1}`, `{"\ud83d\ude00":2,"\ufe4f":1}`}},
		{"members by character, not by escape", `{"\n":1," ":2,"!":3,"\"":4,"0":5,"B":6,"\\":7,"a":8}`, []string{`{"a":8,"\\":7,"B":6,"0":5,"\"":4,"!":3," ":2,"\u000a":1}`, `{"\u000a":1,"B":6,"\"":4,"0":5,"\\":7,"a":8," ":2,"!":3}`}},
		{"a name that begins another", `{"":0,"a":1,"a!":2,"aa":3}`, []string{`{"aa":3,"a!":2,"a":1,"":0}`}},
		{"shortest escapes", `"A/\"\\\b\f\n\r\t\u0001\u001f` + "\x7f" + `é😀<>&"`, []string{`"\u0041\/\u0022\u005C\u0008\u000C\u000A\u000D\u0009\u0001\u001F\u007f\u00e9\uD83D\uDE00\u003c\u003E&"`}},
		{"line separators stay as they are", "\"\u2028\u2029\"", []string{`"\u2028\u2029"`}},
		{"empty containers", `[{},[],""]`, []string{`[ { } , [ ] , "" ]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, spelling := range append(c.spellings, c.canonical) {
				got, err := canonicaljson.Append(nil, []byte(spelling))
				if err != nil || string(got) != c.canonical {
					t.Errorf("Append(%s) = %s, %v; want %s", spelling, got, err, c.canonical)
				}
			}
		})
	}
}

func TestNumbersHaveOneText(t *testing.T) {
	for canonical, spellings := range map[string][]string{
		"0":                            {"-0", "0.0", "-0.00", "0e5", "0E-5", "-0e99999999999999999999"},
		"100":                          {"100.0", "1e2", "1E+2", "0.1e3", "10000e-2"},
		"-1.5":                         {"-1.50", "-15e-1", "-0.15e1"},
		"0.1":                          {"0.10", "1e-1", "0.01e1"},
		"9007199254740992":             {"9007199254740992.0", "9007199254740992e0"},
		"9007199254740993":             {"9007199254740993.000", "900719925474099.3e1"},
		"123456789012345678901":        {"123456789012345678901.0"},
		"100000000000000000000":        {"1e20", "100e18"},
		"1e+21":                        {"1000000000000000000000", "1E21", "10e20"},
		"1.2345678901234567890123e+22": {"12345678901234567890123"},
		"0.000001":                     {"1e-6", "0.0000010"},
		"1e-7":                         {"0.0000001", "1E-7"},
		"1.5e-7":                       {"0.00000015"},
		"0.00000123":                   {"123e-8", "1.23e-6"},
		"0.1234567890123456789012":     {"1234567890123456789012e-22"},
		"12345.678901234567890123":     {"12345678901234567890123e-18"},
		"1e+400":                       {"1e400", "10e399"},
		"1e-400":                       {"0.1e-399"},
		"1e+9999":                      {"1e9999"},
		"-1e-9999":                     {"-1e-9999"},
	} {
		for _, spelling := range append(spellings, canonical) {
			got, err := canonicaljson.Append(nil, []byte(spelling))
			if err != nil || string(got) != canonical {
				t.Errorf("Append(%s) = %s, %v; want %s", spelling, got, err, canonical)
			}
		}
	}
}

func TestHugeExponentsAreRefusedCheaply(t *testing.T) {
	for _, number := range []string{"1e10000", "1e-10000", "1e99999999999999999999", "-1E-99999999999999999999", "1e9223372036854775807", "123e9223372036854775807"} {
		var err error
		allocated := testing.AllocsPerRun(1, func() { _, err = canonicaljson.Append(make([]byte, 0, 64), []byte(number)) })
		if !errors.Is(err, canonicaljson.ErrExponent) || allocated > 10 {
			t.Errorf("Append(%s): %v after %v allocations; want ErrExponent", number, err, allocated)
		}
	}
}

func TestUnusableTextIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                       "",
		"only white space":              " \n",
		"no JSON":                       "not json",
		"two documents":                 "1 2",
		"something behind the document": `{}x`,
		"an open object":                `{"a":1`,
		"a trailing comma":              `[1,]`,
		"a leading zero":                `01`,
		"a lone surrogate":              `"\ud800"`,
		"a reversed surrogate pair":     `"\ude00\ud83d"`,
		"a surrogate before text":       `"\ud83dabc"`,
		"a surrogate in a name":         `{"\udfff":1}`,
		"invalid UTF-8":                 "\"\xff\"",
		"UTF-8 of a surrogate":          "\"\xed\xa0\x80\"",
		"overlong UTF-8":                "\"\xc0\xaf\"",
		"a control character":           "\"\x01\"",
		"a repeated name":               `{"a":1,"b":2,"a":1}`,
		"a name repeated by an escape":  `{"a":1,"\u0061":1}`,
		"a name repeated at some depth": `[{"x":{"a":1,"a":2}}]`,
		"a name of escapes, repeated":   `{"\n":1,"\u000a":2}`,
		"nesting of arrays too deep":    strings.Repeat("[", 20_000),
		"nesting of objects too deep":   strings.Repeat(`{"a":`, 20_000),
		"nesting too deep and balanced": strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		if got, err := canonicaljson.Append(nil, []byte(text)); err == nil {
			t.Errorf("%s: canonical form %.60s; want an error", name, got)
		}
	}
}

func TestDeepButAllowedNestingWorks(t *testing.T) {
	text := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	got, err := canonicaljson.Append(nil, []byte(text))
	if err != nil || string(got) != text {
		t.Fatalf("10000 levels: %v", err)
	}
}

// Sorting takes the same time however deep the members are nested: this is about 10 GB
// of copying if every object is sorted when it ends.
func TestDeepUnsortedObjectsAreSortedOnce(t *testing.T) {
	const depth = 9_990
	inner := `"` + strings.Repeat("x", 1<<20) + `"`
	text := strings.Repeat(`{"b":`, depth) + inner + strings.Repeat(`,"a":1}`, depth)
	want := strings.Repeat(`{"a":1,"b":`, depth) + inner + strings.Repeat(`}`, depth)
	if got, err := canonicaljson.Append(nil, []byte(text)); err != nil || string(got) != want {
		t.Errorf("the members of deep objects are not sorted: %v", err)
	}
}

func TestRawTextIsNeitherChangedNorKept(t *testing.T) {
	raw := []byte(` {"b":"\u0041","a":1.0} `)
	before := string(raw)
	got, err := canonicaljson.Append([]byte("kept:"), raw)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) != before {
		t.Errorf("the input became %s", raw)
	}
	clear(raw)
	if want := `kept:{"a":1,"b":"A"}`; string(got) != want {
		t.Errorf("canonical form %s, want %s", got, want)
	}
}

func TestDecodedTreesHaveTheTextOfTheirSource(t *testing.T) {
	tree := map[string]any{
		"b": []any{nil, true, false, "<é\n>", 1.5, 1e21, math.Copysign(0, -1), canonicaljson.Number("9007199254740993")},
		"a": canonicaljson.NewRaw([]byte(` { "y" : 1e2 , "x" : [ ] } `)),
	}
	got, err := canonicaljson.AppendValue(nil, tree)
	want := `{"a":{"x":[],"y":100},"b":[null,true,false,"<é\n>",1.5,1e+21,0,9007199254740993]}`
	if err != nil || string(got) != want {
		t.Errorf("AppendValue = %s, %v; want %s", got, err, want)
	}
}

func TestTreesThatAreNotJSONAreErrors(t *testing.T) {
	for name, tree := range map[string]any{
		"not a number":           math.NaN(),
		"infinity":               []any{math.Inf(1)},
		"minus infinity":         map[string]any{"a": math.Inf(-1)},
		"another type":           struct{}{},
		"another type of number": 1,
	} {
		if got, err := canonicaljson.AppendValue(nil, tree); err == nil {
			t.Errorf("%s: canonical form %s; want an error", name, got)
		}
	}
}

func TestTextThatIsNotUnicodeIsToldApart(t *testing.T) {
	for _, raw := range []string{`"\ud800"`, "\"\xff\"", `{"\udfff":1}`, "[{\"\xff\":1}]"} {
		if got, err := canonicaljson.Append(nil, []byte(raw)); !errors.Is(err, canonicaljson.ErrText) {
			t.Errorf("Append(%q) = %s, %v; want ErrText", raw, got, err)
		}
	}
	for _, tree := range []any{"\xff", map[string]any{"\xff": 1.0}, []any{"\xed\xa0\x80"}} {
		if got, err := canonicaljson.AppendValue(nil, tree); !errors.Is(err, canonicaljson.ErrText) {
			t.Errorf("AppendValue(%q) = %s, %v; want ErrText", tree, got, err)
		}
	}
}

// A float64 stands for a number only where it is that number.
func TestNumbersAreFloatsOnlyWhereExact(t *testing.T) {
	for text, want := range map[string]any{
		"5":                        5.0,
		"-0":                       0.0,
		"0.1":                      0.1,
		"1e2":                      100.0,
		"9007199254740992":         9007199254740992.0,
		"9007199254740993":         canonicaljson.Number("9007199254740993"),
		"9007199254740994":         9007199254740994.0,
		"1e308":                    1e308,
		"1e309":                    canonicaljson.Number("1e+309"),
		"1e-400":                   canonicaljson.Number("1e-400"),
		"0.1000000000000000055511": canonicaljson.Number("0.1000000000000000055511"),
		"12345678901234567890":     canonicaljson.Number("12345678901234567890"),
		"123456789012345678901234": canonicaljson.Number("1.23456789012345678901234e+23"),
	} {
		got, err := canonicaljson.ParseNumber([]byte(text))
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("ParseNumber(%s) = %T(%v), %v; want %T(%v)", text, got, got, err, want, want)
		}
	}
}

func TestShortestTextOfFloats(t *testing.T) {
	for f, want := range map[float64]string{
		123456789:             "123456789",
		1e15:                  "1000000000000000",
		1e21:                  "1e+21",
		123456789012345680000: "123456789012345680000",
		5e-324:                "5e-324",
		math.MaxFloat64:       "1.7976931348623157e+308",
		0.30000000000000004:   "0.30000000000000004",
		-1.0 / 3:              "-0.3333333333333333",
		math.Copysign(0, -1):  "0",
	} {
		if got, err := canonicaljson.AppendFloat(nil, f); err != nil || string(got) != want {
			t.Errorf("AppendFloat(%g) = %s, %v; want %s", f, got, err, want)
		}
	}
}

// However many names have escapes and however unsorted they are, each is unquoted
// once.
func TestNamesWithEscapesAreUnquotedOnce(t *testing.T) {
	const names = 5000
	members := make([]string, names)
	for i := range members {
		members[i] = fmt.Sprintf(`"\n%d":1`, i*7919%names)
	}
	object := []byte("{" + strings.Join(members, ",") + "}")
	allocations := testing.AllocsPerRun(3, func() {
		if _, err := canonicaljson.Append(nil, object); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 2*names {
		t.Errorf("%.0f allocations for %d names", allocations, names)
	}
}
