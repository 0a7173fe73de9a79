package powertools_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
)

// documents are the events that expressions are run on: with nulls, lists of lists,
// long decimals, integers beyond 2⁵³, lone surrogates, and names that look like an
// index or are inherited. The last one is Python's own JSON.
var documents = []string{
	`{"a":{"b":{"c":1,"b":null},"l":[[null,"a","b"],[1,[2,[3]]],[]]},"b":[1,2.0,null,"x"],"l":[{"b":1,"n":2},{"b":null},{"b":[0,null]},null,[{"b":3}]],"o":{"10":1,"9":2,"b":3,"a":null},"n":0,"s":"text","m":[["b"],["a"]],"r":[{"p":1,"b":{"q":1}}]}`,
	`{"a":[[null,"a","b"],["c"],null],"b":"b","l":[3,1,2],"o":{"b":{"b":{"b":[1,2]}}},"c":false,"n":-1.5,"s":"","r":[{"p":1,"b":[{"q":1},{"q":[{"a":0}]}]},{"p":0,"b":{"q":null}}],"x":{"a":[1]},"m":[[[1,null],2],[3]]}`,
	`{"r":[{"p":[1,{"b":2}],"b":[{"q":1},{"q":false},{"q":[2]}]}],"a":[{"b":[{"c":[1,2]},{"c":[3]}]},{"b":[]}],"l":["b","a","B"],"o":{},"b":{"b":"b"},"n":123456789.123456789123,"s":"{\"b\":[1.50,null]}","m":[],"p":true,"q":0}`,
	`{"a":[[{"b":[null,{"b":0}]},[null,[4,5]]]],"b":[[[1,null],[2]],[[3]],4],"l":[0.1,0.2,0.3],"o":{"b":[],"":1,"\ud800":"\udc00"},"n":9007199254740993,"s":"\ud83d","c":"é😀","m":[{"b":"\ud83d"},{"b":"a"}],"x":[],"r":[[{"p":1,"b":[1]}],{"p":[]}]}`,
	`{"a":[],"b":null,"l":[1e308,1e308,-1e308],"o":{"a":{"b":1},"b":{"b":2},"1":{"b":3}},"n":100000000000000000000000,"s":"eyJiIjpbMV19","c":[true,1,"1",null,[1],{"b":1}],"m":[[1,[2]],[[3],4]],"r":[[{"p":1,"b":1}]]}`,
	`{"a":1e400,"b":-0.0,"l":[{"a":1,"b":"z"},{"a":1,"b":"y"},{"a":0.5,"b":"x"}],"o":{"constructor":1,"b":{"toString":null}},"n":2,"s":" 7 ","c":"H4sIAAAAAAACA6tWSlSyMqwFANKPJj0HAAAA","m":["x","y"],"p":[1,1.0,true],"q":[9007199254740993,9007199254740993]}`,
	`[[1,[2,null]],{"a":{"b":[1]}},null,"b",{"b":{"a":0}}]`,
	`{"b":{"l":{"b":{"a":[{"b":0},{"b":""},{"b":[]},{"b":{}},{"b":false},{"b":null}]}}},"l":[[],[[]],[[[]]],[null],[{}]],"a":{"a":{"a":{"a":1}}},"o":{"o":{"o":{"b":"b"}}},"s":"s","n":1,"r":[{"p":{"b":0},"b":{"q":{"b":[[],null]}}}]}`,
	`"b"`, `null`, `0`,
	`{"a":NaN,"b":[NaN,1,NaN],"l":[{"b":NaN},{"b":1},{"b":-Infinity}],"n":Infinity,"o":{"b":NaN},"s":"NaN","m":[2,NaN,1]}`,
}

func (l language) documents() []string {
	if l.name == "Python" {
		return documents
	}
	return documents[:len(documents)-1]
}

// outcome is what is hashed for the key of an event: "=" and the text, shortened;
// "-" where there is no key, "!" where the evaluation fails, "?" where this package
// refuses it. "~" is an evaluation that gives another key the second time.
func outcome(peer *powertools.Peer, event string) string {
	_, _, err := peer.Identify([]byte(event))
	switch {
	case errors.Is(err, powertools.ErrInexact):
		return "?"
	case errors.Is(err, idempotency.ErrMissing):
		return "-"
	case errors.Is(err, idempotency.ErrPayload):
		return "!"
	case err != nil:
		return "an unknown error: " + err.Error()
	}
	text, err := peer.HashInput([]byte(event))
	if err != nil {
		return err.Error()
	}
	return shortened("=" + text)
}

func shortened(outcome string) string {
	if len(outcome) <= 40 {
		return outcome
	}
	sum := sha256.Sum256([]byte(outcome[1:]))
	return "#" + hex.EncodeToString(sum[:8])
}

// tally counts how comparisons went, by outcome.
type tally map[string]int

// compareExpression holds the outcomes of ours against those of the real package; nil
// are those of an expression that does not compile there.
func (l language) compareExpression(expression, version string, events, theirs []string, counts tally) (problems []string) {
	peer, err := l.of(command{EventKey: expression}, version)
	switch {
	case errors.Is(err, powertools.ErrInexact):
		counts["expressions refused"]++
		return nil
	case err != nil && theirs == nil:
		counts["expressions that do not compile"]++
		return nil
	case err != nil:
		return []string{fmt.Sprintf("%s: %v, but it compiles there", expression, err)}
	case theirs == nil:
		return []string{expression + ": compiles, but not there"}
	}
	counts["expressions"]++
	for i, event := range events {
		ours := outcome(peer, event)
		switch theirs := shortened(theirs[i]); {
		case ours == "?":
			counts["refused"]++
		case ours != theirs:
			problems = append(problems, fmt.Sprintf("%s of %s: %s, there %s", expression, event, ours, theirs))
		case strings.HasPrefix(ours, "=") || strings.HasPrefix(ours, "#"):
			counts["the same key"]++
		case ours == "-":
			counts["no key"]++
		default:
			counts["failed"]++
		}
	}
	return problems
}

