package powertools_test

import (
	"regexp"
	"slices"
	"strings"
)

// structure are the tokens of the language, with some names and numbers, and all the
// others those that the documents give something to do.
var (
	structure = slices.Concat(
		repeated(3, "a", "b", "l", "o", "m", "r", "@"),
		repeated(1, "p", "q", "x", "`null`", "`1`"),
		repeated(5, "[", "]", "[]", "[?", ".", "*"),
		repeated(3, ":", "0", "1"),
		repeated(1, "2", "-1", "-2", "|", "||", "&&", "!", "(", ")", "{", "}", ",", "==", "<"),
	)
	all = slices.Concat(
		repeated(6, "a", "b", "l", "o", "@"),
		repeated(3, "c", "n", "s", "r", "p", "q", "m", "x", "\"b\"", "\"\"", "\"10\""),
		repeated(8, ".", "[", "]", "(", ")", "*", "[]", "[?"),
		repeated(3, ",", "|", "||", "&&", "!", "&", "{", "}", ":", "==", "!=", "<", "<=", ">", ">="),
		repeated(2, "0", "1", "-1", "2", "-2", "`1`", "`2.0`", "`null`", "`true`", "`\"b\"`", "`[1,[2,null]]`", "`{\"b\":[0]}`", "'b'", "''"),
		repeated(1, "constructor", "\"\\ud800\"", "`bare`", "`1e400`", "`0.1`", "'it\\'s'", "'😀'", "\"é\"", "`[1e2,\"\\ud83d\"]`", "`NaN`", "9007199254740993", "-0",
			"abs", "avg", "ceil", "contains", "ends_with", "floor", "join", "keys", "length", "map", "max", "max_by", "merge", "min", "min_by", "not_null", "reverse", "sort", "sort_by",
			"starts_with", "sum", "to_array", "to_number", "to_string", "type", "values", "powertools_json", "powertools_base64", "powertools_base64_gzip"),
	)
)

func repeated(n int, tokens ...string) []string { return slices.Repeat(tokens, n) }

// sequences makes random sequences of tokens. Most of what is merely random does not
// compile, so they grow out of those that the real package has compiled, and out of
// some expressions. It knows no grammar.
type sequences struct {
	generator
	tokens   []string
	compiled [][]string
	seen     map[string]bool // what the compiled ones have given
}

func newSequences(g generator, tokens, expressions []string) *sequences {
	s := &sequences{g, tokens, nil, map[string]bool{}}
	for _, expression := range expressions {
		s.compiled = append(s.compiled, tokenPattern.FindAllString(expression, -1))
	}
	return s
}

// bracketed are rows of brackets, where the grammars are intricate, for more to grow
// out of.
var bracketed = []string{
	"a[0][0:2]", "a[0:2][0]", "a[0:2][0:2]", "m[0][0][0:2]", "m[0][1:].b", "(a[0])[0:2]", "[0][0:2]", "[0:2][0]", "a[0].b[0:2]", "a[*][0][0:2]", "a[0][0:2][]", "a[0][0:2] | [0]",
	"r[?p].b[?q]", "r[?p][?q]", "r[?p][0]", "r[?p].b[0]", "r[?p][]", "r[?p].b[].q", "r[?p].b[*].q", "r[?p] | [?b].b", "r[?p.b].b[?q][0]", "[?b][?a]", "r[?p][?b].b[?q].q", "r[*].b[?q]", "r[].b[?q]",
	"o.*[?b]", "o.*.b[?b]", "*.b[?q]", "*[?p].b[?q]", "o.*.*", "*[0]", "*[][?p].b[?q]", "o.*.b[0][0:2]", "*.*[0:2]", "l[].b[].b", "a[][][]", "m[*][*][0:1]", "[*][0][:1]", "[a, b][0][0:2]", "{b: a}.b[0][0:2]",
	"!a[0]", "!a.b", "![a][0]", "a || b[0] && l[?b]", "a[?b == `null`][0]", "l[?b][?!n]", "r[?!q].b[?q] || m[0][:1]", "@[0][0:2]", "@.a[0][0:2]", "a.b.l[0][0:2]", "a.l[0][:2]", "a.l[1][1][0:1]",
}

// tokenPattern matches the tokens of an expression; a pair of brackets is one where
// nothing stands in them.
var tokenPattern = regexp.MustCompile("'(?:\\\\.|[^'])*'|`(?:\\\\.|[^`])*`|\"(?:\\\\.|[^\"])*\"|\\w+|-\\d+|\\[\\]|\\[\\?|[|&=!<>][|&=]|\\S")

// keep lets a sequence that has compiled grow, if what it gives is new.
func (s *sequences) keep(sequence, outcomes []string) bool {
	given := strings.Join(outcomes, "\n")
	isNew := !s.seen[given]
	if s.seen[given] = true; isNew && len(sequence) > 0 {
		s.compiled = append(s.compiled, sequence)
	}
	return isNew
}

const longest = 30

func (s *sequences) next() []string {
	if s.IntN(4) == 0 {
		return s.random(1 + s.IntN(7))
	}
	sequence := slices.Clone(pick(s.generator, s.compiled))
	for range 1 + s.IntN(3) {
		at := s.IntN(len(sequence) + 1)
		to := min(len(sequence), at+s.IntN(3))
		switch s.IntN(6) {
		case 0:
			sequence = slices.Insert(sequence, at, s.random(1+s.IntN(3))...)
		case 1:
			sequence = slices.Delete(sequence, at, to)
		case 2:
			sequence = slices.Replace(sequence, at, to, s.random(1+s.IntN(2))...)
		case 3:
			sequence = slices.Insert(sequence, at, s.part(pick(s.generator, s.compiled))...)
		case 4:
			sequence = slices.Insert(sequence, at, slices.Clone(sequence[at:to])...)
		case 5:
			sequence = slices.Replace(sequence, at, to, s.part(pick(s.generator, s.compiled))...)
		}
	}
	return sequence[:min(len(sequence), longest)]
}

func (s *sequences) part(of []string) []string {
	from := s.IntN(len(of))
	return of[from : from+1+s.IntN(len(of)-from)]
}

func (s *sequences) random(n int) []string {
	sequence := make([]string, n)
	for i := range sequence {
		sequence[i] = pick(s.generator, s.tokens)
	}
	return sequence
}

// text joins the tokens, now and then in a way that makes others of them.
func (s *sequences) text(sequence []string) string {
	separator := " "
	if s.IntN(4) == 0 {
		separator = ""
	}
	return strings.Join(sequence, separator)
}
