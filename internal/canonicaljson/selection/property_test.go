package selection

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
	"github.com/jmespath/go-jmespath"
)

// Reading only what an expression looks at, and leaving in its text what it only
// selects, gives what decoding everything gives.
func TestPartialReadingEqualsDecodingEverything(t *testing.T) {
	values := 0
	for seed := range uint64(2_000) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		expression, payload := g.expression(1+g.IntN(3)), []byte(g.object(3))
		s, err := Compile(expression)
		if err != nil {
			continue
		}
		partial, partialErr := s.AppendCanonical(nil, payload)
		if errors.Is(partialErr, errInexact) {
			continue // it depends on what is read
		}
		whole, wholeErr := decodeEverything(s).AppendCanonical(nil, payload)
		if (partialErr == nil) != (wholeErr == nil) || errors.Is(partialErr, ErrMissing) != errors.Is(wholeErr, ErrMissing) || !bytes.Equal(partial, whole) {
			t.Fatalf("seed %d: %s on\n%s\nread in part: %s, %v\ndecoded:      %s, %v", seed, expression, payload, partial, partialErr, whole, wholeErr)
		}
		if partialErr == nil {
			values++
		}
	}
	if values < 200 {
		t.Errorf("only %d expressions selected anything", values)
	}
}

// What is selected is what the bare engine finds in the decoded payload.
func TestSelectionsAreTheEngines(t *testing.T) {
	values := 0
	for seed := range uint64(4_000) {
		g := generator{rand.New(rand.NewPCG(seed, 6))}
		expression, payload := g.expression(1+g.IntN(3)), []byte(g.object(3))
		s, err := Compile(expression)
		if err != nil || strings.Contains(expression, "powertools_") { // no function of the engine
			continue
		}
		if alternatives.MatchString(expression) && canBeMissing.MatchString(expression) { // the engine would not pass over it
			continue
		}
		got, err := s.AppendCanonical(nil, payload)
		if err != nil {
			continue
		}
		found, err := jmespath.Search(expression, decoded(t, payload))
		if err != nil {
			t.Fatalf("seed %d: %s on\n%s\nselects %s, but the engine says %v", seed, expression, payload, got, err)
		}
		want, err := canonicaljson.AppendValue(nil, found)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %s on\n%s\nselects %s, but the engine finds %s, %v", seed, expression, payload, got, want, err)
		}
		values++
	}
	if values < 200 {
		t.Errorf("only %d expressions selected anything", values)
	}
}

var (
	alternatives = regexp.MustCompile(`\|\||not_null`)
	canBeMissing = regexp.MustCompile(`,|\w\(`)
)

