package main

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

func TestEveryMutantIsOne(t *testing.T) {
	t.Chdir("../../..")
	names := make(map[string]bool)
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			if names[m.name] {
				t.Error("there are two of that name")
			}
			names[m.name] = true
			if len(m.caught) == 0 {
				t.Error("nothing is said to catch it")
			}
			broken, err := m.apply()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, broken, 0); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestThePageHoldsTheTable(t *testing.T) {
	page, err := os.ReadFile("../../../docs/mutants.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	writeTable(&table)
	if !strings.Contains(string(page), table.String()) {
		t.Error("docs/mutants.md does not hold the table that go run ./internal/proof/mutants -table prints")
	}
}
