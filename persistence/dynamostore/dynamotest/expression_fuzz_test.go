package dynamotest

import (
	"errors"
	"testing"
)

// grammars are the rules that read whole expressions, each applied to an item that is there and to none.
var grammars = map[string]func(p *placeholders, text string, old item) error{
	"ConditionExpression": func(p *placeholders, text string, old item) error {
		parsed, err := parse(p, expressionParameter{"ConditionExpression", &text}, (*parser).condition)
		if err == nil {
			parsed.holds(old)
		}
		return err
	},
	"UpdateExpression": func(p *placeholders, text string, old item) error {
		parsed, err := parse(p, expressionParameter{"UpdateExpression", &text}, (*parser).update)
		if err != nil {
			return err
		}
		before := document(old).plain()
		after, err := parsed.apply(old, nil)
		if document(old).plain() != before {
			panic("the old item changed")
		}
		projection(parsed.targets()).of(after)
		return err
	},
	"ProjectionExpression": func(p *placeholders, text string, old item) error {
		parsed, err := parse(p, expressionParameter{"ProjectionExpression", &text}, (*parser).projection)
		if err == nil {
			parsed.of(old)
		}
		return err
	},
	"KeyConditionExpression": func(p *placeholders, text string, _ item) error {
		terms, err := parse(p, expressionParameter{"KeyConditionExpression", &text}, (*parser).keyTerms)
		if err == nil {
			_, err = bindKeyTerms(terms, keySchema{{name: "id", kind: kindString}, {name: "n", kind: kindNumber, sort: true}})
		}
		return err
	},
}

// FuzzExpressions reads any text with every grammar: it is refused as DynamoDB would, or it works; it never panics.
func FuzzExpressions(f *testing.F) {
	for _, b := range []string{
		"n = :n AND NOT (s <> :s OR begins_with(s, :s))", "size(l) BETWEEN :n AND :n9", "n IN (:n, :s)", "attribute_type(s, :type)",
		"SET n = if_not_exists(n, :n) + :n, l[9] = :s REMOVE m.a ADD fresh :ns DELETE ss :ss", "SET l = list_append(l, :l)",
		"n, m.b.c, l[0], #n", "id = :s AND n > :n", "((n = :n))", "[[", "#", ":", "\xff", "SET", "a.b[0].c[1] = :n", "",
	} {
		f.Add(b)
	}
	stored, err := wireItemOf(sample).item()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, grammar := range grammars {
			for _, old := range []item{stored, nil} {
				p, err := expressionAttributes{Names: sampleNames, Values: wireItemOf(sampleValues)}.placeholders(expressionParameter{name, &text})
				if err != nil {
					t.Fatal(err)
				}
				if name == "UpdateExpression" && old == nil {
					old = item{"id": stringValue("fresh")}
				}
				if err := grammar(p, text, old); err != nil {
					if _, ours := errors.AsType[*apiError](err); !ours {
						t.Fatalf("%s %q: %v", name, text, err)
					}
				}
			}
		}
	})
}
