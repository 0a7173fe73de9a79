package operate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Change is something to be done about one record, or about those of a list.
type Change struct {
	// Key and Version of the record, as show and list print them.
	Key, Version string
	// From is a list in their place, as list --json prints it: a file, or - for stdin.
	From string
	// Yes does it; otherwise it is only said.
	Yes  bool
	JSON bool
	// Plan plans it for a record.
	Plan func(ctx context.Context, desk *records.Desk, shown records.Record) (*records.Plan, error)
	// Command is what was typed, to be typed again with --yes.
	Command string
}

// named is a record as it was shown.
type named struct {
	Key     string `json:"key"`
	Version string `json:"version"`
	// State tells a record without a version.
	State records.State `json:"state"`
}

// Make does it, or says what it would do.
func (c Change) Make(ctx context.Context, o *Opened, stdin io.Reader, stdout, stderr io.Writer) error {
	if c.From != "" {
		if c.Version != "" {
			return &UsageError{"--version is that of one record; those of a list are in it"}
		}
		return c.all(ctx, o, stdin, stdout, stderr)
	}
	if c.Yes && c.Version == "" {
		return &UsageError{"--yes needs --version: what was shown is what it is done to. Without --yes the command prints it"}
	}
	plan, err := c.plan(ctx, o, named{Key: c.Key, Version: c.Version})
	if err != nil {
		return exit(err)
	}
	if !c.Yes {
		if err := describe(stdout, plan.Shown); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "\nIt would be done:\n%s\n\nNothing was done. Do it by:\n  %s --version %s --yes\n", indent(plan), c.Command, plan.Shown.Version)
		return nil
	}
	after, err := plan.Do(ctx)
	if err != nil {
		return exit(err)
	}
	return c.tell(stdout, named{Key: c.Key, Version: c.Version}, after)
}

// plan plans it for a record that is still what was shown.
func (c Change) plan(ctx context.Context, o *Opened, shown named) (*records.Plan, error) {
	record, err := o.one(ctx, shown.Key)
	if err != nil {
		return nil, err
	}
	if shown.Version != "" && record.Version != shown.Version {
		return nil, &records.ChangedError{Key: shown.Key, Now: &record}
	}
	if c.Yes {
		if err := o.skew.check(o.margin); err != nil {
			return nil, err
		}
	}
	plan, err := c.Plan(ctx, o.Desk, record)
	if _, running := errors.AsType[*records.RunningError](err); running && record.Execution != "" {
		err = fmt.Errorf("%w. It belongs to a durable execution; if that has ended, say so: --ended-execution %s", err, record.Execution)
	}
	return plan, err
}

// all does it to each record of a list. Without --yes the whole list is read and counted
// first, and nothing else happens.
func (c Change) all(ctx context.Context, o *Opened, stdin io.Reader, stdout, stderr io.Writer) error {
	list, err := readList(c.From, stdin)
	if err != nil {
		return err
	}
	done, left, failed := 0, 0, 0
	for i, shown := range list {
		plan, err := c.plan(ctx, o, shown)
		var after records.Record
		switch {
		case err != nil:
		case !c.Yes && done == 0:
			fmt.Fprintf(stdout, "To %s it would be done:\n%s\n", plain(shown.Key), indent(plan))
		case c.Yes:
			after, err = plan.Do(ctx)
		}
		switch status := (*Exit)(nil); {
		case err == nil:
			done++
			if c.Yes {
				if err := c.tell(stdout, shown, after); err != nil {
					return err
				}
			}
		case errors.As(exit(err), &status):
			left++
			fmt.Fprintf(stderr, "left alone: %s\n", plain(err.Error()))
		default:
			failed++
			fmt.Fprintf(stderr, "failed: %s\n", plain(err.Error()))
		}
		if ctx.Err() != nil {
			return fmt.Errorf("given up after %d of %d: %w", i+1, len(list), ctx.Err())
		}
	}
	if !c.Yes {
		fmt.Fprintf(stdout, "Records that it would be done to: %d; left alone: %d. Nothing was done. Do it with --yes.\n", done, left)
		if failed > 0 {
			return fmt.Errorf("of %d of %d records it is not known what would be done", failed, len(list))
		}
		return nil
	}
	fmt.Fprintf(stderr, "records that it was done to: %d; left alone: %d; failed: %d\n", done, left, failed)
	switch {
	case failed > 0: // of these it may not be known whether it was done
		return fmt.Errorf("%d of %d records have failed, and %d were left alone", failed, len(list), left)
	case left > 0:
		return &Exit{NotDone, fmt.Errorf("not done to %d of %d records", left, len(list))}
	default:
		return nil
	}
}

// tell says what has become of a record.
func (c Change) tell(w io.Writer, shown named, after records.Record) error {
	if c.JSON {
		var now *records.Record
		if after.Key != "" {
			now = &after
		}
		return printJSON(w, map[string]any{"key": shown.Key, "now": now})
	}
	if after.Key == "" {
		_, err := fmt.Fprintf(w, "%s is gone\n", plain(shown.Key))
		return err
	}
	_, err := fmt.Fprintf(w, "%s is %s now\n", plain(after.Key), after.State)
	return err
}

// readList reads what list --json has printed.
func readList(from string, stdin io.Reader) ([]named, error) {
	content, err := readInput(from, stdin)
	if err != nil {
		return nil, err
	}
	var list []named
	there := make(map[named]bool)
	for line := 1; len(content) > 0; line++ {
		advance, text, err := bufio.ScanLines(content, true)
		if err != nil {
			return nil, err
		}
		content = content[advance:]
		if len(text) == 0 {
			continue
		}
		var record named
		// A record that can't be understood has no version, and is left alone when its turn comes.
		if err := json.Unmarshal(text, &record); err != nil || record.Key == "" || record.Version == "" && record.State != records.StateUnreadable {
			return nil, &UsageError{fmt.Sprintf("--from: line %d is no record with a key and a version, as ikkai records list --json prints them", line)}
		}
		if !there[record] {
			list = append(list, record)
		}
		there[record] = true
	}
	return list, nil
}

func indent(plan *records.Plan) string {
	var lines []string
	for i, does := range plan.Does {
		lines = append(lines, fmt.Sprintf("  %d. %s", i+1, plain(does)))
	}
	for _, note := range plan.Notes {
		lines = append(lines, "  note: "+plain(note))
	}
	return strings.Join(lines, "\n")
}
