package operate

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// printJSON writes one JSON object a line.
func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

// columns writes aligned columns.
func columns(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, plain(cell))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// age is how long ago an instant was, or how far ahead it is, in its two largest units.
func age(at, now time.Time) string {
	switch d := now.Sub(at); {
	case at.IsZero():
		return "-"
	case d < 0:
		return "in " + span(-d)
	default:
		return span(d) + " ago"
	}
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}

// instant writes an instant down with its age; empty where it is not known.
func instant(at, now time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339) + " (" + age(at, now) + ")"
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// meaning is what a reason means for the request, and what to do.
func meaning(reason records.Reason) string {
	switch reason {
	case records.NotStuck:
		return ""
	case records.StuckDied:
		return "its run has died; the next try of its request takes it over, unless the guard has RefuseUnknown"
	case records.StuckPartial:
		return "given up after some of its steps, and not sent again since"
	case records.StuckUnknown:
		return "a step that must run at most once was started, and may have happened: find out, and settle the step"
	case records.StuckUndoing:
		return "it has failed for good, and undoing a step does not work"
	case records.StuckUnreadable:
		return "its record can't be understood, so each try of its request is refused"
	default:
		return string(reason)
	}
}
