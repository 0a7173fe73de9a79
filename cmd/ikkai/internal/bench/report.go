package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteJSON writes the report as one JSON document. Durations are nanoseconds.
func (r Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// WriteMarkdown writes the report as tables that are readable as they are.
func (r Report) WriteMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "%s/%s, %d cores, %s\n\n", r.Machine.OS, r.Machine.Arch, r.Machine.Cores, r.Machine.Go)
	fmt.Fprintf(w, "## Calls\n\n%s; results of %s; %d rounds, each call by turns.\n\n", r.Endpoint, bytesText(r.ResultBytes), r.Rounds)
	calls := newTable("call", "requests", "p50", "p99", "p50 against bare", "against the same requests")
	for _, c := range r.Calls {
		calls.row(c.Name, fmt.Sprint(c.Requests), durationText(c.P50), durationText(c.P99), ratioText(c.AgainstBare), ratioText(c.AgainstSame))
	}
	if err := calls.write(w); err != nil {
		return err
	}
	fmt.Fprint(w, "\n## The toolkit's own work\n\nThe same calls, with a client that answers at once: neither network nor SDK.\n\n")
	own := newTable("call", "time", "memory", "allocs")
	for _, o := range r.Own {
		own.row(o.Name, durationText(o.Cost.time()), bytesText(int(o.Cost.Bytes)), fmt.Sprint(o.Cost.Allocs))
	}
	if err := own.write(w); err != nil {
		return err
	}
	fmt.Fprint(w, "\n## Keys\n\nWithout any request, against what encoding/json takes by hand.\n\n")
	keys := newTable("key", "payload", "time", "memory", "allocs", "by hand", "memory", "allocs", "time against by hand", "against decoding")
	for _, k := range r.Keys {
		keys.row(
			"`"+k.Expression+"`", bytesText(k.PayloadBytes),
			durationText(k.Toolkit.time()), bytesText(int(k.Toolkit.Bytes)), fmt.Sprint(k.Toolkit.Allocs),
			durationText(k.Baseline.time()), bytesText(int(k.Baseline.Bytes)), fmt.Sprint(k.Baseline.Allocs),
			ratioText(k.Ratio), ratioText(k.AgainstDecoding),
		)
	}
	if err := keys.write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i, k := range r.Keys {
		if i == 0 || k.Expression != r.Keys[i-1].Expression {
			fmt.Fprintf(w, "By hand, `%s`: %s.\n", k.Expression, k.BaselineDoes)
		}
	}
	fmt.Fprintln(w, "Decoding: Unmarshal of the payload into any, and no more.")
	return nil
}

func (c Cost) time() time.Duration { return time.Duration(c.Nanoseconds) }

// table is a Markdown table whose columns also line up as plain text.
type table struct {
	rows [][]string
}

func newTable(head ...string) *table {
	rules := make([]string, len(head))
	for i := range rules {
		rules[i] = "---"
	}
	return &table{rows: [][]string{head, rules}}
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) write(w io.Writer) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for _, cells := range t.rows {
		fmt.Fprintf(aligned, "| %s\t|\n", strings.Join(cells, "\t| "))
	}
	return aligned.Flush()
}

// durationText rounds to three digits.
func durationText(d time.Duration) string {
	switch {
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	case d >= time.Microsecond:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	default:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	}
}

func bytesText(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d B", n)
	}
}

// ratioText leaves a cell empty where there is nothing to compare.
func ratioText(ratio float64) string {
	if ratio == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f×", ratio)
}
