package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Timeline tells the story to people: a line for each event sent, with what came
// back and the requests to DynamoDB that it took.
type Timeline struct {
	w     io.Writer
	paint Palette
}

// NewTimeline returns a narrator that writes to w.
func NewTimeline(w io.Writer, paint Palette) *Timeline {
	return &Timeline{w: w, paint: paint}
}

// Palette holds the escape sequences that begin a kind of text, and the one that
// ends it. The zero Palette is plain text.
type Palette struct {
	title, faint, good, bad, reset string
}

// ANSI is the palette of terminals.
var ANSI = Palette{title: "\x1b[1m", faint: "\x1b[2m", good: "\x1b[32m", bad: "\x1b[31m", reset: "\x1b[0m"}

// Preparing implements [Narrator].
func (t *Timeline) Preparing(what string) {
	fmt.Fprintf(t.w, "%s%s …%s\n", t.paint.faint, what, t.paint.reset)
}

// Scene implements [Narrator].
func (t *Timeline) Scene(scene Scene) {
	fmt.Fprintf(t.w, "\n%s%s%s\n", t.paint.title, scene.Title, t.paint.reset)
}

// Beat implements [Narrator].
func (t *Timeline) Beat(beat Beat) {
	color := t.paint.bad
	if beat.Answer.Failure == "" {
		color = ""
	}
	fmt.Fprintf(t.w, "  %7.3f s  %s  %s %6s EUR  →  %s  %s%s%s\n",
		time.Duration(beat.At).Seconds(), beat.Environment, beat.Sent.Key, euros(beat.Sent.Amount),
		t.painted(color, fmt.Sprintf("%-44s", beat.Answer)),
		t.paint.faint, requestsText(beat.Requests), t.paint.reset)
}

// Promise implements [Narrator].
func (t *Timeline) Promise(promise Promise) {
	if len(promise.Broken) == 0 {
		fmt.Fprintf(t.w, "             %s\n", t.painted(t.paint.good, "✓ "+promise.Text))
		return
	}
	fmt.Fprintf(t.w, "             %s\n", t.painted(t.paint.bad, "✗ NOT AS PROMISED: "+promise.Text))
	for _, broken := range promise.Broken {
		fmt.Fprintf(t.w, "               %s\n", broken)
	}
}

// Summary implements [Narrator].
func (t *Timeline) Summary(summary Summary) {
	charges := make(map[string]int)
	for _, c := range summary.Charges {
		charges[c.Order] = c.Charges
	}
	fmt.Fprintf(t.w, "\n%sRecords%s\n", t.paint.title, t.paint.reset)
	t.table("  order\tidempotency_key\tstatus\tattempt\tcharges", func(row func(...any)) {
		for _, r := range summary.Records {
			row("  "+r.Order, shorten(r.Key, 24), r.Status, r.Attempt, charges[r.Order])
		}
	})
	fmt.Fprintf(t.w, "\n%sRequests%s\n", t.paint.title, t.paint.reset)
	var read, write float64
	t.table("  table\trequest\tcount\tread units\twrite units", func(row func(...any)) {
		for _, r := range summary.Requests {
			row("  "+r.Table, r.Request, r.Count, r.Read, r.Write)
			read, write = read+r.Read, write+r.Write
		}
		row("  all", "", "", read, write)
	})
	fmt.Fprintf(t.w, "  %s✗: its condition failed, and DynamoDB sent the record along%s\n\n", t.paint.faint, t.paint.reset)
	took := time.Duration(summary.Took).Round(100 * time.Millisecond)
	if len(summary.Broken) == 0 {
		fmt.Fprintln(t.w, t.painted(t.paint.good, fmt.Sprintf("All %d promises kept, in %v.", summary.Promises, took)))
		return
	}
	fmt.Fprintln(t.w, t.painted(t.paint.bad, fmt.Sprintf("%d of %d promises broken, in %v.", len(summary.Broken), summary.Promises, took)))
}

func (t *Timeline) table(head string, fill func(row func(cells ...any))) {
	aligned := tabwriter.NewWriter(t.w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(aligned, head)
	fill(func(cells ...any) {
		texts := make([]string, len(cells))
		for i, cell := range cells {
			texts[i] = fmt.Sprint(cell)
		}
		fmt.Fprintln(aligned, strings.Join(texts, "\t"))
	})
	aligned.Flush()
}

// painted is text in a color, if there are colors.
func (t *Timeline) painted(color, text string) string {
	if color == "" {
		return text
	}
	return color + text + t.paint.reset
}

// String says what the client gets, in a few words.
func (a Answer) String() string {
	status := strconv.Itoa(a.Status)
	if a.Failure != "" {
		return status + " " + shorten(a.Failure, 40)
	}
	if a.RetryAfter > 0 {
		return fmt.Sprintf("%s in progress, retry after %v", status, time.Duration(a.RetryAfter))
	}
	var said struct {
		ID     string `json:"id"`
		Title  string `json:"title"`
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal([]byte(a.Body), &said) // a body that is not JSON says nothing here
	switch {
	case said.ID != "":
		return status + " " + shorten(said.ID, 40)
	case said.Detail != "":
		return status + " " + shorten(said.Detail, 40)
	default:
		return status
	}
}

// requestsText lists the requests on the idempotency table and counts the
// handler's own.
func requestsText(requests []Request) string {
	var protocol []string
	handler := 0
	for _, r := range requests {
		if r.Table == idempotencyTable {
			protocol = append(protocol, r.String())
		} else {
			handler++
		}
	}
	parts := []string{strings.Join(protocol, ", ")}
	if handler > 0 {
		parts = append(parts, fmt.Sprintf("+ %d by the handler", handler))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func euros(cents int64) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

func shorten(text string, length int) string {
	runes := []rune(text)
	if len(runes) <= length {
		return text
	}
	return string(runes[:length-1]) + "…"
}
