package selection

import (
	"errors"
	"strings"
	"testing"
)

// Two requests that both lack a part share nothing, whatever would be made of it.
func TestAPartIsJudgedWhateverIsMadeOfIt(t *testing.T) {
	for _, c := range []struct{ expression, payload string }{
		{`join('-', [(headers."X-Id" || headers."x-id"), tenant])`, `{"headers":{"x-id":""},"tenant":"t1"}`},
		{"join('-', [to_string(id || order_id), tenant])", `{"tenant":"t1"}`},
		{"join('-', [not_null(a, b), c])", `{"b":"","c":"t1"}`},
		{"join('-', [not_null(a, b), c])", `{"c":"t1"}`},
		{"join('-', [join(',', items[*].id), tenant])", `{"items":[],"tenant":"t1"}`},
		{"join('-', [join(',', items[*].id), tenant])", `{"items":[{"sku":"a"}],"tenant":"t1"}`},
		{"join('-', [to_string(items[-1].id), c])", `{"items":[],"c":"t1"}`},
		{"join('-', [to_string(items[*].id), c])", `{"items":[],"c":"t1"}`},
		{"to_string([(a || b), c])", `{"c":"t1"}`},
		{"to_string({id: (a || b), c: c})", `{"c":"t1"}`},
		{"to_array([(a || b), c])", `{"c":"t1"}`},
		{"length([(a || b), c])", `{"c":"t1"}`},
		{"join('-', [to_string(to_number(q)), c])", `{"q":"abc","c":"t1"}`},
		{"join('-', map(&to_string(@), [(a || b), c]))", `{"c":"t1"}`},
		{"join('-', [powertools_base64(x), c])", `{"x":"\n","c":"t1"}`},
		{"join('-', [powertools_json(x), c])", `{"x":"\"\"","c":"t1"}`},
		{"join('-', [reverse(a), c])", `{"a":"","c":"t1"}`},
		{"map(&@, [(a || b), c])", `{"c":"t1"}`},
		{"map(&[id, sku], items)", `{"items":[{"id":1}]}`},
		{"map(&to_string([id, sku]), items)", `{"items":[{"id":1}]}`},
		{"reverse([(a || b), c])[*]", `{"c":"t1"}`},
		{"[(a || b), c][]", `{"c":"t1"}`},
		{"[(a || b), c][*]", `{"c":"t1"}`},
		{"[(a || b), c][1:]", `{"c":"t1"}`},
		{"[(a || b), c] | [?@]", `{"c":"t1"}`},
		{"items[*].[id, sku][]", `{"items":[{"id":1}]}`},
		{"items[*].to_string(id)", `{"items":[{"id":1},{}]}`},
		{"[[a, b] | [1], c]", `{"a":1,"c":2}`},
		{"{x: {a: a, b: b}.b, c: c}", `{"a":1,"c":2}`},
		{"merge({a: a, b: b}, c)", `{"a":1,"c":{"b":2}}`},
		{"[type == 'x' && [a, b], c]", `{"type":"x","a":1,"c":2}`},
		{"[(join('-', [a, b]) || join('-', [a, c])), d]", `{"a":"1","d":2}`},
		{"not_null(join('-', [a, b]), [a, c])", `{"a":"1"}`},
		{"[a, b] || [a, c]", `{"a":1}`},
	} {
		if got, err := canonical(t, c.expression, c.payload); !errors.Is(err, ErrMissing) {
			t.Errorf("%s of %s = %s, %v; want ErrMissing", c.expression, c.payload, got, err)
		}
	}
}

