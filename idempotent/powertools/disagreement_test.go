package powertools_test

import (
	"errors"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
)

// What is hashed instead of a text, where nothing is.
const (
	noKey  = "no key"
	fails  = "fails"
	refuse = "refused"
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
	{"values(o)", `{"o":{"2":"b","1":"a"}}`, `["b", "a"]`, `["a","b"]`},
}

func TestWhatTheLanguagesDisagreeAbout(t *testing.T) {
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			for _, d := range disagreements {
				want := []string{d.python, d.typeScript}[i]
				peer, err := l.of(command{EventKey: d.expression}, "")
				if err != nil {
					t.Fatal(err)
				}
				if got := hashed(peer, d.event); got != want {
					t.Errorf("%s of %s: %s, want %s", d.expression, d.event, got, want)
				}
			}
		})
	}
}

func hashed(peer *powertools.Peer, event string) string {
	text, err := peer.HashInput([]byte(event))
	switch {
	case errors.Is(err, powertools.ErrInexact):
		return refuse
	case errors.Is(err, idempotency.ErrMissing):
		return noKey
	case err != nil:
		return fails
	default:
		return text
	}
}

func TestLiveDisagreements(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			process := l.start(t)
			for _, d := range disagreements {
				c := command{FunctionName: "orders-fn", EventKey: d.expression, Event: d.event}
				if _, _, problem := l.compareKeys(process, c); problem != "" {
					t.Errorf("%s of %s: %s", d.expression, d.event, problem)
				}
			}
		})
	}
}

func TestResultsThatTypeScriptDoesNotStore(t *testing.T) {
	peer, err := languages[1].of(command{}, "")
	if err != nil {
		t.Fatal(err)
	}
	encode := peer.Table().Format.Encode
	for _, result := range []string{`9007199254740992`, `-1e20`, `1e-140`, `1e400`, `{"__proto__":1}`, `{"constructor":{"name":"Map"}}`, `{"constructor":"x"}`, `not JSON`, "\"\xff\""} {
		if v, err := encode([]byte(result)); err == nil {
			t.Errorf("%s is stored as %v", result, v)
		}
	}
	for _, result := range []string{`9007199254740991`, `1e-120`, `{"constructor":null}`, `{"constructor":{"name":"Object"}}`} {
		if _, err := encode([]byte(result)); err != nil {
			t.Errorf("%s: %v", result, err)
		}
	}
}