func decoded(t *testing.T, document []byte) any {
	t.Helper()
	value, err := read(document, wholeInspected, canonicaljson.ParseNumber, &memory{left: maxMemory})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The order of members says nothing.
func TestMemberOrderChangesNoSelection(t *testing.T) {
	for seed := range uint64(1_000) {
		g := generator{rand.New(rand.NewPCG(seed, 8))}
		expression := g.expression(1 + g.IntN(3))
		s, err := Compile(expression)
		if err != nil {
			continue
		}
		payload := []byte(g.object(3))
		checkShuffled(t, expression, s, payload, g.Rand)
	}
}

// FuzzExpressions: no expression and no payload is a panic, and what compiles
// selects the same from a payload with its members in another order.
func FuzzExpressions(f *testing.F) {
	for seed := range uint64(200) {
		g := generator{rand.New(rand.NewPCG(seed, 9))}
		f.Add(g.expression(3), []byte(g.object(3)), seed)
	}
	for _, expression := range []string{"a\u0080", "a[", "[99999999999999999999]", "{a", "'", "`", "\"", "a||b", "powertools_json(a", "&", "[::0]", "a[1:-9223372036854775808:9223372036854775807]"} {
		f.Add(expression, []byte(`{"a":[1,2]}`), uint64(1))
	}
	f.Fuzz(func(t *testing.T, expression string, payload []byte, seed uint64) {
		s, err := Compile(expression)
		if err != nil {
			return
		}
		if _, err := canonicaljson.Append(nil, payload); err != nil {
			_, _ = s.AppendCanonical(nil, payload)
			return
		}
		checkShuffled(t, expression, s, payload, rand.New(rand.NewPCG(seed, 9)))
	})
}

func checkShuffled(t *testing.T, expression string, s *Selection, payload []byte, r *rand.Rand) {
	t.Helper()
	first, firstErr := s.AppendCanonical(nil, payload)
	shuffled := shuffle(t, payload, r)
	second, secondErr := s.AppendCanonical(nil, shuffled)
	if (firstErr == nil) != (secondErr == nil) || errors.Is(firstErr, ErrMissing) != errors.Is(secondErr, ErrMissing) || firstErr == nil && !bytes.Equal(first, second) {
		t.Fatalf("%s on\n%s\nselects %s, %v; but with its members in another order,\n%s\nselects %s, %v", expression, payload, first, firstErr, shuffled, second, secondErr)
	}
}

func shuffle(t *testing.T, document []byte, r *rand.Rand) []byte {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	var write func(value any) string
	write = func(value any) string {
		switch v := value.(type) {
		case []any:
			var elements []string
			for _, element := range v {
				elements = append(elements, write(element))
			}
			return "[" + strings.Join(elements, ",") + "]"
		case map[string]any:
			var members []string
			for name, member := range v {
				members = append(members, write(name)+":"+write(member))
			}
			r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
			return "{" + strings.Join(members, ",") + "}"
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return []byte(write(value))
}

// decodeEverything returns the selection without its reading in part.
func decodeEverything(s *Selection) *Selection {
	whole := &Selection{}
	for _, a := range s.alternatives {
		clone := *a
		clone.reads = inspectAll(a.reads)
		clone.number = canonicaljson.ParseNumber
		clone.tree = decodeAllResults(a.tree)
		whole.alternatives = append(whole.alternatives, &clone)
	}
	return whole
}

func decodeAllResults(n node) node {
	if n.call != nil {
		call := *n.call
		call.argument = decodeEverything(n.call.argument)
		call.result = inspectAll(n.call.result)
		n.call = &call
	}
	var children []node
	for _, child := range n.children {
		children = append(children, decodeAllResults(child))
	}
	n.children = children
	return n
}

func inspectAll(p *place) *place {
	clone := *p
	clone.selected, clone.inspected = true, true
	clone.members, clone.indexes, clone.elements = nil, nil, nil
	for name, child := range p.members {
		clone.member(name).absorb(inspectAll(child))
	}
	for index, child := range p.indexes {
		clone.at(index).absorb(inspectAll(child))
	}
	if p.elements != nil {
		clone.element().absorb(inspectAll(p.elements))
	}
	clone.settle()
	return &clone
}

// generator makes documents and expressions that have a chance to fit together.
type generator struct{ *rand.Rand }

func (g generator) pick(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) name() string { return g.pick("a", "b", "c", "d", "text") }

func (g generator) document(depth int) string {
	switch n := g.IntN(10); {
	case depth == 0 || n < 2:
		return g.pick(`1`, `2.50`, `0`, `-1e1`, `9007199254740993`, `true`, `false`, `null`, `""`, `"a"`, `"b"`, `"\u0061\n"`, `"é😀"`,
			`[]`, `{}`, `"{\"a\":{\"b\":1,\"c\":[1,2]},\"b\":\"x\"}"`, `"[{\"a\":1}]"`, `"`+strings.Repeat(`long \"\\\n`, 80)+`"`)
	case n < 5:
		elements := make([]string, g.IntN(4))
		for i := range elements {
			elements[i] = g.document(depth - 1)
		}
		return "[" + strings.Join(elements, g.pick(",", " , ")) + "]"
	}
	return g.object(depth)
}

func (g generator) object(depth int) string {
	var members []string
	for _, name := range []string{"a", "b", "c", "d", "text"} {
		if g.IntN(6) > 0 {
			members = append(members, fmt.Sprintf(`%s:%s`, g.pick(`"`+name+`"`, fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])), g.document(depth-1)))
		}
	}
	return "{" + strings.Join(members, ",") + g.pick("}", " }")
}

func (g generator) expression(depth int) string {
	if depth == 0 {
		return g.pick("a", "b", "c", "d", "a", "b", "c", "d", "a", "text", "@", "'a'")
	}
	e := func() string { return g.expression(depth - 1) }
	switch g.IntN(24) {
	case 0, 1, 2, 3, 4:
		return e() + "." + g.name()
	case 5, 6:
		return e() + g.pick("[0]", "[1]", "[-1]", "[5]")
	case 7, 8:
		return e() + g.pick("[*]", "[]", "[1:]", "[::-1]") + g.pick("", "", "."+g.name(), "[0]")
	case 9:
		return e() + "[?" + e() + g.pick("", " == ", " < ", " != ") + g.pick("`1`", "'a'", "@") + "]"
	case 10, 11:
		return "[" + e() + ", " + e() + "]"
	case 12:
		return "{a: " + e() + ", b: " + e() + "}"
	case 13:
		return e() + g.pick("[*]", "[]", "") + ".[" + e() + ", " + g.name() + "]"
	case 14:
		return "(" + e() + " || " + e() + ")"
	case 15:
		return e() + " || " + e()
	case 16:
		return "(" + e() + " && " + e() + ")"
	case 17:
		return "(" + e() + " | " + e() + ")"
	case 18:
		return "(" + e() + g.pick(" == ", " < ", " != ", " >= ") + e() + ")"
	case 19:
		return g.pick("length", "to_string", "to_array", "type", "reverse", "sort", "max", "sum", "!") + "(" + e() + ")"
	case 20:
		return g.pick("not_null", "merge", "contains", "join") + "(" + e() + ", " + e() + ")"
	case 21:
		return g.pick("sort_by", "max_by", "min_by") + "(" + e() + g.pick("", "[*]") + ", &" + e() + ")"
	case 22:
		return "map(&" + e() + ", " + e() + ")"
	}
	return "powertools_json(" + e() + ")" + g.pick("", "."+g.name(), "."+g.name()+"."+g.name())
}
