package idempotency_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests hold the house to what CONTRIBUTING and docs/architecture.md say of it.

// room is a package that others may import.
type room struct {
	dir   string
	doc   *doc.Package
	files *token.FileSet
}

// rooms are all public packages of the module, those of its commands and functions excepted.
func rooms(t *testing.T) []room {
	t.Helper()
	files := make(map[string][]string)
	for name := range goFiles(t) {
		dir := path.Dir(name)
		if !strings.Contains("/"+dir+"/", "/internal/") && !strings.Contains("/"+dir+"/", "/testdata/") &&
			!strings.HasPrefix(dir, "cmd/") && !strings.HasPrefix(dir, "functions/") && !strings.HasPrefix(dir, "tools") && !strings.HasPrefix(dir, "deploy/") {
			files[dir] = append(files[dir], name)
		}
	}
	var all []room
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		r := room{dir: dir, files: token.NewFileSet()}
		var parsed []*ast.File
		for _, name := range slices.Sorted(slices.Values(files[dir])) {
			file, err := parser.ParseFile(r.files, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		var err error
		if r.doc, err = doc.NewFromFiles(r.files, parsed, path.Join("github.com/ikkai-go/idempotency", dir)); err != nil {
			t.Fatal(err)
		}
		if r.doc.Name != "main" {
			all = append(all, r)
		}
	}
	return all
}

// TestEverythingExportedIsDocumented asks every exported identifier for a comment: of
// packages, types, functions, methods, fields, methods of interfaces, constants and variables.
// A comment above a group is one for all that is in it.
func TestEverythingExportedIsDocumented(t *testing.T) {
	t.Parallel()
	for _, r := range rooms(t) {
		lacks := func(what string) {
			t.Errorf("%s: %s has no comment", r.dir, what)
		}
		if r.doc.Doc == "" {
			lacks("the package")
		}
		values(slices.Concat(r.doc.Consts, r.doc.Vars), lacks)
		functions(r.doc.Funcs, "", lacks)
		for _, typ := range r.doc.Types {
			if typ.Doc == "" {
				lacks(typ.Name)
			}
			values(slices.Concat(typ.Consts, typ.Vars), lacks)
			functions(typ.Funcs, "", lacks)
			functions(typ.Methods, typ.Name+".", lacks)
			for _, spec := range typ.Decl.Specs {
				r.members(typ.Doc, spec.(*ast.TypeSpec), lacks)
			}
		}
	}
}

func values(groups []*doc.Value, lacks func(string)) {
	for _, group := range groups {
		for _, spec := range group.Decl.Specs {
			value := spec.(*ast.ValueSpec)
			if group.Doc == "" && value.Doc == nil && value.Comment == nil && ast.IsExported(value.Names[0].Name) {
				lacks(value.Names[0].Name)
			}
		}
	}
}

// wellKnown are methods whose name and signature say all there is.
var wellKnown = []string{"Error", "Unwrap"}

func functions(all []*doc.Func, of string, lacks func(string)) {
	for _, f := range all {
		if f.Doc == "" && !slices.Contains(wellKnown, f.Name) {
			lacks(of + f.Name)
		}
	}
}

// ofAnother is how the comment of an interface says that it is a part of somebody else's
// type, which is where its methods are documented.
var ofAnother = regexp.MustCompile(`(?s)(needs|needed) of .*\b(has|have) it\b`)

// members are the fields of a struct, and the methods of an interface. A comment stands above
// or behind, and is one for the fields that follow without a blank line; or that of the type
// names the field.
func (r room) members(comment string, spec *ast.TypeSpec, lacks func(string)) {
	var list *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return
	}
	run := 0 // the line that the comment above still reaches
	for _, field := range list.List {
		line := r.files.Position(field.Pos()).Line
		commented := field.Doc != nil || line == run || ofAnother.MatchString(comment)
		for _, name := range field.Names {
			named := regexp.MustCompile(`\b` + name.Name + `\b`).MatchString(comment)
			if !commented && !named && field.Comment == nil && name.IsExported() {
				lacks(spec.Name.Name + "." + name.Name)
			}
		}
		if commented {
			run = r.files.Position(field.End()).Line + 1
		}
	}
}

