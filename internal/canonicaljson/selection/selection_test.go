package selection

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A refused expression never reaches an event. want is a part of the reason.
func TestUnstableExpressionsAreRefused(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{"", "empty"},
		{" \t\n", "empty"},
		{strings.Repeat("a", 4097), "longer than"},
		{"\"\xff\"", "UTF-8"},

		{"a.", "SyntaxError"},
		{"a b", "SyntaxError"},
		{"a[", "SyntaxError"},
		{"a[1", "SyntaxError"},
		{"a\u0080", "syntax error"}, // the lexer indexes out of range
		{"a = b", "SyntaxError"},
		{"'open", "SyntaxError"},
		{"`not json`", "invalid character"},
		{"[99999999999999999999]", "SyntaxError"},
		{"{a: b", "SyntaxError"},
		{"a | powertools_json(", "SyntaxError"},

		{"nosuch(body)", "no function nosuch()"},
		{"a[*].nosuch(b)", "no function nosuch()"},
		{"length(a, b)", "takes 1 arguments, not 2"},
		{"length(a b)", "takes 1 arguments, not 2"},
		{"length()", "takes 1 arguments, not 0"},
		{"not_null()", "takes 1 arguments, not 0"},
		{"powertools_json(a, b)", "takes 1 arguments, not 2"},
		{"powertools_json()", "takes 1 arguments, not 0"},
		{"sort_by(a, b)", "must be an &expression"},
		{"sort_by(&b, a)", "must be a value"},
		{"length(&a)", "must be a value"},
		{"powertools_json(&a)", "must be a value"},
		{"&a", "&expression can only be"},
		{"[&a, b]", "&expression can only be"},

		{"*", "have no order"},
		{"a.*", "have no order"},
		{"a[*].b.*.c", "have no order"},
		{"map(&*, a)", "have no order"},
		{"keys(@)", "no stable order"},
		{"sort(keys(a))", "no stable order"},
		{"a[?values(b)[0] == `1`]", "no stable order"},

		{"a == `9007199254740993`", "more digits"},
		{"a[?b > `0.1000000000000000055511`]", "more digits"},
		{"[a, `[{\"x\": 1e400}]`]", "float64"},
		{"a == `1e-10000`", "exponent"},
		{"a == `\"\\ud800\"`", "literal"},
		{"a == `{\"x\":1,\"x\":2}`", "duplicate"},
		{`"\ud800"`, "literal"},
		{"a[::0]", "step"},
		{"{x: a, x: b}", "twice"},

		{"'constant'", "reads nothing"},
		{"`1`", "reads nothing"},
		{"['a', `1`]", "reads nothing"},
		{"length('abc')", "reads nothing"},
		{"id || 'anonymous'", "reads nothing"},
		{"powertools_json('{}')", "reads nothing"},
		{"('a' || @)", "reads nothing"},

		{"records.powertools_json(body)", "cannot stand behind"},
		{"records[*].powertools_json(body).id", "cannot stand behind"},
		{"a | powertools_json(body)", "cannot stand behind"},
		{"items[?powertools_json(body).x == 'y']", "cannot stand behind"},
		{"map(&powertools_json(body), items)", "cannot stand behind"},
		{"powertools_json(records[*].powertools_json(body))", "cannot stand behind"},

		{strings.Repeat("[@,@]|", 40) + "[@,@]", "too large"},
		{strings.Repeat("(@||[@])|", 190) + "@", "too large"},
		{strings.Repeat("not_null(@, to_array([@,@]))|", 40) + "@", "too large"},
		{strings.Repeat("a.", 200) + "a", "nested deeper"},
		{"a" + strings.Repeat("[]", 1000), "nested deeper"},

		{"!a.b", "write !(a.b)"},
		{"[id, !a.b.c]", "write !(a.b)"},
		{"items[?!cancelled.at].id", "write !(a.b)"},
		{"(!a)[0]", "write !(a.b)"},
		{"!a[]", "write !(a.b)"},
		{"!a[?b]", "write !(a.b)"},
		{"(!a)[*]", "write !(a.b)"},
	} {
		if _, err := Compile(c.expression); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Compile(%.80s): %v; want %q", c.expression, err, c.want)
		}
	}
}

