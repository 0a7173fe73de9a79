package httpguard

import (
	"strings"
	"testing"

	"github.com/dunglas/httpsfv"
)

// An independent parser and this one understand the same strings. Parameters and
// more than one header are the difference: they are refused here.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{
		``, `""`, `"a"`, `a`, `"a\"b"`, `"a\\"`, `"a\b"`, `"a";b=1`, `"a" `, `  "a"`, `"a`, `a"`, `a,b`, `"a", "b"`,
		`8e03978e-40d5-43e8-bc93-6894a57f9324`, `:YWJj:`, `?1`, `17`, "\"\x7f\"", `"ä"`, "\t\"a\"", `"a"	`, `%"a"`, `@17`, `("a")`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := parseKey([]string{text})
		quoted := strings.HasPrefix(strings.Trim(text, " \t"), `"`)
		item, itemErr := httpsfv.UnmarshalItem([]string{strings.Trim(text, "\t ")})
		theirs, isString := item.Value.(string)
		isString = isString && itemErr == nil
		switch {
		case quoted && err == nil:
			if !isString || theirs != key {
				t.Errorf("%q is %q here, and %q (%v) there", text, key, theirs, itemErr)
			}
		case isString && len(item.Params.Names()) == 0 && strings.Trim(theirs, " ") != "":
			t.Errorf("%q is refused here (%v), and is %q there", text, err, theirs)
		case !quoted && err == nil:
			// The same key in quotes is the same key.
			if again, err := parseKey([]string{`"` + key + `"`}); err != nil || again != key {
				t.Errorf("%q in quotes is %q (%v)", key, again, err)
			}
		}
		if err == nil {
			if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Errorf("%q gives the key %q", text, key)
			}
			marshalled, err := httpsfv.Marshal(httpsfv.NewItem(key))
			if err != nil {
				t.Fatal(err)
			}
			if again, err := parseKey([]string{marshalled}); err != nil || again != key {
				t.Errorf("%q, written as %s, is read as %q (%v)", key, marshalled, again, err)
			}
		}
		if _, err := parseKey([]string{text, text}); err == nil {
			t.Errorf("%q is taken twice", text)
		}
		// Two headers joined by a proxy are no key, unless a string goes on over the join.
		if joined, err := parseKey([]string{text + "," + text}); err == nil && !strings.Contains(joined, ",") {
			t.Errorf("%q joined with itself is the key %q", text, joined)
		}
	})
}

// No two pairs of scope and key are joined to the same text.
func TestScopeAndKeyAreJoinedInjectively(t *testing.T) {
	seen := make(map[string]int)
	for i, pair := range []struct {
		scope [][]string
		key   string
	}{
		{[][]string{{"unscoped"}}, "a"},
		{[][]string{{"unscoped", "a"}}, "a"},
		{[][]string{{"func unscoped", "a"}}, "a"},
		{[][]string{{"s", "a"}}, "b"},
		{[][]string{{"s", "a", "b"}}, "b"},
		{[][]string{{"s", "a"}, {"s", "b"}}, "b"},
		{[][]string{{"s", "a"}, {"b"}}, "b"},
		{[][]string{{"s", `a","b`}}, "b"},
		{[][]string{{"s", "a"}}, `b"]`},
	} {
		text := joinKey(pair.scope, pair.key)
		if other, known := seen[text]; known {
			t.Errorf("pairs %d and %d are both %s", other, i, text)
		}
		seen[text] = i
	}
}

// The formats that records rest on: a change of these would run or refuse the retry of
// every open request.
func TestTheFormatsOfKeyAndFingerprintStay(t *testing.T) {
	if got, want := joinKey([][]string{{"jwt subject", "https://issuer", "user-1"}}, "8e03978e"), `[[["jwt subject","https://issuer","user-1"]],"8e03978e"]`; got != want {
		t.Errorf("the key is %s", got)
	}
	r := &Request{Method: "POST", Path: "/payments", Query: parseQuery("b=2&a=1&a=x")}
	if got, want := new(Config).fingerprint(r, []byte(`{"b":1e2,"a":"x"}`)), "e03e5c9e2040ef5c7e3fb7fb83deb352f71557c9f937eb7582345f17587404c6"; got != want {
		t.Errorf("the fingerprint is %s", got)
	}
}
