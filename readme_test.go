package idempotency_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ikkai-go/idempotency"
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
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "functions/*.md", "deploy/*.md", "deploy/*/*.md", "deploy/cdk/*/*.md", "persistence/*/*/*.md", ".github/*.md"} {
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

// So do those in comments, messages and the template, which name pages from the module's root.
func TestThePagesThatTheCodeNamesAreThere(t *testing.T) {
	named := regexp.MustCompile(`\b(docs/[\w-]+\.md)(?:#([\w-]+))?`)
	all := documents(t)
	files := goFiles(t)
	for _, name := range []string{"template.yaml", "Makefile", "SECURITY.md", "CONTRIBUTING.md"} {
		files[name] = readFile(t, name)
	}
	for name, text := range files {
		for _, page := range named.FindAllStringSubmatch(text, -1) {
			d, there := all[page[1]]
			has := func(h heading) bool { return h.anchor == page[2] }
			if !there || page[2] != "" && !slices.ContainsFunc(d.headings, has) {
				t.Errorf("%s names %s, which is not there", name, page[0])
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
