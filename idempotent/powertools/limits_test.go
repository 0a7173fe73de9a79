package powertools_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"runtime"
	"sort"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent/powertools"
)

// shapes are expressions of a given size that nest in different ways.
var shapes = map[string]func(n int) string{
	"parentheses":    func(n int) string { return strings.Repeat("(", n) + "a" + strings.Repeat(")", n) },
	"negations":      func(n int) string { return strings.Repeat("!", n) + "a" },
	"lists":          func(n int) string { return strings.Repeat("[", n) + "a" + strings.Repeat("]", n) },
	"hashes":         func(n int) string { return strings.Repeat("{a:", n) + "a" + strings.Repeat("}", n) },
	"projections":    func(n int) string { return "a" + strings.Repeat("[*].a", n) },
	"flattened":      func(n int) string { return "a" + strings.Repeat("[]", n) },
	"filters":        func(n int) string { return strings.Repeat("a[?", n) + "a" + strings.Repeat("]", n) },
	"alternatives":   func(n int) string { return "c" + strings.Repeat("||c", n) + "||a" },
	"pipes":          func(n int) string { return "a" + strings.Repeat("|@", n) },
	"members":        func(n int) string { return "@" + strings.Repeat(".b", n) },
	"indexes":        func(n int) string { return "a" + strings.Repeat("[0]", n) },
	"calls":          func(n int) string { return strings.Repeat("to_array(", n) + "a" + strings.Repeat(")", n) },
	"mapped":         func(n int) string { return strings.Repeat("map(&", n) + "@" + strings.Repeat(",to_array(@))", n) },
	"sorted":         func(n int) string { return strings.Repeat("sort_by(l,&", n) + "n" + strings.Repeat(")", n) },
	"nested members": func(n int) string { return "a" + strings.Repeat(".[@]", n) },
}

// deepest returns the largest expression of a shape that is not refused.
func deepest(t *testing.T, l language, shape func(int) string) string {
	t.Helper()
	n := sort.Search(4<<10, func(n int) bool {
		_, err := l.of(command{EventKey: shape(n)}, "")
		if err != nil && !errors.Is(err, powertools.ErrInexact) {
			t.Fatalf("%s: %v", shape(n), err)
		}
		return err != nil
	})
	return shape(n - 1)
}

// Every expression has an end: in length and in depth, however it nests.
func TestLargeExpressionsAreRefused(t *testing.T) {
	for _, l := range languages {
		for name, shape := range shapes {
			if e := deepest(t, l, shape); len(e) > 4<<10 {
				t.Errorf("%s, %s: %d bytes compile", l.name, name, len(e))
			}
		}
	}
}

// What is deep enough to compile is evaluated there as well, on events as deep as can be.
func TestLiveDepth(t *testing.T) {
	deep := `{"a":` + nested(298) + `,"b":{"b":1},"c":null,"l":[{"n":2,"l":[{"n":1}]}]}`
	for _, l := range append(languages, oldestPython) {
		t.Run(l.nameOfRun(), func(t *testing.T) {
			process := l.start(t)
			counts := tally{}
			c := command{FunctionName: "f", Events: []string{deep}}
			for _, shape := range shapes {
				c.Expressions = append(c.Expressions, deepest(t, l, shape))
			}
			for i, theirs := range process.call(c).Outcomes {
				for _, problem := range l.compareExpression(c.Expressions[i], process.version, c.Events, theirs, counts) {
					t.Error(problem)
				}
			}
			t.Log(counts)
		})
	}
}

// zipped is a gzip in base64 of a text that repeats a unit up to a size.
func zipped(t *testing.T, unit string, size int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	chunk := strings.Repeat(unit, 1<<10)
	_, _ = io.WriteString(w, "[") // to memory
	for written := 0; written < size; written += len(chunk) {
		_, _ = io.WriteString(w, chunk)
	}
	_, _ = io.WriteString(w, "1]")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// A few bytes stand for no more than some work: what grows beyond is refused before it
// takes the memory.
func TestWhatGrowsIsRefused(t *testing.T) {
	const most = 256 << 20 // bytes allocated, all in all
	twice := func(unit string) string { return strings.Repeat(unit+"|", 40) + "@" }
	small := `{"a":"text","b":[1,2]}`
	for name, test := range map[string]struct{ expression, event string }{
		"a list of itself":            {twice("[@,@]"), small},
		"members of itself":           {twice("{a:@,b:@}"), small},
		"a list that is flattened":    {"b|" + twice("[@,@][]"), small},
		"values that are compared":    {"[" + twice("[@,@]") + "," + twice("[@,@]") + "]|[0]==[1]", small},
		"a text that is joined":       {"a|" + twice("join(@,[@,@])"), small},
		"a text that is turned":       {"a|" + twice("join('',[@,reverse(@)])"), small},
		"a map of a list of itself":   {twice("[@,@]") + "|" + strings.Repeat("map(&", 30) + "[@,@]" + strings.Repeat(",@)", 30), small},
		"60 MB in a gzip":             {"powertools_json(powertools_base64_gzip(a))", `{"a":"` + zipped(t, "{},", 60<<20) + `"}`},
		"6 MB of numbers in a gzip":   {"powertools_json(powertools_base64_gzip(a))", `{"a":"` + zipped(t, "1,", 6_000_000) + `"}`},
		"a gzip that is read often":   {"[" + strings.Repeat("length(powertools_base64_gzip(a)),", 30) + "b]", `{"a":"` + zipped(t, "b", 6_000_000) + `"}`},
		"arguments beyond the stack":  {"[b,b][]|max(@)", `{"b":[` + strings.Repeat("1,", 20_000) + `1]}`},
		"a value nested by the query": {"a" + strings.Repeat(".[@]", 1000), small},
	} {
		for _, l := range languages {
			if name == "arguments beyond the stack" && l.name == "Python" {
				continue
			}
			peer, err := l.of(command{EventKey: test.expression}, "")
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			key, _, err := peer.Identify([]byte(test.event))
			runtime.ReadMemStats(&after)
			if !errors.Is(err, powertools.ErrInexact) {
				t.Errorf("%s, %s: key %q, %v; want it refused", l.name, name, key, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > most {
				t.Errorf("%s, %s: took %d MB", l.name, name, took>>20)
			}
		}
	}
}

// What stands in the event in clear is as much as it is.
func TestLargeEventsAreNotRefused(t *testing.T) {
	large := "[" + strings.Repeat("1,", 600_000) + `"last"]`
	for _, l := range languages {
		for _, expression := range []string{"", "[*]"} {
			peer, err := l.of(command{EventKey: expression}, "")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := peer.Identify([]byte(large)); err != nil {
				t.Errorf("%s, %q: %v", l.name, expression, err)
			}
		}
	}
}
