package idempotency_test

import (
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// homes has the pages on which each thing that a user can set, meet or see has a row: one, and
// for what is looked up most its translation.
var homes = map[string]struct {
	pages       []string
	declaration *regexp.Regexp
}{
	"idempotent/errors.go":              {translated("docs/errors.md"), regexp.MustCompile(`(?m)^type (\w+) struct`)},
	"idempotent/permanent.go":           {translated("docs/errors.md"), regexp.MustCompile(`(?m)^type (\w+Error) struct`)},
	"idempotent/saga/errors.go":         {translated("docs/errors.md"), regexp.MustCompile(`(?m)^type (\w+Error) struct`)},
	"idempotent/batch/errors.go":        {translated("docs/errors.md"), regexp.MustCompile(`(?m)^type (Unfinished\w+) struct`)},
	"idempotent/event.go":               {translated("docs/operate.md"), regexp.MustCompile(`EventKind = "([^"]+)"`)},
	"persistence/records/state.go":      {[]string{"docs/operate.md"}, regexp.MustCompile(`Reason = "(\w+)"`)},
	"persistence/records/sweep.go":      {[]string{"docs/operate.md"}, regexp.MustCompile(`Why\w+ += "(\w+)"`)},
	"template.yaml":                     {[]string{"docs/operate.md"}, regexp.MustCompile(`(?m)^  (\w+Alarm):$`)},
	"deploy/sam/template.yaml":          {[]string{"docs/operate.md"}, regexp.MustCompile(`(?m)^  (\w+Alarm):$`)},
	"persistence/dynamostore/config.go": {translated("docs/stores.md"), regexp.MustCompile(`(?m)^\t\w+: +"(\w+)",$`)}, // attributes
}

func translated(page string) []string { return []string{page, "docs/ja/reference.md"} }

func TestTheTablesOfTheGuidesAreComplete(t *testing.T) {
	all := documents(t)
	have := func(pages []string, name string) {
		mentioned := func(row string) bool { return strings.Contains(row, "`"+name+"`") }
		for _, page := range pages {
			if !slices.ContainsFunc(all[page].rows(), mentioned) {
				t.Errorf("%s has no row for %s", page, name)
			}
		}
	}
	for _, config := range []reflect.Type{reflect.TypeFor[idempotent.Config](), reflect.TypeFor[dynamostore.Config]()} {
		for field := range config.Fields() {
			have(translated("docs/configuration.md"), field.Name)
		}
	}
	for name, home := range homes {
		found := home.declaration.FindAllStringSubmatch(readFile(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s declares nothing that matches %v", name, home.declaration)
		}
		for _, match := range found {
			have(home.pages, match[1])
		}
	}
}

// What filters can go by, in every line that the library logs, has a row in the runbook.
func TestEveryLoggedEventIsExplained(t *testing.T) {
	rows := documents(t)["docs/operate.md"].rows()
	logged := regexp.MustCompile(`slog\.String\("event", "(\w+)"\)|\tevent\w+ += "(\w+)"`)
	found := 0
	err := filepath.WalkDir("idempotent", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, match := range logged.FindAllStringSubmatch(readFile(t, path), -1) {
			found++
			name := "`" + match[1] + match[2] + "`"
			if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, name) }) {
				t.Errorf("%s logs %s, and docs/operate.md has no row for it", path, name)
			}
		}
		return nil
	})
	if err != nil || found < 6 {
		t.Errorf("found %d, %v", found, err)
	}
}

