package selection

import (
	"strings"
	"testing"
)

// Wherever a literal or an answer can be all that is selected, all events that have no
// more to them would share a key.
func TestWhatSaysNothingOfTheEventIsRefused(t *testing.T) {
	for _, alone := range []string{
		"not_null(id, 'x')", "(id || 'x')", "id && 'x'", "(id && 'x' || other)", "not_null(id, type == 'x')", "(id || type == 'x')",
		"(id || ['x'])", "(id || {a: 'x'})", "({a: id} || {b: 'x'})", "(id || to_string(`1`))", "(id || length('abc'))", "(id || join('-', ['a', 'b']))",
		"merge({id: 'x'}, detail).id", "merge(`{\"id\":\"x\"}`, @).id", "merge(`{\"id\":\"x\"}`, @)", "[id, 'x'] | [1]", "[id, 'x'] | [-1]", "{a: id, b: 'x'}.b",
		"items[*].['x'][] | [0]", "['x', id][?@ != 'y'] | [0]", "max(['a', id])", "min_by([id, `{\"p\":1}`], &p)", "powertools_json(body) && 'x'", "(powertools_json(body).id || 'x')",
		"(id || `1`)", "(id || `null`)", "not_null(id, not_null(kind, 'x'))", "((id || other) || 'x')", "(id && (kind || 'x'))", "(id || (other || 'x'))",
		"(id || contains(tags, 'x'))", "(id || starts_with(kind, 'x'))", "(id || !kind)", "(id || type(kind))", "('x' || id)",
	} {
		for _, within := range []string{"X", "[X]", "{a: X}", "[[X]]", "to_string(X)", "to_array(X)", "['v1', X]", "join('-', [to_string(X)])", "X | @", "@ | X", "[X][0]", "{a: X}.a",
			"absent || X", "not_null(absent, X)", "type == 'x' && X", "[to_string(X)] | join('-', @)"} {
			expression := strings.Replace(within, "X", alone, 1)
			if strings.HasPrefix(within, "@ |") && strings.Contains(alone, "powertools_") {
				continue
			}
			_, err := Compile(expression)
			if err == nil || !strings.Contains(err.Error(), "one request") {
				t.Errorf("Compile(%s): %v", expression, err)
			}
		}
		// Beside a part that is selected in any case it is welcome.
		if _, err := Compile("[tenant, " + alone + "]"); err != nil {
			t.Errorf("Compile([tenant, %s]): %v", alone, err)
		}
		if _, err := Compile("items[?" + alone + "].id"); err != nil && !strings.Contains(err.Error(), "powertools_") {
			t.Errorf("as a condition, %s: %v", alone, err)
		}
	}
	for _, expression := range []string{
		"id || 'x'", "id || type == 'x'", "'x'", "'x' || id", "type == 'x' && 'y'", "items[*].['x']", "items[?id].['x']", "map(&'x', items)", "items[*].not_null(sku, 'x')",
		"map(&(sku || 'x'), items)", "[items[*].['x'], 'y']", "sort(['b', 'a'])", "reverse(['b', 'a'])",
		"['v1', ids][]", "['v1', id][?@]", // which element is the literal is not followed
	} {
		if _, err := Compile(expression); err == nil || !strings.Contains(err.Error(), "one request") {
			t.Errorf("Compile(%s): %v", expression, err)
		}
	}
}

func TestWhatSaysWhichEventItIsIsNotRefused(t *testing.T) {
	for _, expression := range []string{
		"['v1', id]", "{kind: 'order', id: id}", "join('-', ['order', id])", "[id, kind || 'none']", "[id, \"replay-name\" || 'live']", "[id, kind] || [id]",
		"type == 'x' && id || other", "[type == 'x' && 'a' || 'b', id]", "not_null(id, other)", "items[*].['x', id]", "map(&['x', id], items)", "['v1', [id, 'x']]",
		"merge(detail, {id: id})", "merge({id: id}, detail).id", "sort(ids)", "reverse(ids)", "max(ids)", "sort_by(items, &p)[0]", "max_by(items, &(p || `0`)).id",
		"id == 'x'", "contains(tags, 'x')", "length(items)", "type(id)", "!id", "a == b || c == d", "to_string(id == 'x')",
		"items[?kind == 'x' || `true`].id", "items[?(kind || 'x') == 'x'].id", "to_array(id)", "to_array(items)[0]", "[id, 'x'] | [0]", "{a: 'x', b: id}.b", "[['v1', id], [id]]",
	} {
		if _, err := Compile(expression); err != nil {
			t.Errorf("Compile(%s): %v", expression, err)
		}
	}
}

func TestComparisonsThatHaveOneAnswerAreRefused(t *testing.T) {
	for _, c := range []struct{ comparison, want string }{
		{"d > 'text'", "compares numbers"},
		{"'2026-01-01' <= d", "compares numbers"},
		{"d < to_string(e)", "compares numbers"},
		{"join('-', ids) >= d", "compares numbers"},
		{"d > [e]", "compares numbers"},
		{"d > (e == f)", "compares numbers"},
		{"d > !e", "compares numbers"},
		{"d > `null`", "compares numbers"},
		{"d > `[1]`", "compares numbers"},
		{"d > e[*].f", "compares numbers"},
		{"d > (e | to_string(@))", "compares numbers"},
		{"d > type(e)", "compares numbers"},
		{"d > powertools_base64(e)", "compares numbers"},
		{"length(d) == 'x'", "one type"},
		{"type(d) != `1`", "one type"},
		{"[d] == `{}`", "one type"},
		{"to_string(d) == `5`", "one type"},
		{"`1` == '1'", "one type"},
	} {
		for _, within := range []string{"X", "X && id", "[id, X]", "!(X) && id", "to_string(X)", "not_null(id, X)", "[id, [X]]", "items[?X].id", "items[?id && !(X)].id", "map(&(X), items)", "sort_by(items, &(X))"} {
			expression := strings.Replace(within, "X", c.comparison, 1)
			if strings.Contains(expression, "powertools_") && strings.Contains(within, "items") {
				continue
			}
			if _, err := Compile(expression); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Compile(%s): %v; want %q", expression, err, c.want)
			}
		}
	}
	for _, comparison := range []string{
		"d > `5`", "d > e", "length(d) > `0`", "to_number(d) > `0`", "sum(d) < e", "d == 'x'", "d == `null`", "length(d) == `1`", "to_number(d) == `null`", "[d] == e", "max(d) > `1`", "max_by(d, &e) > `1`",
		"not_null(d, e) > `1`", "(d || `1`) > e", "(d && e) > `1`", "reverse(d) == 'x'", "(d > e) == `null`", "type(d) == 'string'", "d[0] > `1`", "d.e > `1`", "(d | @) > `1`", "abs(d) >= ceil(e)", "powertools_json(d) > `1`",
	} {
		if _, err := Compile("[id, " + comparison + "]"); err != nil {
			t.Errorf("Compile([id, %s]): %v", comparison, err)
		}
	}
}
