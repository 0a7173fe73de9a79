package powertools_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
)

// What is hashed instead of a text, where nothing is.
const (
	noKey  = "no key"
	fails  = "fails"
	refuse = "refused"
	syntax = "a syntax error"
)

// disagreements are expressions for which the languages hash different texts.
var disagreements = []struct{ expression, event, python, typeScript string }{
	{"a", `{"a":{"b":1.0,"A":"é","10":2,"9":1e21}}`, `{"10": 2, "9": 1e+21, "A": "\u00e9", "b": 1.0}`, `{"9":1e+21,"10":2,"A":"é","b":1}`},
	{"a", `{"a":{"İz":1,"i̇a":2}}`, `{"i\u0307a": 2, "\u0130z": 1}`, `{"i̇a":2,"İz":1}`},
	{"a", `{"a":{"İa":1,"i̇b":2,"ia":3}}`, `{"ia": 3, "i\u0307b": 2, "\u0130a": 1}`, `{"ia":3,"İa":1,"i̇b":2}`},
	{"a", `{"a":{"ΑΣ":1,"ασα":2,"αρ":3}}`, `{"\u0391\u03a3": 1, "\u03b1\u03c1": 3, "\u03b1\u03c3\u03b1": 2}`, `{"αρ":3,"ΑΣ":1,"ασα":2}`},
	{"a", `{"a":{"ασ":1,"ΑΣ":2}}`, `{"\u0391\u03a3": 2, "\u03b1\u03c3": 1}`, `{"ΑΣ":2,"ασ":1}`},
	{"a", `{"a":{"σ":1,"Σ":2}}`, `{"\u03a3": 2, "\u03c3": 1}`, `{"σ":1,"Σ":2}`},
	{"a", `{"a":{"α.σα":1,"Α.ΣΑ":2}}`, `{"\u0391.\u03a3\u0391": 2, "\u03b1.\u03c3\u03b1": 1}`, `{"α.σα":1,"Α.ΣΑ":2}`},
	{"not_null(n)", `{"n":0}`, `0`, noKey},
	{"not_null(a, b)", `{"b":""}`, noKey, noKey},
	{"map(&@, l)", `{"l":[0,"",1,[]]}`, `[0, "", 1, []]`, `[null,null,1,[]]`},
	{"n < s", `{"n":1,"s":"1"}`, fails, noKey},
	{"s < t", `{"s":"a","t":"b"}`, `true`, noKey},
	{"[n < s]", `{"n":1}`, noKey, `[null]`},
	{"n == `1`", `{"n":true}`, `false`, `false`},
	{"l == `[1]`", `{"l":[true]}`, `true`, `false`},
	{"\"\"", `{"":1}`, `1`, noKey},
	{"powertools_base64(s)", `{"s":"YWI"}`, fails, noKey},
	{"powertools_base64(s)", `{"s":"Y W I ="}`, `"ab"`, noKey},
	{"powertools_base64(s)", `{"s":"77u/YQ=="}`, `"\ufeffa"`, `"a"`},
	{"powertools_json(s)", `{"s":"NaN"}`, `NaN`, noKey},
	{"powertools_json(s)", `{"s":"{\"a\":1"}`, fails, noKey},
	{"length(s)", `{"s":"😀"}`, `1`, `2`},
	{"reverse(s)", `{"s":"a😀"}`, `"\ud83d\ude00a"`, `"\ude00\ud83da"`},
	{"contains(s, t)", `{"s":"😀","t":"\ud83d"}`, `false`, `true`},
	{"avg(l)", `{"l":[1,2]}`, `1.5`, `1.5`},
	{"avg(l)", `{"l":[]}`, noKey, `null`},
	{"ceil(n)", `{"n":1.5}`, `2`, `2`},
	{"floor(n)", `{"n":1e25}`, `10000000000000000905969664`, `1e+25`},
	{"sort(l)", `{"l":["b","B","a","_"]}`, `["B", "_", "a", "b"]`, `["_","a","b","B"]`},
	{"to_string(o)", `{"o":{"b":1.0,"a":"é"}}`, `"{\"b\":1.0,\"a\":\"\\u00e9\"}"`, `"{\"b\":1,\"a\":\"é\"}"`},
	{"to_number(s)", `{"s":"1.0"}`, `1.0`, `1`},
	{"to_number(s)", `{"s":""}`, noKey, `0`},
	{"'a\\'b\\'c'", `{}`, `"a'b'c"`, `"a'b\\'c"`},
	{"r[?p].b[?q]", `{"r":[{"p":1,"b":{"q":1}}]}`, `[{"q": 1}]`, `[]`},
	{"r[?p].b[?q]", `{"r":[{"p":1,"b":[{"q":1}]}]}`, noKey, `[[{"q":1}]]`},
	{"r[?p][0]", `{"r":[{"p":[1,2]}]}`, noKey, `[]`},
	{"rows[0][0:2]", `{"rows":[[null,"a","b"]]}`, `[null, "a"]`, `[null,"a"]`},
	{"rows[0][0:2].a", `{"rows":[[{"a":1}]]}`, noKey, noKey},
	{"rows[:1][0:2]", `{"rows":[[null,"a","b"]]}`, `[["a"]]`, `[["a"]]`},
	{"[0][0:2]", `[[null,"a","b"]]`, `[null, "a"]`, `[null,"a"]`},
	{"{a: a b: b}", `{"a":1,"b":2}`, `{"a": 1, "b": 2}`, `{"a":1,"b":2}`},
	{"l[::`0`]", `{"l":[1]}`, syntax, syntax},
	{"l[::0]", `{"l":[1]}`, fails, fails},
	{"l[::0]", `{"l":1}`, noKey, fails},
	{"map(&@[::0], l)", `{"l":[[1]]}`, fails, noKey},
	{"l[1 2]", `{"l":[1,2,3]}`, syntax, syntax},
	{"sort(l)", `{"l":["a",1]}`, fails, refuse},
	{"max(l)", `{"l":[1,"a"]}`, fails, fails},
	{"sort(powertools_json(s))", `{"s":"[2,NaN,1]"}`, refuse, fails},
	{"sort_by(powertools_json(s), &a)", `{"s":"[{\"a\":NaN},{\"a\":1}]"}`, refuse, fails},
	{"max(powertools_json(s))", `{"s":"[NaN,1]"}`, `NaN`, fails},
	{"contains(powertools_json(s), powertools_json(s)[0])", `{"s":"[NaN]"}`, refuse, fails},
	{"contains([avg(l)], avg(l))", `{"l":[]}`, `true`, `true`},
	{"sum(l)", `{"l":[1e308,1e308]}`, `Infinity`, `null`},
	{"sum(l)", `{"l":[1` + strings.Repeat("0", 400) + `,1.5]}`, fails, `null`},
	{"sum(l)", `{"l":[0.1,0.2,0.3]}`, refuse, `0.6000000000000001`},
	{"avg(l)", `{"l":[9007199254740991,1,1]}`, refuse, `3002399751580330.5`},
	{"avg(l)", `{"l":[9007199254740993]}`, `9007199254740992.0`, `9007199254740992`},
	{"to_number(s)", `{"s":"\n7"}`, refuse, refuse},
	{"powertools_json(s) | @ == @", `{"s":"[NaN]"}`, `true`, `true`},
	{"powertools_json(s) | {a: @} | @ == @", `{"s":"[NaN]"}`, `true`, `true`},
	{"powertools_json(s) | [0] == [0]", `{"s":"[NaN]"}`, `false`, `true`},
	{"[avg(l)] | @ == @", `{"l":[]}`, `true`, `true`},
	{"[avg(l)] | {a: @[0]} | [@] | [0].a == [0].a", `{"l":[]}`, `true`, `false`},
	{"[a < b] == [c]", `{"c":1}`, `false`, `false`},
	{"{a: a < b} == {c: b}", `{}`, `false`, `true`},
	{"[o, o] | [0] == [1]", `{"o":{"a":1}}`, `true`, `true`},
	{"values(o)", `{"o":{"2":"b","1":"a"}}`, `["b", "a"]`, `["a","b"]`},
}

func TestWhatTheLanguagesDisagreeAbout(t *testing.T) {
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			for _, d := range disagreements {
				want := []string{d.python, d.typeScript}[i]
				got := syntax
				if peer, err := l.of(command{EventKey: d.expression}, ""); err == nil {
					got = hashed(peer, d.event)
				}
				if got != want {
					t.Errorf("%s of %s: %s, want %s", d.expression, d.event, got, want)
				}
			}
		})
	}
}

func hashed(peer *powertools.Peer, event string) string {
	_, _, err := peer.Identify([]byte(event))
	switch {
	case errors.Is(err, powertools.ErrInexact):
		return refuse
	case errors.Is(err, idempotency.ErrMissing):
		return noKey
	case err != nil:
		return fails
	}
	text, err := peer.HashInput([]byte(event))
	if err != nil {
		return err.Error()
	}
	return text
}

func TestLiveDisagreements(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			process := l.start(t)
			for _, d := range disagreements {
				c := command{FunctionName: "f", Expressions: []string{d.expression}, Events: []string{d.event}}
				theirs := process.call(c).Outcomes[0]
				for _, problem := range l.compareExpression(d.expression, process.version, c.Events, theirs, tally{}) {
					t.Error(problem)
				}
			}
		})
	}
}
