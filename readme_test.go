package idempotency_test

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// document is what these tests look at in a Markdown file.
type document struct {
	name     string // from the module root, with slashes
	text     string
	headings []heading
	blocks   []block
	links    []string
}

type heading struct {
	level  int
	anchor string
}

// block is a fenced code block.
type block struct {
	language string
	text     string
}

// documents are the Markdown files of this module.
func documents(t *testing.T) map[string]document {
	t.Helper()
	all := make(map[string]document)
	for _, pattern := range []string{"*.md", "docs/*.md", "functions/*.md", "deploy/*.md", "deploy/*/*.md", "deploy/cdk/*/*.md", "persistence/*/*/*.md", ".github/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			name = filepath.ToSlash(name)
			all[name] = parseDocument(name, readFile(t, name))
		}
	}
	return all
}

var readmes = []string{"README.md", "README.ja.md"}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func parseDocument(name, text string) document {
	d := document{name: name, text: text}
	var code *block
	for line := range strings.Lines(text) {
		if fence, ok := strings.CutPrefix(line, "```"); ok {
			if code == nil {
				code = &block{language: strings.TrimSpace(fence)}
			} else {
				d.blocks, code = append(d.blocks, *code), nil
			}
			continue
		}
		if code != nil {
			code.text += line
			continue
		}
		if title := strings.TrimLeft(line, "#"); len(title) < len(line) && strings.HasPrefix(title, " ") {
			d.headings = append(d.headings, heading{level: len(line) - len(title), anchor: anchorOf(title)})
		}
		for _, link := range linkTarget.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
			d.links = append(d.links, link[1])
		}
	}
	return d
}

// anchorOf is the anchor that GitHub gives to the first heading with this title.
func anchorOf(title string) string {
	keep := func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsMark(r), unicode.IsNumber(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}
	return strings.Map(keep, strings.TrimSpace(title))
}

// code returns the texts of the blocks in a language.
func (d document) code(language string) []string {
	var texts []string
	for _, b := range d.blocks {
		if b.language == language {
			texts = append(texts, b.text)
		}
	}
	return texts
}

// rows returns the first cells of the document's tables.
func (d document) rows() []string {
	var cells []string
	for line := range strings.Lines(d.text) {
		if row, ok := strings.CutPrefix(line, "| "); ok {
			first, _, _ := strings.Cut(row, " |")
			cells = append(cells, first)
		}
	}
	return cells
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// goFiles returns the texts of the module's Go files, this one excepted.
func goFiles(t *testing.T) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir // caches and git
		case strings.HasSuffix(name, ".go") && name != "readme_test.go":
			files[filepath.ToSlash(name)] = readFile(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A block that is a whole file is compiled, and run where it holds tests. Any
// other Go block is a quotation from a file that is.
func TestTheGoCodeOfTheDocumentsCompiles(t *testing.T) {
	t.Parallel()
	sources := goFiles(t)
	seen := make(map[string]bool)
	for _, d := range documents(t) {
		for _, code := range d.code("go") {
			if seen[code] {
				continue
			}
			seen[code] = true
			if strings.HasPrefix(code, "package ") {
				t.Run(d.name, func(t *testing.T) {
					t.Parallel()
					compile(t, code)
				})
			} else if !quotedFrom(sources, code) {
				t.Errorf("%s: this is in no Go file of the module:\n%s", d.name, code)
			}
		}
	}
}

func compile(t *testing.T, code string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "snippet.go")
	command := []string{"build", "-o", filepath.Join(dir, "snippet")}
	if strings.Contains(code, "\nfunc Test") {
		file = filepath.Join(dir, "snippet_test.go")
		command = []string{"test"}
	}
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", append(command, file)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, code)
	}
}

func quotedFrom(sources map[string]string, text string) bool {
	quotation := "\n" + unindented(text) + "\n"
	for _, source := range sources {
		if strings.Contains("\n"+unindented(source)+"\n", quotation) {
			return true
		}
	}
	return false
}

