package figures

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Table is a Markdown table whose columns also line up as plain text.
type Table struct {
	rows [][]string
}

// NewTable returns a table without rows.
func NewTable(head ...string) *Table {
	rules := make([]string, len(head))
	for i := range rules {
		rules[i] = "---"
	}
	return &Table{rows: [][]string{head, rules}}
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Write writes the table.
func (t *Table) Write(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintf(aligned, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	return aligned.Flush()
}
