package selection

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jmespath/go-jmespath"
)

// explain adds to a syntax error where it is and, for what people write by mistake,
// what to write instead.
func explain(text string, err error) error {
	if syntax, ok := errors.AsType[jmespath.SyntaxError](err); ok {
		err = fmt.Errorf("%w at byte %d", err, syntax.Offset)
	}
	if hint := hintFor(text); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

// mistake is a pattern of other languages, and what to say to it. The pattern is looked
// for in the expression with what is quoted left empty.
type mistake struct{ pattern, hint string }

// mistakes are looked for in this order. A hint names groups of its pattern as
// regexp's Expand does.
var mistakes = []mistake{
	{`^\s*\$`, "JMESPath has no $$; a path begins with a member of the payload: detail.id"},
	{`\b\w+\[\s*(?:''|"")\s*\]`, `a member is written with a dot, and its name in double quotes if need be: headers."x-id"`},
	{`\.\s*''`, `a name is written in double quotes: headers."x-id"`},
	{`(?:==|!=|<=|>=|<|>)\s*(-?[0-9][0-9.eE+-]*)`, "a number is written in backquotes: `$1`"},
	{`\.\s*([0-9]+)(?:[.\[\s]|$)`, "an element is written in brackets: items[$1]"},
	{`(?:^|[\s({,\[.!?])([A-Za-z_]\w*(?:[-:/$@+][\w$]+)+)`, `a name that is not made of letters, digits and "_" alone needs double quotes: "$1"`},
	{`(?:^|[\s({,\[.!?])([$@#:/-]\w+|[0-9]+[A-Za-z_]\w*)`, `a name that does not begin with a letter or "_" needs double quotes: "$1"`},
	{`(?:^|[^=!<>])=(?:[^=]|$)`, "a comparison is written =="},
	{`\sand\s`, "and is written &&"},
	{`\sor\s`, "or is written ||"},
	{`(?:^|\s)not\s`, "not is written !"},
	{`\?\?`, "an alternative is written ||"},
	{`\?\.`, "a member that may be missing is written with a dot alone"},
	{`\w\[\s*[A-Za-z_]\w*\s*\]`, "items[0] is an element, items[*].id a member of all elements, items[?id] all elements that have one"},
}

// hintFor returns what to write instead; empty where nobody can tell.
func hintFor(text string) string {
	bare := withoutQuoted(text)
	for _, m := range mistakes {
		pattern := regexp.MustCompile(m.pattern) // seldom needed, and then never again
		if found := pattern.FindStringSubmatchIndex(bare); found != nil {
			return string(pattern.ExpandString(nil, m.hint, bare, found))
		}
	}
	switch {
	case strings.Count(bare, "(") != strings.Count(bare, ")"):
		return "parentheses are not in pairs"
	case strings.Count(bare, "[") != strings.Count(bare, "]"), strings.Count(bare, "{") != strings.Count(bare, "}"):
		return "brackets are not in pairs"
	}
	return ""
}

// withoutQuoted returns an expression whose quoted names, literals and raw strings are
// empty.
func withoutQuoted(text string) string {
	var bare strings.Builder
	from := 0
	for _, t := range quotedTokens(text) {
		bare.WriteString(text[from : t.start+1])
		from = max(t.end-1, t.start+1)
	}
	bare.WriteString(text[min(from, len(text)):])
	return bare.String()
}
