package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

func drawn(t *testing.T) []*picture {
	t.Helper()
	pictures, err := all(root)
	if err != nil {
		t.Fatal(err)
	}
	return pictures
}

func TestTheCommittedPicturesAreWhatIsDrawn(t *testing.T) {
	for _, p := range drawn(t) {
		file := filepath.Join(root, "docs", "pictures", p.name+".svg")
		got, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(got, p.svg()) {
			t.Errorf("%s is not what is drawn: make figures (%v)", file, err)
		}
	}
}

func TestEveryPictureCanBeReadInAnyWay(t *testing.T) {
	for _, p := range drawn(t) {
		t.Run(p.name, func(t *testing.T) {
			if len(p.overflows) > 0 {
				t.Errorf("there is no room for %q", p.overflows)
			}
			if len(p.description) < 100 || p.title == "" {
				t.Errorf("nobody who can't see it knows what it shows: %q, %q", p.title, p.description)
			}
			svg := string(p.svg())
			decoder := xml.NewDecoder(strings.NewReader(svg))
			for {
				_, err := decoder.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, part := range []string{"<title", "<desc", "prefers-color-scheme: dark"} {
				if !strings.Contains(svg, part) {
					t.Errorf("it has no %s", part)
				}
			}
			for _, outside := range []string{"@import", "href", "url(h", "<script", "<image", "@font-face"} {
				if strings.Contains(svg, outside) {
					t.Errorf("it needs something from outside: %s", outside)
				}
			}
		})
	}
}

// An arrow that is drawn is one that is there, and none goes back.
func TestTheHouseIsTheHouse(t *testing.T) {
	at := make(map[string]room)
	for _, r := range rooms {
		at[r.name] = r
		for _, folder := range r.folders {
			files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
			if err != nil || len(files) == 0 && folder != "functions" {
				t.Errorf("%s has no files (%v)", folder, err)
			}
		}
	}
	for _, a := range arrows {
		if !imports(t, at[a[0]], at[a[1]]) {
			t.Errorf("nothing of %s imports %s", a[0], a[1])
		}
		if imports(t, at[a[1]], at[a[0]]) {
			t.Errorf("%s imports %s", a[1], a[0])
		}
	}
	for _, store := range []string{"stores", "records"} {
		if imports(t, at["engine"], at[store]) {
			t.Errorf("the engine imports %s", store)
		}
	}
}

func imports(t *testing.T, from, to room) bool {
	t.Helper()
	const module = "github.com/ikkai-go/idempotency"
	var wanted []string
	for _, folder := range to.folders {
		wanted = append(wanted, strconv.Quote(strings.TrimSuffix(module+"/"+folder, "/.")))
	}
	for _, folder := range from.folders {
		patterns := []string{"*.go"}
		if folder == "functions" {
			patterns = []string{"*/*.go"}
		}
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join(root, folder, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if strings.HasSuffix(file, "_test.go") {
					continue
				}
				parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
				if err != nil {
					t.Fatal(err)
				}
				for _, spec := range parsed.Imports {
					if slices.Contains(wanted, spec.Path.Value) {
						return true
					}
				}
			}
		}
	}
	return false
}