// exampleless are exported functions and methods that no example calls, and why.
var exampleless = map[string]string{
	"idempotent.Guard.Begin":        "for the doors of this module, as are the next ones",
	"idempotent.Guard.IdentifyItem": "batch calls it",
	"idempotent.Guard.Keeping":      "eventguard calls it",
	"idempotent.Guard.KeepingEvent": "httpguard and eventguard call it",
	"idempotent.Guard.Late":         "eventguard calls it",
	"idempotent.Guard.LookingAhead": "batch and eventguard call it",
	"idempotent.Guard.Off":          "httpguard calls it",
	"idempotent.Guard.Report":       "eventguard and httpguard call it",

	"idempotent/idempotenttest.Environment.Name":       "for failing stories, which no example has",
	"persistence/storekit.Enlisting":                   "the engine calls it; whose own writes it enlists shows the example of Enlist",
	"idempotent/powertools.Peer.Expiry":                "the engine calls it, as of any Dialect",
	"persistence/dynamostore/dynamotest.DB.RoundTrip":  "net/http calls it",
	"persistence/dynamostore/dynamotest.DB.ServeHTTP":  "net/http calls it",
	"idempotent/client.Transport.RoundTrip":            "net/http calls it",
	"idempotent/client.Transport.CloseIdleConnections": "net/http calls it",
	"idempotent/eventguard.KafkaRecord.MarshalJSON":    "encoding/json calls it",
	"idempotent/eventguard.KafkaRecord.UnmarshalJSON":  "encoding/json calls it",
}

// calledByOthers are methods that the user's own code does not call, in any package.
var calledByOthers = map[string]string{
	"Error":  "package errors, and whoever prints",
	"Is":     "package errors",
	"Unwrap": "package errors; of a front, the engine",
	"String": "package fmt",

	"Verdict": "idempotent.VerdictOf",
	"OfCall":  "idempotent.VerdictOf",

	"Acquire":        "the engine, as of any persistence.Store",
	"Complete":       "the engine, as of any persistence.Store",
	"Release":        "the engine, as of any persistence.Store",
	"Read":           "the engine, as of any persistence.Reader",
	"ReadMany":       "the engine, as of any storekit.BatchReader",
	"Checkpoint":     "the engine, as of any persistence.Checkpointer",
	"Renew":          "the engine, as of any persistence.Renewer",
	"CheckpointWith": "the engine, as of any storekit.Transactor",
	"CompleteWith":   "the engine, as of any storekit.Transactor",
	"CompleteAtOnce": "the engine, as of any storekit.Transactor",
	"Commit":         "the engine, as of any storekit.Transactor",
	"Room":           "the engine",
	"Refresh":        "a store in front",
	"HoldsEnvelopes": "a store in front",

	"Store.List":    "records.Desk",
	"Store.Forget":  "records.Desk",
	"Memory.List":   "records.Desk",
	"Memory.Forget": "records.Desk",

	"Seal":     "sealed.Store, as of any Sealer",
	"Open":     "sealed.Store, as of any Sealer",
	"Overhead": "sealed.Store, as of any Sealer",
	"Put":      "overflow.Store, as of any Blobs",
	"Get":      "overflow.Store, as of any Blobs",
	"Delete":   "overflow.Store, as of any Blobs",
}

// TestEveryEntryPointHasAnExample asks for an example with output that has the name of each
// exported function or method, or calls it. Of the packages that need a test, the examples are
// the whole programs of the documents, which are run too.
func TestEveryEntryPointHasAnExample(t *testing.T) {
	t.Parallel()
	shown, unneeded := examples(t), maps.Clone(exampleless)
	for _, r := range rooms(t) {
		ask := func(all []*doc.Func, of string) {
			for _, f := range all {
				id := r.dir + "." + of + f.Name
				delete(unneeded, id)
				excused := exampleless[id] != "" || of != "" && calledByOthers[f.Name]+calledByOthers[of+f.Name] != ""
				if !excused && !shown[r.doc.Name+"."+f.Name] {
					t.Errorf("%s has no example", id)
				}
			}
		}
		ask(r.doc.Funcs, "")
		for _, typ := range r.doc.Types {
			ask(typ.Funcs, "")
			ask(typ.Methods, typ.Name+".")
		}
	}
	for id := range unneeded {
		t.Errorf("%s is excused, and there is none", id)
	}
}

