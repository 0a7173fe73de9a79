package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Showing is how a record is shown.
type Showing struct {
	Key string
	// Contents shows the result, the event and the outputs of the steps too.
	Contents bool
	JSON     bool
}

// Show prints a record: what is known of it, and what has happened, in order.
func Show(ctx context.Context, o *Opened, s Showing, stdout io.Writer) error {
	record, err := o.one(ctx, s.Key)
	if err == nil && s.Contents {
		record, err = o.Desk.Open(ctx, record)
	}
	if err != nil {
		return exit(err)
	}
	if s.JSON {
		return printJSON(stdout, record)
	}
	return describe(stdout, record)
}

// describe prints a record for people.
func describe(w io.Writer, r records.Record) error {
	now := r.ShownAt
	state := string(r.State)
	if r.Status != "" {
		state += ", " + string(r.Status)
	}
	if r.Stuck != records.NotStuck {
		state += ": " + meaning(r.Stuck)
	}
	attempt := ""
	if r.Attempt > 0 {
		attempt = strconv.Itoa(r.Attempt)
	}
	expires := instant(r.ExpiresAt, now)
	if expires == "" && r.Unreadable == "" {
		expires = "never"
	}
	var rows [][]string
	for _, row := range [][]string{
		{"key", r.Key}, {"state", state}, {"operation", r.Operation}, {"tenant", r.Tenant}, {"function", r.Function}, {"request", r.RequestID},
		{"execution", r.Execution},
		{"attempt", attempt}, {"started", instant(r.StartedAt, now)}, {"lease until", instant(r.LeaseUntil, now)}, {"expires", expires},
		{"fingerprint", r.Fingerprint}, {"result", content(r.Result)}, {"event", content(r.Event)}, {"unreadable", r.Unreadable}, {"version", r.Version},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	if err := columns(w, rows); err != nil {
		return err
	}
	if len(r.Steps) > 0 {
		fmt.Fprintln(w, "\nsteps")
		if err := columns(w, stepRows(r.Steps)); err != nil {
			return err
		}
	}
	if u := r.Undoing; u != nil {
		fmt.Fprintf(w, "\nundoing   it has failed for good%s\n", plain(failure(u.ErrorType, u.Message)))
		if u.Blocked {
			fmt.Fprintf(w, "          undoing %s has failed%s\n", plain(orDash(u.BlockedStep)), plain(failure(u.BlockedBy, u.BlockedMessage)))
		}
	}
	return nil
}

func stepRows(steps []records.Step) (rows [][]string) {
	for _, step := range steps {
		var notes []string
		if step.Order > 0 {
			notes = append(notes, fmt.Sprintf("number %d", step.Order))
		}
		if step.Starts > 1 {
			notes = append(notes, fmt.Sprintf("started %d times", step.Starts))
		}
		if step.Compensable {
			notes = append(notes, "is undone if the request fails for good")
		}
		if text := content(step.Output); text != "" {
			notes = append(notes, "output "+text)
		}
		rows = append(rows, []string{"  " + step.Name, string(step.Phase), strings.Join(notes, ", ")})
	}
	return rows
}

// content is a content's size, or itself where it is opened.
func content(v *records.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Content != nil:
		var line bytes.Buffer // JSON as one line; --json has it as it is
		if json.Compact(&line, v.Content) == nil {
			return line.String()
		}
		return string(v.Content)
	case v.Omitted:
		return "could not be stored"
	case v.Form != "":
		return fmt.Sprintf("%d bytes, as %s (--contents shows it, where this command can open it)", v.Size, v.Form)
	default:
		return fmt.Sprintf("%d bytes (--contents shows them)", v.Size)
	}
}

func failure(errorType, message string) string {
	text := strings.Trim(errorType+": "+message, ": ")
	if text == "" {
		return ""
	}
	return ": " + text
}