// A part that is not evaluated, or only decides, may be missing.
func TestAPartThatDoesNotCountIsNotJudged(t *testing.T) {
	for _, c := range []struct{ expression, payload, want string }{
		{"[(id || join('-', [a, b])), d]", `{"id":1,"d":2}`, `[1,2]`},
		{"[(id || to_string(b)), d]", `{"id":1,"d":2}`, `[1,2]`},
		{"(id || join('-', [a, b])) | @", `{"id":1}`, `1`},
		{"[(a || [b, c]), d]", `{"a":[null,1],"d":2}`, `[[null,1],2]`},
		{"not_null(id, [a, b])", `{"id":1}`, `1`},
		{"not_null(id, to_string(b))", `{"id":1}`, `1`},
		{"[type == 'x' && to_string(b) || c, d]", `{"type":"y","c":1,"d":2}`, `[1,2]`},
		{"{k: id, sub: sub && to_string(sub.n) || 'x'}", `{"id":1}`, `{"k":1,"sub":"x"}`},
		{"[headers.id || powertools_json(body).id, x]", `{"headers":{"id":1},"body":"no JSON","x":2}`, `[1,2]`},

		{"[detail.id, to_string(detail.amount) || 'none']", `{"detail":{"id":1}}`, `[1,"none"]`},
		{"[id, join('/', [a, b]) || c]", `{"id":1,"a":"x","c":2}`, `[1,2]`},
		{"[length(a) || 'none', d]", `{"d":1}`, `["none",1]`},
		{"not_null([a, b], c)", `{"a":1,"c":2}`, `2`},
		{"[a, b] || c", `{"a":1,"c":2}`, `2`},
		{"{a: a, b: b} || c", `{"a":1,"c":2}`, `2`},
		{"not_null(a, b)", `{"a":1,"b":2}`, `1`},
		{"[!powertools_json(to_string(a)), d]", `{"d":1}`, `[true,1]`},
		{"[(powertools_json(join('', [a, b])) && c) || d, e]", `{"a":"1","c":2,"d":3,"e":4}`, `[3,4]`},
		{"powertools_json(join('', [a, b])) || c", `{"a":"1","c":2}`, `2`},

		{"items[?type == 'x'].[id, to_string(v)]", `{"items":[{"type":"x","id":1,"v":2},{"type":"y","id":2}]}`, `[[1,"2"]]`},
		{"Records[?eventName == 'INSERT'].join('/', [pk, v])", `{"Records":[{"eventName":"INSERT","pk":"a","v":"1"},{"eventName":"REMOVE","pk":"b"}]}`, `["a/1"]`},
		{"join('-', [items[-1].id, c])", `{"items":[{},{"id":"x"}],"c":"y"}`, `"x-y"`},
		{"join('-', [items[0].id, c])", `{"items":[{"id":"x"},{}],"c":"y"}`, `"x-y"`},
		{"items[?to_string(id) == '5'].sku", `{"items":[{"id":5,"sku":1},{"sku":2}]}`, `[1]`},
		{"items[?contains([a, b], 'x')].id", `{"items":[{"a":"x","id":1}]}`, `[1]`},
		{"items[?!contains([a, b], 'x')].id", `{"items":[{"a":"y","id":1}]}`, `[1]`},
		{"[([a, b] == [a, c]), d]", `{"a":1,"d":2}`, `[true,2]`},
		{"[[a, b] && c, d]", `{"a":1,"c":2,"d":3}`, `[2,3]`},
		{"max_by(items, &to_string(p)).id", `{"items":[{"p":1,"id":7},{"id":8}]}`, `8`},

		{"to_string(name)", `{"name":"null"}`, `"null"`},
		{"[to_string(name), n]", `{"name":"null","n":0}`, `["null",0]`},
		{"{a: a, b: b}.a", `{"a":1,"b":2}`, `1`}, // what goes nowhere is read, or it would seem to be missing
		{"[[a, b] | [0], c]", `{"a":1,"b":2,"c":3}`, `[1,3]`},
	} {
		if got, err := canonical(t, c.expression, c.payload); err != nil || got != c.want {
			t.Errorf("%s of %s = %s, %v; want %s", c.expression, c.payload, got, err, c.want)
		}
	}
}

// go-jmespath finds the exported fields of Go structs. None of ours is a member.
func TestOurTypesHaveNoMembers(t *testing.T) {
	for _, payload := range []string{`{"a":100,"b":1}`, `{"a":100.0,"b":1}`, `{"a":"x","b":1}`} {
		for _, expression := range []string{"[b, length(a.text)]", "[a, length(a.text)]", "[a, a.text]", "[b, map(&text, [a, b])[0]]", "[a, max_by([a, b], &text)]"} {
			if got, err := canonical(t, expression, payload); err == nil {
				t.Errorf("%s of %s = %s", expression, payload, got)
			}
		}
		if got, err := canonical(t, "[(a.text || b), (a.text[0] || b)]", payload); err != nil || got != `[1,1]` {
			t.Errorf("a.text of %s: %s, %v", payload, got, err)
		}
		if got, err := canonical(t, "[a, map(&(text || 'none'), [a, b])]", payload); err != nil || !strings.HasSuffix(got, `,["none","none"]]`) {
			t.Errorf("text of the elements of %s: %s, %v", payload, got, err)
		}
	}
}

