package idempotent_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// costPage is docs/cost.md.
type costPage struct {
	t     *testing.T
	lines []string
}

func readCostPage(t *testing.T) costPage {
	t.Helper()
	text, err := os.ReadFile("../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}
	return costPage{t, strings.Split(string(text), "\n")}
}

// table returns the rows of the table whose first column has that title. A cell
// that is code as a whole comes without its quotes.
func (p costPage) table(title string) (rows [][]string) {
	p.t.Helper()
	head := slices.IndexFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "| "+title+" |") })
	if head < 0 {
		p.t.Fatalf("the page has no table %q", title)
	}
	for _, line := range p.lines[head+2:] {
		if !strings.HasPrefix(line, "|") {
			return rows
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i, cell := range cells {
			cells[i] = strings.TrimSpace(cell)
			if code := strings.Trim(cells[i], "`"); "`"+code+"`" == cells[i] && !strings.Contains(code, "`") {
				cells[i] = code
			}
		}
		rows = append(rows, cells)
	}
	return rows
}

// says makes sure that the page has that sentence, wherever its lines end.
func (p costPage) says(format string, figures ...any) {
	p.t.Helper()
	text := strings.Join(strings.Fields(strings.Join(p.lines, " ")), " ")
	if sentence := fmt.Sprintf(format, figures...); !strings.Contains(text, sentence) {
		p.t.Errorf("the page does not say: %s", sentence)
	}
}

// breakEven is the formula of the share of replays from which on ReadFirst is cheaper.
func (p costPage) breakEven() string {
	p.t.Helper()
	at := slices.IndexFunc(p.lines, func(line string) bool { return strings.HasPrefix(line, "1 / (") })
	if at < 0 {
		p.t.Fatal("the page has no formula of the break-even")
	}
	return p.lines[at]
}

// The columns of the table of names.
const (
	columnProcessing = iota + 1
	columnFinished
	columnLargest
)

func (p costPage) size(names string, column, result int) int {
	p.t.Helper()
	for _, row := range p.table("names") {
		if row[0] == names {
			return int(formula{"n": float64(result)}.value(p.t, row[column]))
		}
	}
	p.t.Fatalf("the page has no names %q", names)
	return 0
}

func (p costPage) processingSize(names string) int { return p.size(names, columnProcessing, 0) }

func (p costPage) finishedSize(names string, result int) int {
	return p.size(names, columnFinished, result)
}

func (p costPage) largestInAUnit(names string) int { return p.size(names, columnLargest, 0) }

// sums adds up what the attributes of a record have, with names of a length.
func (p costPage) sums(nameLength func(string) int, result int) (processing, finished int) {
	p.t.Helper()
	for _, row := range p.table("attribute") {
		size := func(value string) int {
			if value == "" {
				return 0 // the record has no such attribute
			}
			return nameLength(row[1]) + int(formula{"n": float64(result)}.value(p.t, value))
		}
		processing, finished = processing+size(row[2]), finished+size(row[3])
	}
	return processing, finished
}

// entry is the size of an entry of the steps.
func (p costPage) entry(kind string, sizes formula) int {
	p.t.Helper()
	for _, row := range p.table("entry") {
		if row[0] == kind {
			known := formula{"o": 0, "e": 0}
			maps.Copy(known, sizes)
			return int(known.value(p.t, row[2]))
		}
	}
	p.t.Fatalf("the page has no entry %q", kind)
	return 0
}

// firstEntry is what the first entry takes beside itself.
func (p costPage) firstEntry() int {
	const bytes = 8
	p.says("The first entry takes %d bytes more", bytes)
	return bytes
}

func (p costPage) number(cell string) float64 {
	p.t.Helper()
	n, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// requestsOf reads a cell such as "PutItem ✗, GetItem × n".
func requestsOf(cell string, n int) (requests []string) {
	if cell == "none" {
		return nil
	}
	for name := range strings.SplitSeq(cell, ", ") {
		if repeated, ok := strings.CutSuffix(name, " × n"); ok {
			requests = append(requests, slices.Repeat([]string{repeated}, n)...)
		} else {
			requests = append(requests, name)
		}
	}
	return requests
}

// formula is what the names in a cell stand for.
type formula map[string]float64

// value reckons a cell such as "W(P) + W(max(P, F))".
func (f formula) value(t *testing.T, cell string) float64 {
	t.Helper()
	expression, err := parser.ParseExpr(cell)
	if err != nil {
		t.Fatalf("%s: %v", cell, err)
	}
	var value func(ast.Expr) float64
	value = func(expression ast.Expr) float64 {
		switch e := expression.(type) {
		case *ast.BasicLit:
			number, _ := strconv.ParseFloat(e.Value, 64)
			return number
		case *ast.Ident:
			if number, known := f[e.Name]; known {
				return number
			}
		case *ast.ParenExpr:
			return value(e.X)
		case *ast.BinaryExpr:
			switch x, y := value(e.X), value(e.Y); e.Op {
			case token.ADD:
				return x + y
			case token.SUB:
				return x - y
			case token.MUL:
				return x * y
			case token.QUO:
				return x / y
			}
		case *ast.CallExpr:
			switch function, x := e.Fun.(*ast.Ident).Name, value(e.Args[0]); function {
			case "W":
				return max(1, math.Ceil(x/1024))
			case "R":
				return max(1, math.Ceil(x/4096))
			case "max":
				return max(x, value(e.Args[1]))
			}
		}
		t.Fatalf("%s: what is %s?", cell, cell[expression.Pos()-1:expression.End()-1])
		return 0
	}
	return value(expression)
}