func unindented(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

func TestTheTemplateOfTheDocumentsIsTheTemplate(t *testing.T) {
	template := map[string]string{"template.yaml": readFile(t, "template.yaml")}
	for _, d := range documents(t) {
		for _, quotation := range d.code("yaml") {
			if !quotedFrom(template, quotation) {
				t.Errorf("%s: this is not in template.yaml:\n%s", d.name, quotation)
			}
		}
	}
}

func TestTheExpressionsOfTheDocumentsCompile(t *testing.T) {
	for _, d := range documents(t) {
		for _, expressions := range d.code("jmespath") {
			for expression := range strings.Lines(expressions) {
				if _, err := idempotency.JMESPath(strings.TrimSpace(expression)); err != nil {
					t.Errorf("%s: %v", d.name, err)
				}
			}
		}
	}
}

func TestTheLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	all := documents(t)
	for _, d := range all {
		for _, link := range d.links {
			if strings.Contains(link, "://") {
				continue
			}
			target, anchor, anchored := strings.Cut(link, "#")
			name := d.name
			if target != "" {
				name = path.Join(path.Dir(d.name), target)
			}
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s links to %s: %v", d.name, link, err)
			}
			has := func(h heading) bool { return h.anchor == anchor }
			if anchored && !slices.ContainsFunc(all[name].headings, has) {
				t.Errorf("%s links to %s, and there is no such heading", d.name, link)
			}
		}
	}
}

func TestBothReadmesHaveTheSameShape(t *testing.T) {
	all := documents(t)
	shape := func(d document) (levels []int, blocks []block) {
		for _, h := range d.headings {
			levels = append(levels, h.level)
		}
		for _, b := range d.blocks {
			if b.language != "mermaid" { // its labels are translated
				blocks = append(blocks, b)
			}
		}
		return levels, blocks
	}
	levels, blocks := shape(all["README.md"])
	for _, name := range readmes[1:] {
		otherLevels, otherBlocks := shape(all[name])
		if !slices.Equal(levels, otherLevels) {
			t.Errorf("levels of headings:\n%s %v\n%s %v", readmes[0], levels, name, otherLevels)
		}
		if !slices.Equal(blocks, otherBlocks) {
			t.Errorf("%s has other code blocks than %s", name, readmes[0])
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

// homes has the one page on which each thing that a user can set, meet or see has a row.
var homes = map[string]struct {
	page        string
	declaration *regexp.Regexp
}{
	"idempotent/errors.go":              {"docs/errors.md", regexp.MustCompile(`(?m)^type (\w+) struct`)},
	"idempotent/permanent.go":           {"docs/errors.md", regexp.MustCompile(`(?m)^type (\w+Error) struct`)},
	"idempotent/saga/errors.go":         {"docs/errors.md", regexp.MustCompile(`(?m)^type (\w+Error) struct`)},
	"idempotent/batch/errors.go":        {"docs/errors.md", regexp.MustCompile(`(?m)^type (Unfinished\w+) struct`)},
	"idempotent/event.go":               {"docs/operate.md", regexp.MustCompile(`EventKind = "([^"]+)"`)},
	"persistence/dynamostore/config.go": {"docs/stores.md", regexp.MustCompile(`(?m)^\t\w+: +"(\w+)",$`)}, // attributes
}

func TestTheTablesOfTheGuidesAreComplete(t *testing.T) {
	all := documents(t)
	has := func(page, name string) {
		mentioned := func(row string) bool { return strings.Contains(row, "`"+name+"`") }
		if !slices.ContainsFunc(all[page].rows(), mentioned) && !strings.Contains(all[page].text, "# `"+name+"`") {
			t.Errorf("%s has no row for %s", page, name)
		}
	}
	for _, config := range []reflect.Type{reflect.TypeFor[idempotent.Config](), reflect.TypeFor[dynamostore.Config]()} {
		for field := range config.Fields() {
			has("docs/configuration.md", field.Name)
		}
	}
	for name, home := range homes {
		found := home.declaration.FindAllStringSubmatch(readFile(t, name), -1)
		if len(found) == 0 {
			t.Errorf("%s declares nothing that matches %v", name, home.declaration)
		}
		for _, match := range found {
			has(home.page, match[1])
		}
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
		if !ok || page == "README.md" {
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
