package records

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Filter says which records are wanted: those that all of its fields let through. The zero
// Filter wants all of them.
type Filter struct {
	// States that a record may be in; none is any.
	States []State
	// Operation that is in the key, and Tenant, which needs an Operation.
	Operation, Tenant string
	// Stuck wants only those that are; Reason those that are for this reason.
	Stuck  bool
	Reason Reason
	// StartedBefore and StartedAfter bound the start of the last run, where they are not
	// zero. A record that does not say when it was started counts as old.
	StartedBefore, StartedAfter time.Time

	// PageSize is how many records are looked at for a page, matching or not. Defaults to
	// what the store takes for a page.
	PageSize int
	// Segments are gone through side by side, by List. Defaults to 1.
	Segments int
	// MaxUnits ends a list with a [*LimitError] when it has consumed so many read units.
	// Defaults to no limit.
	MaxUnits float64
	// UnitsPerSecond slows a list down to what the table can spare. Defaults to no limit.
	UnitsPerSecond float64
	// Progress, if set, is called after each page that List has read, by one goroutine at a
	// time.
	Progress func(Progress)
}

// Progress is how far a list has come.
type Progress struct {
	Seen    int     // records that were looked at; one that the store shows twice counts twice
	Matched int     // of them, each once
	Units   float64 // read units consumed, where the store counts such
}

// LimitError says that a list has ended before its end, because of [Filter.MaxUnits].
type LimitError struct {
	Progress Progress // until then
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("records: the list ended after %.1f read units and %d records: there may be more", e.Progress.Units, e.Progress.Seen)
}

// Page is a part of a list.
type Page struct {
	// Records are those of the page.
	Records []Record `json:"records"`
	// Cursor of the next page; empty where this was the last one.
	Cursor string `json:"cursor,omitempty"`
	// Seen is how many records were looked at, and Units what that has consumed.
	Seen  int     `json:"seen"`
	Units float64 `json:"units,omitempty"`
}

// Page returns the page of a list that begins at a cursor, which is empty for the first one.
// It may have no records and be followed by pages that have.
func (d *Desk) Page(ctx context.Context, f Filter, cursor string) (Page, error) {
	if err := f.check(); err != nil {
		return Page{}, err
	}
	q := f.query()
	q.Cursor = cursor
	return d.page(ctx, f, q)
}

func (d *Desk) page(ctx context.Context, f Filter, q storekit.Query) (Page, error) {
	stored, err := d.lister.List(ctx, q)
	if err != nil {
		return Page{}, err
	}
	page := Page{Cursor: stored.Cursor, Seen: stored.Seen, Units: stored.Units}
	now := d.config.Now()
	for _, r := range stored.Records {
		if v := d.config.view(r, now); f.matches(v) {
			page.Records = append(page.Records, v)
		}
	}
	for _, u := range stored.Unreadable {
		if v := d.config.unreadable(u, now); f.matchesUnreadable(v) {
			page.Records = append(page.Records, v)
		}
	}
	return page, nil
}

// List goes through the records that a filter lets through, in no order, each of them once. An
// error is the last of the sequence. Breaking off ends the reading.
func (d *Desk) List(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := f.check(); err != nil {
			yield(Record{}, err)
			return
		}
		caller := ctx
		ctx, cancel := context.WithCancel(caller)
		reading := &reading{desk: d, filter: f, pages: make(chan pageOrError)}
		segments, over := max(1, f.Segments), make(chan relay.Ending, 1)
		relay.Go(func() {
			defer close(reading.pages)
			relay.Each(segments, segments, func(n int) { reading.segment(ctx, n) })
		}, func(e relay.Ending) { over <- e })
		defer func() {
			cancel()
			(<-over).Repeat()
		}()
		var p Progress
		listed := make(shown)
		for page := range reading.pages {
			if page.err != nil {
				yield(Record{}, page.err)
				return
			}
			page.Records = slices.DeleteFunc(page.Records, listed.before)
			p.Seen, p.Matched, p.Units = p.Seen+page.Seen, p.Matched+len(page.Records), p.Units+page.Units
			if f.Progress != nil {
				f.Progress(p)
			}
			for _, r := range page.Records {
				if !yield(r, nil) {
					return
				}
			}
			if f.MaxUnits > 0 && p.Units >= f.MaxUnits && page.Cursor != "" {
				yield(Record{}, &LimitError{p})
				return
			}
		}
		if reading.cut.Load() { // nobody has broken it off but the caller's context
			yield(Record{}, &persistence.Fault{Op: "list", Retryable: true, Err: context.Cause(caller)})
		}
	}
}