var (
	sequenceCount = flag.Int("sequences", 20_000, "how many random sequences of tokens of each kind are shown to the real packages")
	recordTo      = flag.String("record", "", "directory for the answers to random sequences, which TestRecordedExpressions compares with")
)

// Every random sequence of tokens compiles where the real package compiles it, or is
// refused as not to be had exactly; and what it selects has the same key.
func TestLiveRandomSequences(t *testing.T) {
	for _, l := range slices.Concat(languages, []language{oldestPython}) {
		t.Run(l.nameOfRun(), func(t *testing.T) {
			process := l.start(t)
			seed := rand.Uint64()
			g := generator{rand.New(rand.NewPCG(seed, 0))}
			counts := tally{}
			found := l.compareAll(t, process, bracketed, counts)
			found = append(found, sample(g, l.compareSequences(t, process, newSequences(g, structure, bracketed), counts))...)
			found = append(found, sample(g, l.compareSequences(t, process, newSequences(g, all, expressions), counts))...)
			if t.Logf("seed %d: %v", seed, counts); *recordTo != "" && l.python == "" {
				l.write(t, process, found)
			}
		})
	}
}

// compareSequences shows as many sequences to the real package as the flag says, and
// returns those that give something new.
func (l language) compareSequences(t *testing.T, process peerProcess, s *sequences, counts tally) (found []recorded) {
	const batch = 200
	for range *sequenceCount / batch {
		made, texts := make([][]string, batch), make([]string, batch)
		for i := range made {
			made[i] = s.next()
			texts[i] = s.text(made[i])
		}
		counts["sequences"] += batch
		for i, r := range l.compareAll(t, process, texts, counts, s.event(), s.event(), s.json(4)) {
			if len(r.Outcomes) > 0 && s.keep(made[i], r.Outcomes) {
				found = append(found, r)
			}
		}
	}
	return found
}

// compareAll compares expressions on the documents and on more events, and returns what
// the real package made of each document.
func (l language) compareAll(t *testing.T, process peerProcess, expressions []string, counts tally, more ...string) (all []recorded) {
	events := slices.Concat(l.documents(), more)
	for i, theirs := range process.call(command{FunctionName: "f", Expressions: expressions, Events: events}).Outcomes {
		all = append(all, newRecorded(expressions[i], theirs[:max(0, len(theirs)-len(more))]))
		for _, problem := range l.compareExpression(expressions[i], process.version, events, theirs, counts) {
			if counts["vectors that disagree"]++; counts["vectors that disagree"] <= 20 {
				t.Error(problem)
			}
		}
	}
	return all
}

// recorded is an expression and what the real package has made of each document.
type recorded struct {
	Expression string
	Outcomes   []string
}

func newRecorded(expression string, outcomes []string) recorded {
	r := recorded{Expression: expression}
	for _, o := range outcomes {
		r.Outcomes = append(r.Outcomes, shortened(o))
	}
	return r
}

// weight is how much there is to see: different keys.
func (r recorded) weight() int {
	outcomes := slices.Clone(r.Outcomes)
	slices.Sort(outcomes)
	return len(slices.Compact(outcomes))
}

// header is the first line of a recording.
type header struct {
	Versions  []string
	Documents []string
}

// sample returns some of the recorded expressions that are not long and that the
// documents make different things of.
func sample(g generator, from []recorded) []recorded {
	from = slices.DeleteFunc(from, func(r recorded) bool { return r.weight() < 3 || len(r.Expression) > 50 })
	g.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return from[:min(len(from), 300)]
}

func (l language) write(t *testing.T, process peerProcess, all []recorded) {
	t.Helper()
	var file strings.Builder
	encoder := json.NewEncoder(&file)
	encoder.SetEscapeHTML(false)
	lines := []any{header{append([]string{process.version}, process.parts...), l.documents()}}
	for _, r := range all {
		lines = append(lines, append([]string{r.Expression}, r.Outcomes...))
	}
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(*recordTo, l.recording()), []byte(file.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (l language) recording() string { return strings.ToLower(l.name) + "-expressions.jsonl" }

// What the real packages have made of random sequences of tokens is what ours makes of
// them.
func TestRecordedExpressions(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			file, err := os.Open(filepath.Join("..", "..", "testdata", "powertools", l.recording()))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			lines := bufio.NewScanner(file)
			lines.Buffer(nil, 1<<20)
			var head header
			lines.Scan()
			if err := json.Unmarshal(lines.Bytes(), &head); err != nil {
				t.Fatal(err)
			}
			counts := tally{}
			for lines.Scan() {
				var line []string
				if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
					t.Fatal(err)
				}
				for _, problem := range l.compareExpression(line[0], head.Versions[0], head.Documents, line[1:], counts) {
					t.Error(problem)
				}
			}
			t.Logf("%v: %v", head.Versions, counts)
			if same := counts["the same key"] + counts["no key"] + counts["failed"]; same < 1000 {
				t.Errorf("only %d vectors are compared", same)
			}
		})
	}
}
