package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/ikkai-go/idempotency/persistence/records"
)

// Listing is which records are listed, and how.
type Listing struct {
	Filter records.Filter
	// Older than this is what is wanted; 0 is any age.
	OlderThan time.Duration
	// Limit ends the list after so many; 0 is none.
	Limit int
	JSON  bool
	// Progress, if set, is the terminal on which a bar shows how far a long scan has come.
	Progress io.Writer
}

// List prints records.
func List(ctx context.Context, o *Opened, l Listing, stdout, stderr io.Writer) error {
	now := time.Now()
	if l.OlderThan > 0 {
		l.Filter.StartedBefore = now.Add(-l.OlderThan)
	}
	last := follow(&l)
	rows := [][]string{{"STATE", "STARTED", "ATTEMPT", "FUNCTION", "KEY", "STUCK"}}
	var limited *records.LimitError
	listed := 0
	for record, err := range o.Desk.List(ctx, l.Filter) {
		if errors.As(err, &limited) {
			break
		}
		if err != nil {
			return err
		}
		listed++
		if l.JSON {
			if err := printJSON(stdout, record); err != nil {
				return err
			}
		} else {
			rows = append(rows, []string{string(record.State), age(record.StartedAt, now), strconv.Itoa(record.Attempt), orDash(record.Function), record.Key, orDash(string(record.Stuck))})
		}
		if listed == l.Limit {
			break
		}
	}
	read := last()
	if !l.JSON && listed > 0 {
		if err := columns(stdout, rows); err != nil {
			return err
		}
	}
	fmt.Fprintf(stderr, "%d of %d records in %s, for %.1f read units\n", listed, read.Seen, o.where(), read.Units)
	if limited != nil {
		return fmt.Errorf("%w. Allow more with --max-units", limited)
	}
	return nil
}

// follow has a listing's progress shown, and returns a function that ends that and says how far
// it has come.
func follow(l *Listing) (last func() records.Progress) {
	var bar *progressbar.ProgressBar
	if l.Progress != nil {
		bar = progressbar.NewOptions(-1, progressbar.OptionSetWriter(l.Progress), progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(), progressbar.OptionSpinnerType(14), progressbar.OptionSetDescription("looking"))
	}
	var reached records.Progress
	l.Filter.Progress = func(p records.Progress) {
		reached = p
		if bar != nil {
			bar.Describe(fmt.Sprintf("%d records looked at, %d match, %.0f read units", p.Seen, p.Matched, p.Units))
			_ = bar.Add(1) // only for the eye
		}
	}
	return func() records.Progress {
		if bar != nil {
			_ = bar.Finish()
		}
		return reached
	}
}
