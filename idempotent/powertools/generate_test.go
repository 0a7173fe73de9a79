package powertools_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator makes random events and expressions, rich in what implementations
// disagree about.
type generator struct{ *rand.Rand }

func pick[T any](g generator, from []T) T { return from[g.IntN(len(from))] }

var names = []string{
	"a", "b", "A", "B", "Id", "id", "ID", "10", "9", "01", "-1", "4294967294", "4294967295", "_x", "Z", "é", "É", "İ", "ß", "ΑΣ", "ΑΣΑ", "日本", "😀",
	"", "constructor", "toString", "__proto__", "hasOwnProperty", `\ud800`, `\udc00`, `\u0041`, "﹏", "a b", `\n`, `\"`, "l", "n", "s", "o", "t",
}

var numbers = []string{
	"0", "-0", "1", "-1", "1.0", "-0.0", "0.1", "1e21", "1e20", "1E-7", "1e-6", "0.00001", "0.0001", "123456789.12345678", "9007199254740991", "9007199254740992",
	"9007199254740993", "100000000000000000000", "1e16", "1e15", "123456789012345678", "1.5e300", "5e-324", "1e400", "-1e400", "0.30000000000000004", "2.5", "1e22", "12345678901234567890123",
	"1.7976931348623157e308", "4.35", "1e2", "100.0", "1e-5", "2e-3", "10", "3", "2",
}

var texts = []string{
	"", "a", "A", "b", "ab", "B_1", "b-1", "héllo 日本", "😀", `\ud83d\ude00`, `\ud83d`, `\ude00`, `\u0000\u0001\b\t\n\u000b\f\r\u001f`, "\x7f\u0080\u009f", `\"\\\/`, "<&>'", "\u2028\u2029", "\ufffe\uffff",
	"1", "1.0", "-2", "1e3", " 7 ", "x1", "{}", `{\"a\": [1, 2.0, null], \"b\": \"\\u00e9\"}`, `[1,2`, `\"s\"`, "3.0", "aMOpbGxvIOaXpeacrA==", "YQ==", "YQ=", "Y Q = =", "YWI", "YWJj", "%%%", "null", "true", "/w==",
	"H4sIAAAAAAACA6tWSlSyMqwFANKPJj0HAAAA",
}

func (g generator) json(depth int) string {
	switch kind := g.IntN(12); {
	case kind < 2 && depth > 0:
		return g.object(depth)
	case kind < 4 && depth > 0:
		return g.array(depth)
	case kind < 8:
		return `"` + pick(g, texts) + `"`
	case kind < 11:
		return pick(g, numbers)
	default:
		return pick(g, []string{"null", "true", "false"})
	}
}

func (g generator) object(depth int) string {
	n := g.IntN(6)
	if g.IntN(20) == 0 {
		n = 40 // long enough for sorting in another way
	}
	var members []string
	for range n {
		name := pick(g, names)
		if n == 40 {
			name += pick(g, names)
		}
		members = append(members, `"`+name+`":`+g.space()+g.json(depth-1))
	}
	return "{" + g.space() + strings.Join(members, ","+g.space()) + "}"
}

func (g generator) array(depth int) string {
	var items []string
	for range g.IntN(5) {
		items = append(items, g.json(depth-1))
	}
	return "[" + strings.Join(items, g.space()+",") + "]"
}

// list is a list of one kind.
func (g generator) list() string {
	var items []string
	kind := g.IntN(3)
	for range g.IntN(6) {
		switch kind {
		case 0:
			items = append(items, pick(g, numbers))
		case 1:
			items = append(items, `"`+pick(g, texts)+`"`)
		default:
			items = append(items, fmt.Sprintf(`{"n":%s,"s":"%s","b":%s}`, pick(g, numbers), pick(g, texts), g.json(1)))
		}
	}
	return "[" + strings.Join(items, ",") + "]"
}

func (g generator) space() string { return pick(g, []string{"", "", " ", "\n\t"}) }

// event is an object whose members the expressions know.
func (g generator) event() string {
	return fmt.Sprintf(`{"a":%s,"b":%s,"s":"%s","t":"%s","n":%s,"l":%s,"m":%s,"o":%s,"x":%s}`,
		g.json(2), g.json(2), pick(g, texts), pick(g, texts), pick(g, numbers), g.list(), g.list(), g.object(2), g.json(3))
}

var expressions = []string{
	"a", "x", "[a, b]", "{x: a, y: b}", "{A: a, a: b, \"10\": n, \"9\": s}", "a || b", "a && b", "!a", "!n", "a == b", "a != b", "n < `2`", "s < t", "n >= `1.0`", "l[0]", "l[-1]", "l[1:3]", "l[::-1]", "l[::2]", "l[-2:]",
	"l[5:0:-2]", "l[*].n", "l[*].[n, s]", "l[*].{z: n, a: s}", "l[?n > `1`]", "l[?n > `1`].s", "l[?s == 'a']", "l[].b", "l[].b[]", "o.*", "o.*.a", "*.n", "x.a.b", "x[0]", "x[*].a", "x[]", "[x, x][]", "@", "[@.a]", "l | [0]", "l[*].n | [0]",
	"length(l)", "length(s)", "length(o)", "length(x)", "keys(o)", "values(o)", "sort(keys(o))", "sort(l)", "[sort(l), l]", "sort(l[*].n)", "sort_by(l, &n)", "sort_by(l, &s)", "max_by(l, &n)", "min_by(l, &s)", "max(l)", "min(l)", "max(l[*].n)", "sum(l[*].n)", "avg(l[*].n)", "sum(l)", "avg(l)",
	"abs(n)", "ceil(n)", "floor(n)", "contains(l, s)", "contains(s, t)", "contains(l, n)", "contains(l, x)", "starts_with(s, 'a')", "ends_with(s, t)", "join('-', l)", "join(s, l[*].s)", "map(&n, l)", "map(&s, l)", "map(&@, m)", "merge(o, {k: n})", "merge(o, o)", "not_null(a, b)", "not_null(x.q, n)", "reverse(l)", "reverse(s)",
	"to_array(a)", "to_array(l)", "to_number(s)", "to_number(a)", "to_string(a)", "to_string(o)", "to_string(l)", "type(a)", "[type(a), type(n), type(s), type(x)]", "powertools_json(s)", "powertools_json(t).a", "powertools_json(t).b", "powertools_base64(s)", "powertools_base64_gzip(t)", "[powertools_base64(s), n]", "{k: powertools_json(s)}",
	"'raw'", "`[1, 2.0]`", "`\"x\"`", "'it\\'s'", "'a\\'b\\'c'", "a.b || x.a || n", "(a || b) && n", "o.constructor", "o.\"\"", "o.\"__proto__\"", "l[?b.a || n]", "l[?!n]", "l[?n == `1`] | [0].s", "l[*].b.*", "missing", "missing.deeper", "[missing, gone]", "{m: missing}", "length(missing)",
	"sort_by(l, &b)", "keys(a)", "abs(a)", "n == `1`", "a == `true`", "a == `[]`", "l == m", "[n < s]", "{k: n < s, j: n}", "s && n", "l[0].n", "max(m)", "join(', ', keys(o))", "to_number(n)", "map(&[n, s], l)", "map(&n > `1`, l)", "x.*[]", "a[?@ == `1`]", "l[? n<`5` && s]",
}
