package selection

import (
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

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
		{`{"id":1,"x":` + deep(10_000) + `}`, "JSON nested too deep"},
		{`{"id":1,"x":` + deep(9_999) + `}`, ""},
	} {
		_, err := canonical(t, "id", c.document)
		if got := errorText(err); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.document, got, c.want)
		}
	}
	if _, err := canonical(t, "id", deep(10_001)); !errors.Is(err, canonicaljson.ErrDepth) {
		t.Errorf("too deep: %v", err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A value keeps its place and text, whatever long strings stand around or in it.
func TestLongStringsAroundAValueDoNotMoveIt(t *testing.T) {
	long := strings.Repeat(`0123456789\"é\\`, 100)
	payload := `{"` + long + `":1,"a":"` + long + `","b":["x","` + long + `",{"` + long + `":"` + long + `"}],"c":"` + long + long + `","d":7}`
	quoted := `"` + long + `"`
	for expression, want := range map[string]string{
		"a":              quoted,
		"b[0]":           `"x"`,
		"b[1]":           quoted,
		"b[2]":           `{` + quoted + `:` + quoted + `}`,
		"[a, d]":         `[` + quoted + `,7]`,
		"d":              `7`,
		quoted:           `1`,
		"length(a)":      `1300`,
		"b[2]." + quoted: quoted,
		"a == c":         `false`,
		"[b, d]":         `[["x",` + quoted + `,{` + quoted + `:` + quoted + `}],7]`,
	} {
		got, err := canonical(t, expression, payload)
		if err != nil || got != want {
			t.Errorf("%.40s = %.80s, %v; want %.80s", expression, got, err, want)
		}
	}
	for _, broken := range []string{
		strings.Replace(payload, `\"é`, "\x01", 1), strings.Replace(payload, `\\`, `\x`, 1), payload[:len(payload)-4000], payload + `"` + long,
		strings.Replace(payload, `:7`, `:"`+long+`"7`, 1), strings.Replace(payload, `,"c":`, `"c":`, 1),
	} {
		if got, err := canonical(t, "d", broken); err == nil {
			t.Errorf("a broken payload selects %s", got)
		}
	}
}