func TestSelections(t *testing.T) {
	const payload = `{
		"id": "a", "n": 0, "no": false, "empty": "", "nothing": null, "list": [], "object": {},
		"big": 9007199254740993, "a": {"b": [1, 2, {"c": [3, [4, [5]]]}], "holds null": {"x": null}},
		"items": [{"id":"x","price":10,"tags":["t"]},{"id":"y","price":2,"tags":[]},{"id":"z","price":7.5}],
		"body": "{\"order\":{\"id\":1e2,\"lines\":[{\"sku\":\"s\",\"n\":12345678901234567890}]},\"nothing\":null}",
		"encoded": "eyJpZCI6ICJhIn0=", "zipped": "H4sIAAAAAAACA6tWykxRslJQSlSqBQBxgGevCwAAAA==",
		"nested": "{\"body\":\"{\\\"id\\\":7}\"}"}`
	for expression, want := range map[string]string{
		"id":                     `"a"`,
		" id ":                   `"a"`,
		"n":                      `0`,
		"no":                     `false`,
		"big":                    `9007199254740993`,
		`a."holds null"`:         `{"x":null}`,
		"a.b[0]":                 `1`,
		"a.b[-1].c[1][1][0]":     `5`,
		"a.b[2].c[]":             `[3,4,[5]]`,
		"a.b[2].c[][]":           `[3,4,5]`,
		"a.b[1:]":                `[2,{"c":[3,[4,[5]]]}]`,
		"a.b[::-1] | [0]":        `{"c":[3,[4,[5]]]}`,
		"[id, n, no]":            `["a",0,false]`,
		"{k: id, deep: {n: n}}":  `{"deep":{"n":0},"k":"a"}`,
		"items[*].id":            `["x","y","z"]`,
		"items[*].[id, price]":   `[["x",10],["y",2],["z",7.5]]`,
		"items[].{p: price}":     `[{"p":10},{"p":2},{"p":7.5}]`,
		"items[?price > `5`].id": `["x","z"]`,
		"items[?price == `10`]":  `[{"id":"x","price":10,"tags":["t"]}]`,
		"[items[0].id, items[*].price, items[1]]":        `["x",[10,2,7.5],{"id":"y","price":2,"tags":[]}]`,
		"[items[1].price, items[1:].id]":                 `[2,["y","z"]]`,
		"items[?tags].id":                                `["x"]`,
		"sum(items[].price)":                             `19.5`,
		"sort(items[].price)":                            `[2,7.5,10]`,
		"sort_by(items, &price)[0].id":                   `"y"`,
		"sort_by(items, &price)[*].id":                   `["y","z","x"]`,
		"[sort_by(items[*], &price)[0].id, items[0].id]": `["y","x"]`,
		"sort_by(items[?price > `5`], &price)[0].id":     `"z"`,
		"max_by(items, &price).id":                       `"x"`,
		"reverse(items)[0].id":                           `"z"`,
		"reverse(id)":                                    `"a"`,
		"map(&id, items)":                                `["x","y","z"]`,
		"merge(items[0], {extra: id}).extra":             `"a"`,
		"to_string(big)":                                 `"9007199254740993"`,
		"to_string(a.b)":                                 `"[1,2,{\"c\":[3,[4,[5]]]}]"`,
		"to_array(id)":                                   `["a"]`,
		"join('-', [id, to_string(n)])":                  `"a-0"`,
		"not_null(nothing, absent, id)":                  `"a"`,
		"contains(items[*].id, 'x')":                     `true`,
		"type(n)":                                        `"number"`,
		"length(items)":                                  `3`,
		"big == `5`":                                     `false`,
		"big == big":                                     `true`,
		"empty || absent || list || id":                  `"a"`,
		"(empty || id)":                                  `"a"`,
		"[id, to_string('x' || absent)]":                 `["a","x"]`,
		"no || n":                                        `0`,
		"absent || no":                                   `false`,
		"absent || items | [0].id":                       `"x"`,
		"items || absent | [0].id":                       `"x"`,
		"id || [absent, 'it\\'s || ']":                   `"a"`,
		"[id, 'it\\'s powertools_json(']":                `["a","it's powertools_json("]`,
		"[id, `\"|| (\"`, 'powertools_json(n)', \"n\"]":  `["a","|| (","powertools_json(n)",0]`,
		"id && n":                                        `0`,
		"!absent":                                        `true`,
		"to_string(absent) || id":                        `"a"`,
		`"id"`:                                           `"a"`,
		"\"\\u0069d\"":                                   `"a"`,
		"[id, 'it\\'s `1e400`']":                         `["a","it's ` + "`1e400`" + `"]`,
		"[id, 'it\\'s || ) (', `\"|| (\"`]":              `["a","it's || ) (","|| ("]`,

		"powertools_json(body).order.id":                                            `100`,
		"powertools_json( body ).order.lines[0]":                                    `{"n":12345678901234567890,"sku":"s"}`,
		"powertools_json (body).order.lines[*].n":                                   `[12345678901234567890]`,
		"powertools_base64(encoded)":                                                `"{\"id\": \"a\"}"`,
		"powertools_json(powertools_base64(encoded))":                               `{"id":"a"}`,
		"powertools_base64_gzip(zipped)":                                            `"{\"id\": \"a\"}"`,
		"powertools_json(powertools_base64_gzip(zipped)).id":                        `"a"`,
		"powertools_json(powertools_json(nested).body).id":                          `7`,
		"[id, powertools_json(body).order.id]":                                      `["a",100]`,
		"{a: powertools_json(body).order.id, b: powertools_json(body).order.lines}": `{"a":100,"b":[{"n":12345678901234567890,"sku":"s"}]}`,
		"powertools_json(absent).id || id":                                          `"a"`,
		"id || powertools_json(n)":                                                  `"a"`, // not evaluated
		"powertools_json(body).order.lines[?n == `1`] || id":                        `"a"`,
		"length(powertools_json(body).order.lines)":                                 `1`,
	} {
		got, err := canonical(t, expression, payload)
		if err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", expression, got, err, want)
		}
	}
}

