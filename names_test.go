package idempotency_test

import (
	"go/ast"
	"go/doc"
	"regexp"
	"strings"
	"testing"
)

// exported are the names that a package exports, by the package's name.
func exported(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := make(map[string]map[string]bool)
	for _, r := range rooms(t) {
		names := all[r.doc.Name]
		if names == nil {
			names = make(map[string]bool)
			all[r.doc.Name] = names
		}
		value := func(values []*doc.Value) {
			for _, v := range values {
				for _, name := range v.Names {
					names[name] = true
				}
			}
		}
		function := func(functions []*doc.Func) {
			for _, f := range functions {
				names[f.Name] = true
			}
		}
		value(r.doc.Consts)
		value(r.doc.Vars)
		function(r.doc.Funcs)
		for _, typ := range r.doc.Types {
			names[typ.Name] = true
			value(typ.Consts)
			value(typ.Vars)
			function(typ.Funcs)
			function(typ.Methods)
			ast.Inspect(typ.Decl, func(n ast.Node) bool {
				if field, ok := n.(*ast.Field); ok {
					for _, name := range field.Names {
						names[name.Name] = true
					}
				}
				return true
			})
		}
	}
	return all
}

// What a page calls by the name of a package is exported by that package: pages must not
// outlive a renaming.
func TestTheNamesInTheDocumentsAreExported(t *testing.T) {
	t.Parallel()
	packages := exported(t)
	qualified := regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	member := regexp.MustCompile(`(?:^|[^.\w/])([A-Z]\w*)\.([A-Z]\w*)`) // as in `Config.TTL`
	has := func(typ, name string) (known, there bool) {
		for _, names := range packages {
			if names[typ] {
				known, there = true, there || names[name]
			}
		}
		return known, there
	}
	for _, d := range documents(t) {
		if d.name == "CHANGELOG.md" { // it has old names, too
			continue
		}
		for _, code := range inlineCode.FindAllString(d.text, -1) {
			for _, name := range qualified.FindAllStringSubmatch(code, -1) {
				names, ours := packages[name[1]]
				if !ours || strings.Contains(code, "@") || strings.Contains(code, "import") {
					continue
				}
				if !names[name[2]] || name[3] != "" && !names[name[3]] {
					t.Errorf("%s: %s is not exported", d.name, name[0])
				}
			}
			for _, name := range member.FindAllStringSubmatch(code, -1) {
				if known, there := has(name[1], name[2]); known && !there {
					t.Errorf("%s: %s.%s is not exported", d.name, name[1], name[2])
				}
			}
		}
	}
}
