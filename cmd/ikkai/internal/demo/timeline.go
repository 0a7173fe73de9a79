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
	t.line(beat.Work, beat.Sent.String(), beat.Answer.String(), beat.Answer.Failure != "")
}

// Batch implements [Narrator]. It has a line for each message.
func (t *Timeline) Batch(batch Batch) {
	for i, m := range batch.Messages {
		outcome := "done, and deleted"
		if m.Failed {
			outcome = "comes back"
		}
		if batch.Failure != "" {
			outcome = shorten(batch.Failure, answerWidth)
		}
		if i == 0 {
			t.line(batch.Work, m.String(), outcome, m.Failed)
		} else {
			fmt.Fprintf(t.w, "%21s%-25s  →  %s\n", "", m, t.painted(t.colorOf(m.Failed), outcome))
		}
	}
}

// Start implements [Narrator].
func (t *Timeline) Start(start Start) {
	outcome := fmt.Sprintf("%d paid, %d before, %d left", start.Paid, start.Before, start.Left)
	if start.Failure != "" {
		outcome = shorten(start.Failure, answerWidth)
	}
	if _, left, unfinished := strings.Cut(start.Failure, "batch "+start.Month+": "); unfinished {
		outcome, _, _ = strings.Cut(left, " (")
	}
	t.line(start.Work, "payroll of "+start.Month, outcome, start.Failure != "")
}

// Look implements [Narrator].
func (t *Timeline) Look(look Look) {
	fmt.Fprintf(t.w, "             %s\n", t.painted(t.paint.faint, look.At))
	for _, row := range look.Rows {
		fmt.Fprintf(t.w, "               %s\n", t.painted(t.paint.faint, fmt.Sprintf("%-25s  %s", row.Name, shorten(row.Text, rowWidth))))
	}
}

// Command implements [Narrator].
func (t *Timeline) Command(command Command) {
	fmt.Fprintf(t.w, "  %7.3f s  $ %s\n", time.Duration(command.At).Seconds(), shorten(command.Line, commandWidth))
	for line := range strings.Lines(command.Output) {
		fmt.Fprintf(t.w, "             %s\n", t.painted(t.paint.faint, shorten(strings.TrimRight(line, "\n"), commandWidth)))
	}
}

// commandWidth is how much of a line of a command is shown.
const commandWidth = 130

// rowWidth is how much of a row is shown.
const rowWidth = 78

// answerWidth is that of the column of answers.
const answerWidth = 38

// line is what was sent, what became of it, and the requests that it took.
func (t *Timeline) line(work Work, sent, outcome string, failed bool) {
	requests := requestsText(work.Requests)
	if requests != "" {
		outcome = fmt.Sprintf("%-*s", answerWidth, outcome)
		requests = "  " + t.painted(t.paint.faint, requests)
	}
	fmt.Fprintf(t.w, "  %7.3f s  %-6s  %-25s  →  %s%s\n",
		time.Duration(work.At).Seconds(), work.Environment, sent, t.painted(t.colorOf(failed), outcome), requests)
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
	effects := make(map[string][]string)
	for _, e := range summary.Effects {
		effects[e.Of] = append(effects[e.Of], counted(e.Count, e.Kind))
	}
	fmt.Fprintf(t.w, "\n%sRecords%s\n", t.paint.title, t.paint.reset)
	t.table("  of\tidempotency_key\tstatus\tattempt\teffects", func(row func(...any)) {
		for _, r := range summary.Records {
			row("  "+r.Of, shorten(r.Key, 24), r.Status, r.Attempt, strings.Join(effects[r.Of], ", "))
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

// colorOf is the color of an outcome.
func (t *Timeline) colorOf(failed bool) string {
	if failed {
		return t.paint.bad
	}
	return ""
}

// String says what the client gets, in a few words.
func (a Answer) String() string {
	status := strconv.Itoa(a.Status)
	if a.Failure != "" {
		return status + " " + shorten(a.Failure, answerWidth-4)
	}
	if a.RetryAfter > 0 {
		return fmt.Sprintf("%s in progress, retry after %v", status, time.Duration(a.RetryAfter))
	}
	var said struct {
		ID     string `json:"id"`
		Detail string `json:"detail"`
	}
	_ = json.Unmarshal([]byte(a.Body), &said) // a body that is not JSON says nothing here
	switch {
	case said.Detail != "":
		return status + " " + shorten(said.Detail, answerWidth-4)
	case a.Replayed:
		return status + " " + shorten(said.ID, 20) + "  replayed"
	default:
		return strings.TrimSpace(status + " " + shorten(said.ID, 20))
	}
}

// String says which message it is, and what of.
func (m Message) String() string {
	text := m.ID + " " + m.Text
	if m.Receives > 1 {
		text += ", again"
	}
	return text
}

// requestsText lists the requests on the idempotency table and counts the
// handler's own.
func requestsText(requests []Request) string {
	var protocol []string
	handler := 0
	for _, r := range requests {
		if r.ofRecords() {
			protocol = append(protocol, r.String())
		} else {
			handler++
		}
	}
	if len(protocol) > maxListed {
		protocol = tallied(protocol)
	}
	parts := []string{strings.Join(protocol, ", ")}
	if handler > 0 {
		parts = append(parts, fmt.Sprintf("+ %d by the handler", handler))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// maxListed is how many requests are listed one by one.
const maxListed = 6

// tallied are equal requests together, with their numbers, in the order of the first.
func tallied(requests []string) []string {
	var kinds []string
	count := make(map[string]int)
	for _, r := range requests {
		if count[r]++; count[r] == 1 {
			kinds = append(kinds, r)
		}
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %s", count[kind], kind)
	}
	return kinds
}

// counted is a number of things.
func counted(n int, kind string) string {
	if n == 1 {
		return "1 " + kind
	}
	return fmt.Sprintf("%d %ss", n, kind)
}

func shorten(text string, length int) string {
	runes := []rune(text)
	if len(runes) <= length {
		return text
	}
	return string(runes[:length-1]) + "…"
}