// The README is the way in, and no manual.
func TestTheReadmesAreShort(t *testing.T) {
	for _, name := range readmes {
		if lines := strings.Count(readFile(t, name), "\n"); lines > 250 {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// Every guide is in the index, and begins with the question that it answers.
func TestEveryGuideIsInTheIndexAndBeginsWithItsQuestion(t *testing.T) {
	all := documents(t)
	for name, d := range all {
		page, ok := strings.CutPrefix(name, "docs/")
		if !ok || page == "README.md" || strings.Contains(page, "/") {
			continue
		}
		if !slices.Contains(all["docs/README.md"].links, page) {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
		opening, _, _ := strings.Cut(d.text, "\n\n#")
		if title, rest, _ := strings.Cut(opening, "\n\n"); !strings.Contains(title+" "+strings.SplitN(rest, "\n\n", 2)[0], "?") {
			t.Errorf("%s does not begin with a question", name)
		}
	}
}

// No fact stands twice: a row of a table that says something stands in one page. The
// Japanese README is a translation, and deploy's READMEs go with what is copied.
func TestNoTableStandsTwice(t *testing.T) {
	seen := make(map[string]string)
	all := documents(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "deploy/") {
			continue
		}
		lines := strings.Split(all[name].text, "\n")
		for i, row := range lines[:len(lines)-1] {
			if !strings.HasPrefix(row, "| ") || len(row) < 60 || strings.HasPrefix(lines[i+1], "| ---") {
				continue // no row, a word or two, or a heading
			}
			if other, twice := seen[row]; twice {
				t.Errorf("%s and %s both have\n%s", other, name, row)
			}
			seen[row] = name
		}
	}
}

// What the READMEs show of the demo is what a recorded run has printed, but for the clock.
func TestTheReadmesQuoteTheRecordedDemo(t *testing.T) {
	clock := regexp.MustCompile(`^ +[0-9.]+ s`)
	told := make(map[string]bool)
	for line := range strings.Lines(readFile(t, "docs/demo.txt")) {
		told[clock.ReplaceAllString(line, "")] = true
	}
	for _, text := range documents(t)["README.md"].code("text") {
		for line := range strings.Lines(text) {
			if !told[clock.ReplaceAllString(line, "")] {
				t.Errorf("docs/demo.txt has no line\n%s", line)
			}
		}
	}
}

// The page of promises has a row for each section of the draft that asks for something.
func TestTheSectionsOfTheDraftHaveTheirTests(t *testing.T) {
	rows := documents(t)["docs/guarantees.md"].rows()
	for _, section := range []string{"2.1", "2.2", "2.3", "2.4", "2.5.1", "2.5.2", "2.6", "2.7", "5"} {
		if !slices.Contains(rows, section) {
			t.Errorf("section %s has no row", section)
		}
	}
}

// Nor does a sentence, outside of code, tables and the index.
func TestNoSentenceStandsTwice(t *testing.T) {
	code, end := regexp.MustCompile("(?s)```.*?```"), regexp.MustCompile(`[.?!:]\s`)
	seen := make(map[string]string)
	all := documents(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "deploy/") {
			continue
		}
		var prose strings.Builder
		for line := range strings.Lines(code.ReplaceAllString(all[name].text, "")) {
			if !strings.HasPrefix(line, "|") {
				prose.WriteString(strings.TrimSpace(line) + " ")
			}
		}
		for _, sentence := range end.Split(prose.String(), -1) {
			if len(sentence) < 80 {
				continue
			}
			if other, twice := seen[sentence]; twice {
				t.Errorf("%s and %s both say: %s", other, name, sentence)
			}
			seen[sentence] = name
		}
	}
}

// The READMEs' figures are those of the guides, where their conditions stand.
func TestTheFiguresOfTheReadmesAreThoseOfTheGuides(t *testing.T) {
	measured := readFile(t, "docs/performance.md")
	figure := regexp.MustCompile(`([0-9]+\.[0-9]+)(×| ms| MB| 倍)`)
	for _, name := range readmes {
		found := figure.FindAllStringSubmatch(readFile(t, name), -1)
		if len(found) < 5 {
			t.Errorf("%s has %d figures", name, len(found))
		}
		for _, f := range found {
			if !strings.Contains(measured, strings.Replace(f[0], " 倍", "×", 1)) {
				t.Errorf("%s has %s, and docs/performance.md has not", name, f[0])
			}
		}
	}
}

func TestTheCommandsOfTheDocumentsExist(t *testing.T) {
	named, subcommand := regexp.MustCompile(`\{name: "([a-z-]+)"`), regexp.MustCompile(`\{name: "([a-z-]+)"|"([a-z]+)":`)
	commands := make(map[string]bool)
	for _, match := range named.FindAllStringSubmatch(readFile(t, "cmd/ikkai/main.go"), -1) {
		commands[match[1]] = true
	}
	for _, match := range subcommand.FindAllStringSubmatch(readFile(t, "cmd/ikkai/records.go"), -1) {
		commands["records "+match[1]+match[2]] = true
	}
	called := regexp.MustCompile("(?m)(?:^ *(?:\\$ )?|`|\\./cmd/)ikkai ((?:records )?[a-z-]+)")
	for _, d := range documents(t) {
		for _, call := range called.FindAllStringSubmatch(d.text, -1) {
			if !commands[call[1]] && call[1] != "records" && call[1] != "help" {
				t.Errorf("%s: there is no command ikkai %s", d.name, call[1])
			}
		}
	}
}

func TestTheMakeTargetsOfTheDocumentsExist(t *testing.T) {
	makefile := readFile(t, "Makefile")
	called := regexp.MustCompile("(?m)(?:^|`)make ([a-z][a-z-]*)")
	for _, d := range documents(t) {
		if strings.HasPrefix(d.name, "deploy/") {
			continue // those of the folder that is made
		}
		for _, call := range called.FindAllStringSubmatch(d.text, -1) {
			if !strings.Contains(makefile, "\n"+call[1]+":") {
				t.Errorf("%s: the Makefile has no target %s", d.name, call[1])
			}
		}
	}
}

// The documents name tests as evidence. The tests of field reports are all named
// in docs/field-reports.md.
func TestTheTestsOfTheDocumentsExist(t *testing.T) {
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	declared := make(map[string]bool)
	for _, source := range goFiles(t) {
		for _, test := range declaration.FindAllStringSubmatch(source, -1) {
			declared[test[1]] = true
		}
	}
	mention := regexp.MustCompile("`(Test\\w+)`")
	all := documents(t)
	for _, d := range all {
		for _, test := range mention.FindAllStringSubmatch(d.text, -1) {
			if !declared[test[1]] {
				t.Errorf("%s: there is no %s", d.name, test[1])
			}
		}
	}
	const reports = "docs/field-reports.md"
	for _, test := range slices.Sorted(maps.Keys(declared)) {
		if strings.HasPrefix(test, "TestReport") && !strings.Contains(all[reports].text, "`"+test+"`") {
			t.Errorf("%s does not name %s", reports, test)
		}
	}
}

// What a page says of an API in one go is declared so: each line of a block "go
// declarations" begins a declaration of the module, but for its comments.
func TestTheDeclarationsOfTheDocumentsAreThere(t *testing.T) {
	var declared strings.Builder
	for _, source := range goFiles(t) {
		declared.WriteString(source)
	}
	for _, d := range documents(t) {
		for _, block := range d.code("go declarations") {
			for line := range strings.Lines(block) {
				declaration, _, _ := strings.Cut(line, " //")
				declaration = strings.TrimSpace(declaration)
				if declaration != "" && !strings.HasPrefix(declaration, "//") && !strings.Contains(declared.String(), "\n"+declaration+" {") {
					t.Errorf("%s: nothing is declared as\n%s", d.name, declaration)
				}
			}
		}
	}
}
