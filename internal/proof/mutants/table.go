package main

import (
	"fmt"
	"io"
	"strings"
)

// writeTable writes the mutants and what catches them as a Markdown table.
func writeTable(w io.Writer) {
	fmt.Fprintln(w, "| what is broken | in | caught by |\n| --- | --- | --- |")
	for _, m := range mutants {
		names := make([]string, len(m.caught))
		for i, t := range m.caught {
			names[i] = "`" + t.name + "`"
		}
		fmt.Fprintf(w, "| %s | `%s` | %s |\n", m.name, m.file, strings.Join(names, ", "))
	}
}
