package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// block is a block of Terraform's language as "terraform fmt" writes it, which is all that is understood here: arguments
// keep their expressions as they stand.
type block struct {
	kind   string
	labels []string
	values map[string]string
	blocks []*block
}

var (
	opens    = regexp.MustCompile(`^(\w+)((?: "[^"]*")*) \{$`)
	argument = regexp.MustCompile(`^(\w+)\s+= (.*)$`)
	comment  = regexp.MustCompile(`^#.*|\s+# [^"]*$`)
)

// readTerraform reads all files of a folder into one block.
func readTerraform(t *testing.T, folder string) *block {
	t.Helper()
	root := &block{values: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.tf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", folder, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(content), "\n")
		if rest := root.parse(t, file, lines); len(rest) > 0 {
			t.Fatalf("%s: %q is left", file, rest[0])
		}
	}
	return root
}

// parse reads lines until the block is closed, and returns the rest.
func (b *block) parse(t *testing.T, file string, lines []string) []string {
	t.Helper()
	for len(lines) > 0 {
		line := strings.TrimSpace(comment.ReplaceAllString(strings.TrimSpace(lines[0]), ""))
		lines = lines[1:]
		switch {
		case line == "":
		case line == "}":
			return lines
		case opens.MatchString(line):
			m := opens.FindStringSubmatch(line)
			inner := &block{kind: m[1], values: map[string]string{}}
			for label := range strings.FieldsSeq(m[2]) {
				inner.labels = append(inner.labels, strings.Trim(label, `"`))
			}
			b.blocks = append(b.blocks, inner)
			lines = inner.parse(t, file, lines)
		case argument.MatchString(line):
			m := argument.FindStringSubmatch(line)
			value := m[2]
			for strings.Count(value, "{")+strings.Count(value, "[")+strings.Count(value, "(") > strings.Count(value, "}")+strings.Count(value, "]")+strings.Count(value, ")") {
				value += "\n" + strings.TrimSpace(lines[0])
				lines = lines[1:]
			}
			b.values[m[1]] = value
		default:
			t.Fatalf("%s: %q is more than is understood here", file, line)
		}
	}
	return nil
}

// all are the blocks of that kind, and of that first label where there is one.
func (b *block) all(kind string, label ...string) []*block {
	var found []*block
	for _, inner := range b.blocks {
		if inner.kind == kind && (len(label) == 0 || len(inner.labels) > 0 && inner.labels[0] == label[0]) {
			found = append(found, inner)
		}
	}
	return found
}

// only is the one that all has.
func (b *block) only(t *testing.T, kind string, label ...string) *block {
	t.Helper()
	found := b.all(kind, label...)
	if len(found) != 1 {
		t.Fatalf("%s %v has %d blocks %s %v", b.kind, b.labels, len(found), kind, label)
	}
	return found[0]
}

// text is the value of an argument that is a text.
func (b *block) text(t *testing.T, name string) string {
	t.Helper()
	text, err := strconv.Unquote(b.values[name])
	if err != nil {
		t.Errorf("%s %v: %s is %s", b.kind, b.labels, name, b.values[name])
	}
	return text
}

var (
	counted = regexp.MustCompile(`(?m)^(\w+)\s+= (".*")$`)
	alarm   = regexp.MustCompile(`metric = "(\w+)".* threshold = (.*)$`)
)

// addTerraformAlarms reads the maps that the filters and alarms are made of.
func (d definition) addTerraformAlarms(t *testing.T, locals map[string]string) {
	t.Helper()
	for _, m := range counted.FindAllStringSubmatch(locals["counted"], -1) {
		pattern, err := strconv.Unquote(m[2])
		if err != nil {
			t.Fatal(err)
		}
		d.filters[m[1]] = pattern
	}
	for line := range strings.Lines(locals["alarms"]) {
		m := alarm.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		threshold := 1.0
		for factor := range strings.SplitSeq(strings.Replace(m[2], "local.timeout", locals["timeout"], 1), " * ") {
			n, err := strconv.ParseFloat(factor, 64)
			if err != nil {
				t.Fatal(err)
			}
			threshold *= n
		}
		d.alarms[m[1]] = threshold
	}
}

// meta are what every resource takes, whoever its provider is.
var meta = []string{"for_each", "depends_on", "lifecycle"}

// Its registry cannot be reached everywhere, so that the provider itself cannot be asked: what it takes was read from the
// types of a package that is made from its schema.
func TestTerraformSaysNothingThatItsProviderDoesNotTake(t *testing.T) {
	var schema struct {
		Arguments map[string]map[string]string `json:"arguments"`
	}
	content, err := os.ReadFile("testdata/aws_provider.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	var check func(path string, b *block)
	check = func(path string, b *block) {
		takes, known := schema.Arguments[path]
		if !known {
			t.Errorf("nobody has said what %s takes", path)
			return
		}
		for name := range b.values {
			if takes[name] == "" && !slices.Contains(meta, name) {
				t.Errorf("%s does not take %s", path, name)
			}
		}
		for _, inner := range b.blocks {
			if slices.Contains(meta, inner.kind) {
				continue
			}
			if takes[inner.kind] == "" {
				t.Errorf("%s has no block %s", path, inner.kind)
				continue
			}
			check(path+"."+inner.kind, inner)
		}
		for name, need := range takes {
			if _, is := b.values[name]; need == "required" && !is && len(b.all(name)) == 0 {
				t.Errorf("%s lacks %s", path, name)
			}
		}
	}
	root := readTerraform(t, "terraform/infra")
	for _, b := range slices.Concat(root.all("resource"), root.all("data")) {
		check(b.labels[0], b)
	}
}
