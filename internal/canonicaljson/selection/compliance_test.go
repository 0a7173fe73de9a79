package selection

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/internal/canonicaljson"
)

// officialCase is a case of the official suite, github.com/jmespath/jmespath.test.
type officialCase struct {
	Expression string
	Result     json.RawMessage
	Error      string
	Bench      string

	given json.RawMessage
	file  string
}

func officialCases(t *testing.T, files []string) []officialCase {
	t.Helper()
	var all []officialCase
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var suites []struct {
			Given json.RawMessage
			Cases []officialCase
		}
		if err := json.Unmarshal(text, &suites); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, suite := range suites {
			for _, c := range suite.Cases {
				c.given, c.file = suite.Given, filepath.Base(file)
				all = append(all, c)
			}
		}
	}
	return all
}

// officialFiles are those of the suite that come with the engine: nobody has to copy
// them, and they are of the version that is linked.
func officialFiles(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/jmespath/go-jmespath").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "compliance", "*.json"))
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// The outcomes of a case that docs/canonical-form.md lists, each with how many cases of
// the suite have it.
const (
	sameResult  = "the same result"
	sameError   = "an error, there and here"
	isMissing   = "a result that is null or empty: missing"
	lacksPart   = "a multi-select with a null or empty part: missing"
	falseAnd    = "`a && b` with a false `a`: missing"
	hasNoOrder  = "refused: `*` on objects, `keys()`, `values()`"
	saysNothing = "refused: nothing but literals"
	oneAnswer   = "refused: a comparison with one answer"
)

var refusals = map[string]string{
	"have no order": hasNoOrder, "no stable order": hasNoOrder,
	"reads nothing": saysNothing, "compares numbers": oneAnswer,
}

// outcome compares a selection with what the suite wants.
func (c officialCase) outcome() (outcome string) {
	s, err := Compile(c.Expression)
	if err != nil {
		for reason, outcome := range refusals {
			if c.Error == "" && strings.Contains(err.Error(), reason) {
				return outcome
			}
		}
		if c.Error != "" {
			return sameError
		}
		return fmt.Sprintf("refused: %v", err)
	}
	got, err := s.AppendCanonical(nil, c.given)
	if c.Error != "" {
		if err != nil {
			return sameError
		}
		return fmt.Sprintf("selects %s; want an error (%s)", got, c.Error)
	}
	want, wantErr := canonicaljson.Append(nil, c.Result)
	missing := errors.Is(err, ErrMissing)
	switch {
	case wantErr != nil:
		return wantErr.Error()
	case missing && (string(want) == "null" || isEmptyText(want)):
		return isMissing
	case missing && strings.Contains(err.Error(), "multi-select"):
		return lacksPart
	case missing && string(want) == "false" && strings.Contains(c.Expression, "&&"):
		return falseAnd
	case err == nil && string(got) == string(want):
		return sameResult
	}
	return fmt.Sprintf("selects %s, %v; want %s", got, err, want)
}

// Every case of the official suite has the outcome that the suite wants, or one of the
// differences that the documentation lists, which are as many as it says.
func TestOfficialSuite(t *testing.T) {
	page, err := os.ReadFile("../../../docs/canonical-form.md")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{sameResult: 0, sameError: 0, isMissing: 0, lacksPart: 0, falseAnd: 0, hasNoOrder: 0, saysNothing: 0, oneAnswer: 0}
	cases := 0
	for _, c := range officialCases(t, officialFiles(t)) {
		if c.Bench != "" {
			continue
		}
		cases++
		outcome := c.outcome()
		if _, documented := counts[outcome]; !documented {
			t.Errorf("%s: %s of %s %s", c.file, c.Expression, c.given, outcome)
		}
		counts[outcome]++
	}
	for outcome, n := range counts {
		if row := fmt.Sprintf("| %s | %d |", outcome, n); !strings.Contains(string(page), row) {
			t.Errorf("docs/canonical-form.md has no row %s", row)
		}
	}
	if total := fmt.Sprintf("%d cases", cases); !strings.Contains(string(page), total) {
		t.Errorf("docs/canonical-form.md does not say %s", total)
	}
}

// What later versions of the suite ask for, written anew after the specification.
func TestWhatTheSuiteAsksForSince(t *testing.T) {
	const given = `{"yes":true,"no":false,"five":5,"zero":0,"none":[],"one":1,"two":2,"text":"a","null":null,"l":[{"a":1,"b":2,"c":3},{"a":3,"b":4}]}`
	for expression, want := range map[string]string{
		"yes && five": "5", "five && yes": "true", "zero && five": "5", "zero || five": "0", "no || five": "5", "none || five": "5", "five || yes": "5",
		"five || yes && no": "5", "yes || (yes && no)": "true", "!yes": "false", "!no": "true", "!zero": "false", "!!zero": "true", "!none": "true", "!five": "false",
		"yes && !no": "true", "!no && !none": "true", "!(yes && no)": "true",
		"one < two": "true", "one <= one": "true", "two > one": "true", "two >= two": "true", "one == one": "true", "one != two": "true", "one > two": "false",
		"[one, text < one && two || five]": "[1,5]", "[one, none < one && two || five]": "[1,5]", "one < two && two > one": "true", "one == two || two == two": "true",
		"l[?a == b].c || five": "5", "l[?a == `1` && b == `2`].c": "[3]", "l[?a == `1` || b == `4`].a": "[1,3]", "l[?!c].b": "[4]", "l[?!(a == `1`)].b": "[4]", "l[?(a == `1` || b == `4`) && c].a": "[1]",
	} {
		if got, err := canonical(t, expression, given); err != nil || got != want {
			t.Errorf("%s = %s, %v; want %s", expression, got, err, want)
		}
	}
	// These two are the differences that the documentation lists.
	if got, err := canonical(t, "avg(none)", given); err == nil || errors.Is(err, ErrMissing) {
		t.Errorf("avg of no numbers = %s, %v", got, err)
	}
	if _, err := Compile(`[text, '\\']`); err == nil {
		t.Error("a raw string that ends in a backslash compiles")
	}
}