// examples returns what the examples with output are named after, and what they use, each name
// with that of its package. A method's package is that of the example.
func examples(t *testing.T) map[string]bool {
	t.Helper()
	shown := make(map[string]bool)
	show := func(of string, code ast.Node) {
		ast.Inspect(code, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				shown[of+"."+n.Sel.Name] = true
				if from, is := n.X.(*ast.Ident); is {
					shown[from.Name+"."+n.Sel.Name] = true
				}
			case *ast.Ident:
				shown[of+"."+n.Name] = true
			}
			return true
		})
	}
	for name, text := range goFiles(t) {
		if !strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		of := strings.TrimSuffix(file.Name.Name, "_test")
		for _, example := range doc.Examples(file) {
			if example.Output == "" && !example.EmptyOutput {
				continue
			}
			for part := range strings.SplitSeq(example.Name, "_") {
				shown[of+"."+part] = true
			}
			show(of, example.Code)
		}
		if strings.HasPrefix(path.Base(name), "example") { // what its examples share
			show(of, file)
		}
	}
	for _, d := range documents(t) {
		for _, code := range d.code("go") {
			if !strings.HasPrefix(code, "package ") {
				code = "package quoted\n" + code
			}
			if file, err := parser.ParseFile(token.NewFileSet(), d.name, code, 0); err == nil {
				show("idempotenttest", file)
			}
		}
	}
	return shown
}

// maxLines is how long a file of one concept is at most.
const maxLines = 300

func TestNoFileIsTooLong(t *testing.T) {
	t.Parallel()
	for name, text := range goFiles(t) {
		lines := strings.Count(text, "\n")
		if lines > maxLines && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "/testdata/") {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// TestNoPackageOnlyForwards: a package has something of its own, beyond aliases and variables
// that stand for another package's.
func TestNoPackageOnlyForwards(t *testing.T) {
	t.Parallel()
	for _, r := range rooms(t) {
		own := len(r.doc.Funcs)
		for _, typ := range r.doc.Types {
			for _, spec := range typ.Decl.Specs {
				if !spec.(*ast.TypeSpec).Assign.IsValid() {
					own++
				}
			}
		}
		if own == 0 {
			t.Errorf("%s only forwards", r.dir)
		}
	}
}

// shortest are the packages that everybody reads first: the lines of go doc -short at most. They
// should become 40 and 20, and never be more than here.
var shortest = map[string]int{"idempotent": 40, "persistence": 20}

func TestWhatEverybodyReadsIsShort(t *testing.T) {
	t.Parallel()
	for dir, most := range shortest {
		out, err := exec.CommandContext(t.Context(), "go", "doc", "-short", "./"+dir).Output()
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(out), "\n"); lines > most {
			t.Errorf("go doc -short ./%s has %d lines, and should have %d", dir, lines, most)
		}
	}
}

// elsewhere are the files that start goroutines by themselves, and why no code of the user can end
// the process there: all others leave that to internal/relay.
var elsewhere = map[string]string{
	"idempotent/eventguard/order.go":              "each record is contained, in a goroutine of its own",
	"idempotent/client/verdict.go":                "reads a response's body, as net/http does",
	"persistence/dynamostore/dynamotest/serve.go": "net/http's server",
	"persistence/storetest/race.go":               "a test: a panic is its failure",
	"idempotent/idempotenttest/process.go":        "a test: a panic is its failure",
	"idempotent/idempotenttest/environment.go":    "a test: panics are seen",
}

// TestGoroutinesAreStartedInOnePlace holds internal/relay's promise.
func TestGoroutinesAreStartedInOnePlace(t *testing.T) {
	t.Parallel()
	starts, excused := regexp.MustCompile(`(?m)^\s*go (func\b|[\w.]+\()|\.Go\(func\(\) `), maps.Clone(elsewhere)
	shipped := regexp.MustCompile(`^(idempotent|persistence)/`)
	for name, text := range goFiles(t) {
		if !shipped.MatchString(name) || strings.HasSuffix(name, "_test.go") || !starts.MatchString(strings.ReplaceAll(text, "relay.Go(", "")) {
			continue
		}
		if excused[name] == "" {
			t.Errorf("%s starts a goroutine: see internal/relay", name)
		}
		delete(excused, name)
	}
	for name := range excused {
		t.Errorf("%s is excused, and starts none", name)
	}
}