func TestEqualCallsAreEvaluatedOnce(t *testing.T) {
	s, err := Compile("[powertools_json(body).id, powertools_json(body).amount, powertools_json(other)]")
	if err != nil {
		t.Fatal(err)
	}
	parts := s.alternatives[0].tree.children
	evaluated, decode := 0, decoders["powertools_json"]
	defer func() { decoders["powertools_json"] = decode }()
	decoders["powertools_json"] = func(text []byte, result *place, number numberReader, mem *memory) (any, error) {
		evaluated++
		return decode(text, result, number, mem)
	}
	if _, err := s.AppendCanonical(nil, []byte(`{"body":"{\"id\":1,\"amount\":2}","other":"3"}`)); err != nil || evaluated != 2 {
		t.Errorf("%d calls evaluated, %v; want 2", evaluated, err)
	}
	id, amount, other := parts[0].children[0].call, parts[1].children[0].call, parts[2].call
	if id != amount || id == other {
		t.Errorf("the calls are %p, %p and %p; want the first two to be one", id, amount, other)
	}
}

func TestMissingIsToldFromUnusable(t *testing.T) {
	const payload = `{"null": null, "empty": "", "list": [], "object": {}, "id": "a", "n": 1,
		"spaces": [ ], "nulls": [null, ""], "holds": {"null": null},
		"items": [{"id": "x", "note": ""}, {"id": "y"}],
		"body": "{\"id\":null,\"deep\":{\"empty\":[]}}", "text": "not json", "two": "1 2", "surrogate": "\ud800",
		"no base64": "?", "no gzip": "aGVsbG8=", "binary": "/w=="}`
	missing := []string{
		"absent", "null", "empty", "list", "object", "spaces", "absent.x.y", "id.x", "list[0]", "items[9]", "nulls[0]",
		"[id, absent]", "[id, null]", "[id, empty]", "[id, list]", "[id, object]", "{a: id, b: absent}", "[id, spaces]",
		"[id, [n, [absent]]]", "{a: {b: [id, {c: empty}]}}",
		"items[*].[id, note]", "items[].{id: id, note: note}", "items[?id == 'y'].[id, note]", "items[0].[id, note]",
		"items | [0].[id, note]", "[id, items[*].[id, note]]", "items[*].{a: [note]}", "items[:1].[note]",
		"[id, absent] | [1]", "{a: absent} | [a]", "[id, absent] | @", "{a: [id, null]}.a", "([id, absent])", "absent || [id, null]",
		"id && [id, null]", "map(&[id, note], items)", "not_null(absent, [id, empty])", "reverse([id, empty])", "sort([id, empty])",
		"max_by(items, &id).[id, note]", "merge({a: id, b: null}, holds)", "[id, `null`]", "[id, `\"\"`]",
		"to_string(absent)", "to_string(null)", "to_string(absent || null)", "to_string(items[9].id)", "to_string(id.x)", "to_array(absent)", "to_array(absent || null)",
		"[id, to_string(absent || null)]", "join('-', [id, absent])", "join('-', [id, empty])", "join('-', [id, items[9].id])", "join('-', [id, powertools_json(absent).id])", "join('-', [id, to_string(absent)])",
		"items[*].to_string(note)", "powertools_json(absent)", "powertools_json(empty)", "powertools_json(body).id", "powertools_json(body).absent.x",
		"[id, powertools_json(body).deep.empty]", "to_string(powertools_json(absent).id)", "to_string(powertools_json(body).id)",
		"powertools_json(powertools_base64(absent))", "absent || null", "join('', items[*].absent)", "items[?id == 'z']",
		"id == 'z' && id", "[n, id == 'z' && id]", "absent && id",
		"length(absent)", "merge(absent, holds)", "join('-', absent)", "join('-', absent.[id, n])", "sum(absent[].price)", "sort(absent)", "map(&id, absent)", "sort_by(absent, &id)", "[id, max_by(absent, &id)]",
	}
	values := []string{
		"n", "holds", "nulls", "[id, holds]", "[id, nulls]", "items[*]", "items[*].note", "items[?id == 'x'].note",
		"map(&note, items)", "to_array(nulls)", "reverse(nulls)", "length(list)", "length(empty)", "id == 'b'", "type(absent)", "id == 'z' && id || n", "[({\"null\": n} && holds), length(holds)]",
	}
	unusable := []string{
		"powertools_json(text)", "powertools_json(two)", "powertools_json(n)", "powertools_json(items)", "powertools_json(surrogate)",
		"powertools_base64(\"no base64\")", "powertools_base64_gzip(\"no gzip\")", "powertools_base64(binary)", "powertools_base64(n)",
		"surrogate", "[id, surrogate]", "length(surrogate)", "length(n)", "length(powertools_base64(binary))", "sum(items[*].id)", "avg(list)", "abs(id)",
		"contains(items, holds)", "max_by(items, &note)", "sort_by(items, &absent)", "join('-', nulls)",
	}
	for _, expression := range missing {
		if got, err := canonical(t, expression, payload); !errors.Is(err, ErrMissing) {
			t.Errorf("%s = %s, %v; want ErrMissing", expression, got, err)
		}
	}
	for _, expression := range values {
		if got, err := canonical(t, expression, payload); err != nil {
			t.Errorf("%s = %s, %v; want a value", expression, got, err)
		}
	}
	for _, expression := range unusable {
		if got, err := canonical(t, expression, payload); err == nil || errors.Is(err, ErrMissing) {
			t.Errorf("%s = %s, %v; want another error than ErrMissing", expression, got, err)
		}
	}
}