// sort_by sorts in place in go-jmespath. Nothing else sees that.
func TestSortingIsSeenByNobodyElse(t *testing.T) {
	const payload = `{"items":[{"p":2},{"p":1}],"groups":[{"items":[{"p":4},{"p":3}]}]}`
	for expression, want := range map[string]string{
		"[sort_by(items, &p)[0].p, items[0].p]":                               `[1,2]`,
		"[items[0].p, sort_by(items, &p)[0].p]":                               `[2,1]`,
		"[sort_by(items, &p)[*].p, items]":                                    `[[1,2],[{"p":2},{"p":1}]]`,
		"[groups[*].sort_by(items, &p)[0].p, groups[0].items[0].p]":           `[[3],4]`,
		"items | [sort_by(@, &p)[0].p, @[0].p]":                               `[1,2]`,
		"items[*] | [sort_by(@, &p)[0].p, @[0].p]":                            `[1,2]`,
		"sort_by(not_null(absent, items), &p)[*].p":                           `[1,2]`,
		"[sort_by(`[{\"p\":2},{\"p\":1}]`, &p)[0].p, items[0].p]":             `[1,2]`,
		"map(&sort_by(items, &p)[0].p, groups)":                               `[3]`,
		"[sort_by((absent || `[{\"p\":2},{\"p\":1}]`), &p)[0].p, items[0].p]": `[1,2]`,
		"[max_by(items, &p).p, min_by(items, &p).p, max_by(items,&p)]":        `[2,1,{"p":2}]`,
	} {
		for range 2 { // a literal, too, stays as it is
			if got, err := canonical(t, expression, payload); err != nil || got != want {
				t.Errorf("%s = %s, %v; want %s", expression, got, err, want)
			}
		}
	}
}

// An ID of 64 bits is a number with more digits than functions compute with. The
// error says so, not that it is no number.
func TestLongNumbersInFunctionsAreNamed(t *testing.T) {
	const payload = `{"id":1234567890123456789,"ids":[1234567890123456789,1],"items":[{"id":1234567890123456789},{"id":1}]}`
	for _, expression := range []string{
		"sort(ids)", "max(ids)", "sum(ids)", "sort(items[].id)", "sort_by(items, &id)[*].id", "max_by(items, &id)", "type(id)", "to_number(id)", "abs(id)", "[join('-', ids), id]",
	} {
		if got, err := canonical(t, expression, payload); err == nil || !strings.Contains(err.Error(), "more digits than a double") {
			t.Errorf("%s = %s, %v", expression, got, err)
		}
	}
	for expression, want := range map[string]string{
		"[id, ids]":             `[1234567890123456789,[1234567890123456789,1]]`,
		"items[*].id":           `[1234567890123456789,1]`,
		"to_string(id)":         `"1234567890123456789"`,
		"reverse(ids)":          `[1,1234567890123456789]`,
		"contains(ids, id)":     `true`,
		"items[?id == `1`].id":  `[1]`,
		"not_null(absent, ids)": `[1234567890123456789,1]`,
	} {
		if got, err := canonical(t, expression, payload); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", expression, got, err, want)
		}
	}
}

// Functions of ours and the rest of the payload stand side by side.
func TestCallsStandBesideAnyPartOfThePayload(t *testing.T) {
	for _, c := range []struct{ expression, payload, want string }{
		{"[@, powertools_json(b).id]", `{"b":"{\"id\":7}"}`, `[{"b":"{\"id\":7}"},7]`},
		{"[[0].x, powertools_json([1]).id]", `[{"x":1},"{\"id\":7}"]`, `[1,7]`},
		{"[[*].x, powertools_json([1]).id]", `[{"x":1},"{\"id\":7}"]`, `[[1],7]`},
	} {
		if got, err := canonical(t, c.expression, c.payload); err != nil || got != c.want {
			t.Errorf("%s of %s = %s, %v; want %s", c.expression, c.payload, got, err, c.want)
		}
	}
}
