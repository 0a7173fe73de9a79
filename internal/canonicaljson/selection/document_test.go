package selection

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
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
		d := document(text)
		at := d.value(d.space(0), 0)
		valid := at >= 0 && d.end(at) == nil
		if want := json.Valid(text); valid != want {
			t.Fatalf("%q: valid %t, want %t", text, valid, want)
		}
	})
}

// A fault says where it is, and nothing of the document.
func TestFaultsSayWhere(t *testing.T) {
	deep := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	for _, c := range []struct{ document, want string }{
		{``, "no JSON value"},
		{" \t\r\n", "no JSON value"},
		{`{"id":1,"x":[1,}`, "not valid JSON at byte 15"},
		{`{"id":1,"x":"secret`, "not valid JSON at byte 13"},
		{`{"id":1,"x":01}`, "not valid JSON at byte 13"},
		{`{"id":1 "x":2}`, "not valid JSON at byte 8"},
		{`{"id" 1}`, "not valid JSON at byte 6"},
		{`{"id":1}}`, "not valid JSON at byte 8"},
		{`{"id":1`, "not valid JSON at byte 7"},
		{`{"id":1} {}`, "more than one JSON value"},
		{`{"id":1,"x":` + deep(maxLevels) + `}`, "JSON nested too deep"},
		{`{"id":1,"x":` + deep(maxLevels-1) + `}`, ""},
	} {
		_, err := canonical(t, "id", c.document)
		if got := errorText(err); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.document, got, c.want)
		}
	}
	if _, err := canonical(t, "id", deep(maxLevels+1)); !errors.Is(err, canonicaljson.ErrDepth) {
		t.Errorf("too deep: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
