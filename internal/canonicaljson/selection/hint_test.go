package selection

import (
	"strings"
	"testing"
)

func TestSyntaxErrorsSayWhatToWrite(t *testing.T) {
	for _, c := range []struct{ expression, want string }{
		{"headers.idempotency-key", `needs double quotes: "idempotency-key"`},
		{"headers.x-amz-request-id || id", `needs double quotes: "x-amz-request-id"`},
		{"[detail-type, id]", `"detail-type"`},
		{"{a-b: c}", `"a-b"`},
		{"items[?detail-type == 'x'].id", `"detail-type"`},
		{"powertools_json(body).order-id", `"order-id"`},
		{"tags.aws:source", `"aws:source"`},
		{"detail.@type", `"@type"`},
		{"detail.$ref", `"$ref"`},
		{"a.1st", `"1st"`},
		{"$.detail.id", "JMESPath has no $;"},
		{"headers['x-id']", `headers."x-id"`},
		{`headers["x-id"]`, `headers."x-id"`},
		{"headers.'x-id'", "double quotes"},
		{"items[?price > 5].id", "backquotes: `5`"},
		{"a == -1.5", "backquotes: `-1.5`"},
		{"items.0.id", "items[0]"},
		{"items.12", "items[12]"},
		{"items[id]", "items[*].id"},
		{"items[?type = 'x'].id", "written =="},
		{"a and b", "written &&"},
		{"a or b", "written ||"},
		{"not a", "written !"},
		{"a ?? b", "written ||"},
		{"a?.b", "a dot alone"},
		{"powertools_json(body", "parentheses"},
		{"[a, b", "brackets"},
		{"{a: b", "brackets"},
	} {
		_, err := Compile(c.expression)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "at byte ") {
			t.Errorf("Compile(%s): %v; want %q", c.expression, err, c.want)
		}
	}
	for _, expression := range []string{"a b", "a.", "'open", "`x-y", "a == 'x-y' b", "{'a-b': c}", "\"x-y\".'", "a & b"} {
		if _, err := Compile(expression); err == nil || strings.Contains(err.Error(), "x-y") {
			t.Errorf("Compile(%s): %v; want no hint about what is quoted", expression, err)
		}
	}
}
