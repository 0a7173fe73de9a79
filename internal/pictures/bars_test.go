package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABarIsAsLongAsItsRowSays(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	write := func(text string) {
		t.Helper()
		file := filepath.Join(other, "docs", "performance.md")
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("| call | p50 |\n| --- | --- |\n| bare `PutItem`: of one | 500 µs |\n| first run | 1 ms |\n\nand more\n")
	p, err := calls(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`width="200.0"`, `width="400.0"`, ">bare PutItem<", ">500 µs<"} {
		if !bytes.Contains(p.svg(), []byte(want)) {
			t.Errorf("it has no %s: %s", want, p.svg())
		}
	}
	for name, text := range map[string]string{
		"no table":        "# Performance",
		"another table":   "| call | p99 |\n| --- | --- |\n| first run | 1 ms |\n",
		"no duration":     strings.ReplaceAll(string(guide), " µs ", " minutes "),
		"nothing at all":  strings.ReplaceAll(string(guide), " µs ", " "),
		"not even number": strings.ReplaceAll(string(guide), " µs ", "µs "),
	} {
		write(text)
		if _, err := calls(other); err == nil {
			t.Errorf("%s: there is a picture", name)
		}
	}
}