// shown are the keys of the records that a store has shown: it may show one twice, as Redis'
// SCAN does.
type shown map[string]bool

// before tells whether the record was shown before, and notes that it is now.
func (s shown) before(r Record) bool {
	before := s[r.Key]
	s[r.Key] = true
	return before
}

// reading is a list under way.
type reading struct {
	desk   *Desk
	filter Filter
	pages  chan pageOrError
	cut    atomic.Bool // a segment was not read to its end
}

type pageOrError struct {
	Page
	err error
}

// segment reads the pages of a segment, one after the other.
func (r *reading) segment(ctx context.Context, n int) {
	q := r.filter.query()
	q.Segment, q.Segments = n, max(1, r.filter.Segments)
	for {
		page, err := r.desk.page(ctx, r.filter, q)
		select {
		case r.pages <- pageOrError{page, err}:
		case <-ctx.Done():
			r.cut.Store(true)
			return
		}
		if q.Cursor = page.Cursor; err != nil || q.Cursor == "" {
			return
		}
		if !r.pause(ctx, page.Units) {
			r.cut.Store(true)
			return
		}
	}
}

// pause keeps a segment to its share of the units per second.
func (r *reading) pause(ctx context.Context, units float64) bool {
	if r.filter.UnitsPerSecond <= 0 || units <= 0 {
		return ctx.Err() == nil
	}
	rest := time.NewTimer(time.Duration(units * float64(max(1, r.filter.Segments)) / r.filter.UnitsPerSecond * float64(time.Second)))
	defer rest.Stop()
	select {
	case <-rest.C:
		return true
	case <-ctx.Done():
		return false
	}
}

var errFilter = errors.New("records: a filter that can't be")

func (f Filter) check() error {
	switch {
	case f.Tenant != "" && f.Operation == "":
		return fmt.Errorf("%w: Tenant needs an Operation", errFilter)
	case f.Segments < 0 || f.Segments > maxSegments:
		return fmt.Errorf("%w: Segments is %d, of at most %d", errFilter, f.Segments, maxSegments)
	case f.PageSize < 0 || f.MaxUnits < 0 || f.UnitsPerSecond < 0:
		return fmt.Errorf("%w: a limit is negative", errFilter)
	}
	return nil
}

const maxSegments = 256 // each is a goroutine and a request at a time

// prefix is that of the keys which the filter lets through.
func (f Filter) prefix() string {
	switch {
	case f.Operation == "":
		return ""
	case f.Tenant != "":
		return f.Operation + "#@" + f.Tenant + "#"
	default:
		return f.Operation + "#"
	}
}

// query is the filter as far as the store knows it.
func (f Filter) query() storekit.Query {
	return storekit.Query{Prefix: f.prefix(), Statuses: f.statuses(), Limit: f.PageSize}
}

// statuses are those of records in the states that are wanted.
func (f Filter) statuses() []persistence.Status {
	switch {
	case f.Reason == StuckUnreadable:
		return nil // it may have any status, also one that is none
	case f.Stuck || f.Reason != NotStuck:
		return []persistence.Status{persistence.StatusProcessing, persistence.StatusPartial}
	}
	var all []persistence.Status
	for _, state := range f.States {
		switch state {
		case StateRunning, StateDied:
			all = append(all, persistence.StatusProcessing)
		case StatePartial:
			all = append(all, persistence.StatusPartial)
		case StateCompleted:
			all = append(all, persistence.StatusCompleted)
		case StateFailed:
			all = append(all, persistence.StatusFailed)
		default:
			return nil // an expired one has any status
		}
	}
	return all
}

func (f Filter) matchesKey(r Record) bool { return strings.HasPrefix(r.Key, f.prefix()) }

// matchesUnreadable lets through what may be wanted: a state and a start are not known of it.
func (f Filter) matchesUnreadable(r Record) bool {
	return f.matchesKey(r) && (f.Reason == NotStuck || f.Reason == r.Stuck)
}

func (f Filter) matches(r Record) bool {
	switch {
	case !f.matchesKey(r),
		len(f.States) > 0 && !slices.Contains(f.States, r.State),
		f.Stuck && r.Stuck == NotStuck,
		f.Reason != NotStuck && r.Stuck != f.Reason,
		!f.StartedBefore.IsZero() && !r.StartedAt.Before(f.StartedBefore),
		!f.StartedAfter.IsZero() && r.StartedAt.Before(f.StartedAfter):
		return false
	}
	return true
}
