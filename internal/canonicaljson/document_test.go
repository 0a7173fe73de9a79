package canonicaljson

import (
	"encoding/json"
	"testing"
)

// FuzzDocument holds stepping over a whole document against encoding/json: both
// find the same documents valid.
func FuzzDocument(f *testing.F) {
	for _, text := range []string{
		``, ` `, `0`, `-`, `-0`, `01`, `1.`, `.5`, `1.5e+3`, `1e`, `1E-`, `+1`, `"a"`, `"a`, `"\u00e9"`, `"\u00g9"`, "\"\xff\"", `"\ud800"`,
		`{}`, `{ }`, `{"a":1}`, ` { "a" : [ 1 , { } , null ] } `, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a" 1}`, `{"a":1 "b":2}`,
		`[]`, `[1,]`, `[,1]`, `[1 2]`, `[`, `{`, `]`, `}`, `[}`, `{]`, `true`, `tru`, `truest`, `false`, `null`, `nul`, `1 2`, `{}{}`, `{"a":1}}`,
		"\ufeff{}", "[1,\v2]", "\x00", "1\x00", `{"a":1,"a":2}`, "[\"\x01\"]", "[\n                 1,\r\n\t\t\t\t\t\t\t\t\t\t2\n        ]", "[1,          \v         2]", "[1,\n         \x00]", "[1         \x1f]", `1         `, `[tru`, `"1234567\"89" `,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d := Document(text)
		at := d.Value(d.Space(0), 0)
		valid := at >= 0 && d.End(at) == nil
		if want := json.Valid(text); valid != want {
			t.Fatalf("%q: valid %t, want %t", text, valid, want)
		}
	})
}