func TestAnEmptyPayloadIsMissing(t *testing.T) {
	for _, payload := range []string{`null`, ` {} `, "[\n]", `""`} {
		for _, expression := range []string{"@", "@ || absent", "[@]"} {
			if got, err := canonical(t, expression, payload); !errors.Is(err, ErrMissing) {
				t.Errorf("%s of %s = %s, %v; want ErrMissing", expression, payload, got, err)
			}
		}
	}
}

// What an expression does not read must be JSON, no more.
func TestOnlyWhatIsReadIsJudged(t *testing.T) {
	for _, c := range []struct {
		name, expression, payload string
		want                      string // the canonical form, or a part of the error after "error: "
	}{
		{"a repeated name elsewhere", "id", `{"id":1,"x":{"a":1,"a":2},"x":3}`, `1`},
		{"a repeated name in the selection", "x", `{"x":{"a":1,"a":2}}`, "error: duplicate"},
		{"a repeated name in what is inspected", "length(x)", `{"x":{"a":1,"a":2}}`, "error: duplicate"},
		{"a repeated name on the way", "a.b", `{"a":{"b":1},"a":{"b":2}}`, "error: duplicate"},
		{"a repeated name on the way, spelled otherwise", "a.b", `{"a":{"b":1},"\u0061":2}`, "error: duplicate"},
		{"a repeated name beside the way", "a.b", `{"a":{"b":1,"c":1,"c":2}}`, `1`},
		{"a repeated name in another element", "l[1].a", `{"l":[{"a":1,"a":2},{"a":3}]}`, `3`},
		{"a repeated name in one of all elements", "l[*].a", `{"l":[{"a":1,"a":2},{"a":3}]}`, "error: duplicate"},
		{"a lone surrogate elsewhere", "id", `{"id":1,"x":"\ud800","\udfff":2}`, `1`},
		{"a lone surrogate in a name that could be the member's", `"\ufffd"`, `{"\ud800":1}`, "error: not Unicode"},
		{"invalid UTF-8 in a name that could be the member's", `"\ufffd"`, "{\"\xff\":1}", "error: not Unicode"},
		{"a lone surrogate in the selection", "x", `{"x":["\ud800"]}`, "error: not Unicode"},
		{"invalid UTF-8 elsewhere", "id", "{\"id\":1,\"x\":\"\xff\"}", `1`},
		{"invalid UTF-8 in the selection", "x", "{\"x\":{\"\xff\":1}}", "error: not Unicode"},
		{"a huge exponent elsewhere", "id", `{"id":1,"x":1e99999}`, `1`},
		{"a huge exponent in the selection", "x", `{"x":[1e99999]}`, "error: exponent"},
		{"a huge exponent in what is inspected", "length(x)", `{"x":[1e99999]}`, "error: exponent"},
		{"broken JSON elsewhere", "id", `{"id":1,"x":[1,}`, "error: not valid JSON"},
		{"broken JSON behind", "id", `{"id":1}}`, "error: not valid JSON"},
		{"a second document", "id", `{"id":1} {"id":2}`, "error: more than one"},
		{"a second document behind the whole", "@", `{"id":1} 2`, "error: more than one"},
		{"white space around", "id", "\n {\"id\":1} \t", `1`},
		{"no document", "id", ``, "error: no JSON"},
		{"no document at all", "@", ` `, "error: no JSON"},
		{"nesting too deep elsewhere", "id", `{"id":1,"x":` + strings.Repeat("[", 20_000), "error: too deep"},
		{"nesting too deep in the selection", "x", `{"x":` + strings.Repeat(`{"x":`, 20_000), "error: too deep"},
		{"nesting too deep in what is inspected", "length(x)", `{"x":` + strings.Repeat(`[`, 20_000), "error: too deep"},
		{"more digits than a comparison can tell", "l[?n > `5`].id", `{"l":[{"n":9007199254740993,"id":1}]}`, "error: more digits"},
		{"more digits beside the comparison", "l[?n > `5`].id", `{"l":[{"n":6,"id":9007199254740993}]}`, `[9007199254740993]`},
		{"more digits in a sum", "sum(l)", `{"l":[9007199254740993]}`, "error: more digits than a double"},
		{"a sum beyond all numbers", "sum(l)", `{"l":[1e308,1e308]}`, "error: not finite"},
		{"a payload that is no object", "id", `[1]`, "error: null or empty"},
		{"an array as payload", "[0].id", `[{"id":7}]`, `7`},
		{"a string as payload", "powertools_json(@).id", `"{\"id\":7}"`, `7`},
		{"a scalar as payload", "@", ` 5.0 `, `5`},
		{"JSON in a string, broken", "powertools_json(b).id", `{"b":"{\"id\":1"}`, "error: powertools_json()"},
		{"JSON in a string, two documents", "powertools_json(b).id", `{"b":"{\"id\":1} {}"}`, "error: more than one"},
		{"JSON in a string, a repeated name", "powertools_json(b).id", `{"b":"{\"id\":1,\"id\":2}"}`, "error: duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := canonical(t, c.expression, c.payload)
			if reason, fails := strings.CutPrefix(c.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), reason) {
					t.Errorf("%s = %s, %v; want an error about %q", c.expression, got, err, reason)
				}
			} else if err != nil || got != c.want {
				t.Errorf("%s = %s, %v; want %s", c.expression, got, err, c.want)
			}
		})
	}
}

