package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// row is a row of a table in a guide, by the names of its columns.
type row map[string]string

// table reads the table with these columns, among others, from a guide.
func table(root, guide string, columns ...string) ([]row, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", guide))
	if err != nil {
		return nil, err
	}
	var header []string
	var rows []row
	for line := range strings.Lines(string(text)) {
		switch cells := cellsOf(line); {
		case cells == nil && rows != nil:
			return rows, nil
		case cells == nil:
			header = nil
		case header == nil:
			header = cells
		case strings.HasPrefix(cells[0], "---"):
		case !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(header, c) }):
			r := make(row)
			for i, cell := range cells {
				r[header[i]] = cell
			}
			rows = append(rows, r)
		}
	}
	if rows == nil {
		return nil, fmt.Errorf("%s has no table with the columns %q", guide, columns)
	}
	return rows, nil
}

// cellsOf are the cells of a line of a table, without Markdown; nil if the line is of none.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, "`", ""), "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells
}

// milliseconds reads a duration as the guides write it.
func milliseconds(text string) (float64, error) {
	number, unit, _ := strings.Cut(text, " ")
	value, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil:
		return 0, err
	case unit == "ms":
		return value, nil
	case unit == "µs":
		return value / 1000, nil
	}
	return 0, fmt.Errorf("%q is no duration", text)
}