func TestErrorsDoNotQuoteThePayload(t *testing.T) {
	const payload = `{"secret":"hunter2","list":["hunter2"],"object":{"a":"hunter2"},"body":"{\"a\":hunter2}","escape":"\ud800hunter2","twice":{"hunter2":1,"hunter2":2}}`
	for _, expression := range []string{
		"length(`5` && secret == 'x')", "abs(secret)", "sum(list)", "merge(secret, object)", "contains([object], object)",
		"powertools_json(secret)", "powertools_json(body)", "powertools_json(escape)", "escape", "powertools_base64(secret)", "join(list, secret)", "[object, absent]",
		"to_string(@)", "twice", "length(twice)", "[twice, secret]", "to_string(twice)", "sum([`1`, secret])", "sort_by([secret, secret], &@.a)",
	} {
		_, err := canonical(t, expression, payload)
		if err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v; want an error without the value", expression, err)
		}
	}
}

func TestGzipBombIsBounded(t *testing.T) {
	const limit = 6 << 20
	bomb := gzipBase64(t, make([]byte, limit+1))
	if _, err := canonical(t, "powertools_base64_gzip(data)", `{"data":"`+bomb+`"}`); err == nil || !strings.Contains(err.Error(), "grows beyond") {
		t.Errorf("a gzip bomb: %v", err)
	}
	largest := gzipBase64(t, bytes.Repeat([]byte("a"), limit))
	if _, err := canonical(t, "powertools_base64_gzip(data)", `{"data":"`+largest+`"}`); err != nil {
		t.Errorf("the largest data allowed: %v", err)
	}
}
