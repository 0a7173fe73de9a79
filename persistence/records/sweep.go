package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Sweep is how stuck requests are resumed by a machine. Send and Abandon are required.
//
// A sweep remembers nothing from the last one: what it finds in the table is all that it goes by, so
// it may be broken off at any time, and two of them may run side by side. It deals with a request
// once, also where the store shows its record twice. Redis and SQL have one segment, which every
// sweep reads from its beginning: there Limit has to let one come to the end.
type Sweep struct {
	// Operation of the records; empty for all.
	Operation string

	// Send invokes the function of a record with the event that the record keeps, and waits
	// for its end. What has become of the request is what the record says, not the answer; but an
	// [ErrFunctionFailed] tells a function that has refused it from one that was not reached, and
	// [ErrNoFunction] says that there is none. Invoke with [ClientContext], and where Lambda
	// isolates tenants, with Record.Tenant.
	Send func(ctx context.Context, r Record, event []byte) error

	// Abandon is told of a request that needs somebody to look at it, by each sweep that finds
	// it: by key and version it is known whether that was told before. Where it fails so
	// does the sweep, when all else is done.
	Abandon func(context.Context, Case) error

	// Observe, if set, is told of every stuck request and what has come of it.
	Observe func(context.Context, Case)

	// After is for how long a request is left to its client's own retries, from the end of its
	// last lease, or where there is none from the start of its last run. One that was given up
	// counts as stuck after [Config.PartialAfter] only. Defaults to 5 minutes.
	After time.Duration

	// MaxAge is how long ago the last run may have started. Older requests are abandoned: what
	// was right then need not be now. Defaults to 24 hours.
	MaxAge time.Duration

	// MaxAttempts is after how many runs, the clients' included, a request is abandoned.
	// Defaults to 10.
	MaxAttempts int

	// Reserve is how much of its life a record must have left to be resumed: when it has
	// expired, its request is a new one, and does again what is done. Defaults to 10 minutes.
	Reserve time.Duration

	// SendUnknown sends requests with a step that must run at most once, and that may have
	// happened, too: for functions whose steps all find out by themselves (a Reconcile).
	// Others refuse to run. Defaults to false: they are left to a person.
	SendUnknown bool

	// Limit is how many events are sent at most, one after the other. Defaults to 100.
	Limit int
	// Pause is how long to wait between two of them. Defaults to a second.
	Pause time.Duration
	// Slowest is how long the function may take: nothing is sent later than that before the
	// deadline of the context. Defaults to 30 seconds.
	Slowest time.Duration

	// Part, from 0, of Parts is what this sweep reads of the table. A table that is too large to be
	// read each time is divided, and each sweep takes another part. Defaults to all of it.
	Part, Parts int
	// MaxUnits ends the reading after so many read units. What it leaves is read by later
	// sweeps: each begins somewhere else. Defaults to no limit.
	MaxUnits float64
	// UnitsPerSecond slows the reading down to what the table can spare. Defaults to no limit.
	UnitsPerSecond float64
}

// Fate is what has come of a stuck request.
type Fate string

const (
	// FateEnded is a request that is finished: it was completed, or has failed for good.
	FateEnded Fate = "ended"
	// FateLeft is one that is not, and that is left to the next sweep: it was sent and has not
	// come to its end, or it was not sent for want of time.
	FateLeft Fate = "left"
	// FateChanged is one that somebody else has taken up since it was found.
	FateChanged Fate = "changed"
	// FateAbandoned is one that needs somebody to look at it; Case.Why says why. It is not
	// sent, but for those that were refused, which the next sweep tries again.
	FateAbandoned Fate = "abandoned"
)

// Why a request is abandoned.
const (
	WhyNoEvent    = "no_event"    // its record keeps none: see idempotent.Config.KeepEvent
	WhyAttempts   = "attempts"    // it has run too often
	WhyAge        = "age"         // its last run is too long ago
	WhyExpires    = "expires"     // its record ends too soon
	WhyUnknown    = "unknown"     // it may have done what must not happen twice
	WhyRefused    = "refused"     // its function was asked, and has not touched the record
	WhyUnreadable = "unreadable"  // its record can't be understood
	WhyNoFunction = "no_function" // Send knows none for it: see ErrNoFunction
)

// ErrFunctionFailed is what Send's error wraps where the function was reached, and has failed.
var ErrFunctionFailed = errors.New("records: the function has failed")

// ErrNoFunction is what Send returns for a record whose function it does not know.
var ErrNoFunction = errors.New("records: no function is known for the record")

// Case is a stuck request, and what has come of it.
type Case struct {
	// Record as it was found; as it is now where it was sent.
	Record Record
	Fate   Fate
	// Why it is abandoned; empty for others.
	Why string
	// Err is what went wrong, if anything did.
	Err error
}

// Swept says what a sweep has come to.
type Swept struct {
	// How many stuck requests had each [Fate], and how many were sent.
	Ended     int     `json:"ended"`
	Left      int     `json:"left"`
	Changed   int     `json:"changed"`
	Abandoned int     `json:"abandoned"`
	Sent      int     `json:"sent"`
	Seen      int     `json:"seen"`            // records that were looked at; one that the store shows twice counts twice
	Units     float64 `json:"units,omitempty"` // read units that this has consumed
	// Partly says that not all of the table, or of the part, was read: MaxUnits, Limit or the
	// time has ended the sweep before.
	Partly bool `json:"partly,omitempty"`
}

// Sweep looks for stuck requests, and sends those again that may come to their end by that. Nothing
// runs twice beside a client's own retry, or another sweep: as with [Desk.Resume], it is the
// function's guard that lets one of them run. The error is that of the store, of Abandon, or of
// the context.
func (d *Desk) Sweep(ctx context.Context, s Sweep) (Swept, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return Swept{}, err
	}
	w := &sweeping{Sweep: s, desk: d, dealt: make(shown)}
	err := w.read(ctx)
	return w.swept, errors.Join(append(w.failed, err)...)
}

func (s Sweep) withDefaults() Sweep {
	s.After = cmp.Or(s.After, 5*time.Minute)
	s.MaxAge = cmp.Or(s.MaxAge, 24*time.Hour)
	s.MaxAttempts = cmp.Or(s.MaxAttempts, 10)
	s.Reserve = cmp.Or(s.Reserve, 10*time.Minute)
	s.Limit = cmp.Or(s.Limit, 100)
	s.Pause = cmp.Or(s.Pause, time.Second)
	s.Slowest = cmp.Or(s.Slowest, 30*time.Second)
	s.Parts = cmp.Or(s.Parts, 1)
	return s
}

// mostParts has DynamoDB read a part in so many segments; it takes a million of them.
const mostParts = 1e6 / runs

func (s Sweep) check() error {
	switch {
	case s.Send == nil || s.Abandon == nil:
		return fmt.Errorf("%w: a Sweep needs Send and Abandon", ErrConfig)
	case min(s.After, s.MaxAge, s.Reserve, s.Pause, s.Slowest) < 0, min(s.MaxAttempts, s.Limit) < 0, min(s.MaxUnits, s.UnitsPerSecond) < 0:
		return fmt.Errorf("%w: a limit of the Sweep is negative", ErrConfig)
	case s.Parts < 1 || s.Parts > mostParts || s.Part < 0 || s.Part >= s.Parts:
		return fmt.Errorf("%w: there is no part %d of %d", ErrConfig, s.Part, s.Parts)
	}
	return nil
}

// sweeping is a sweep under way.
type sweeping struct {
	Sweep
	desk   *Desk
	swept  Swept
	dealt  shown   // what is stuck, and was dealt with
	lately float64 // read units of the last page
	failed []error // of Abandon
}

// runs is in how many segments a sweep reads its part. Each begins with another one, and takes
// what is in a page in another order: so what never ends, and what is behind the limits of one
// sweep, keep no sweep after it from the rest.
const runs = 8

// read goes through the records, segment by segment, and deals with those that are stuck.
func (w *sweeping) read(ctx context.Context) error {
	for n, run := range rand.Perm(runs) {
		if n > 0 && !w.goesOn(ctx) {
			return ctx.Err()
		}
		if err := w.segment(ctx, w.Part*runs+run); err != nil || w.swept.Partly {
			return err
		}
	}
	return nil
}

// segment goes through the records of a segment, page by page.
func (w *sweeping) segment(ctx context.Context, n int) error {
	f := Filter{Operation: w.Operation, Stuck: true}
	q := storekit.Query{Prefix: f.prefix(), Statuses: f.statuses(), Segment: n, Segments: w.Parts * runs}
	for {
		page, err := w.desk.page(ctx, f, q)
		if err != nil {
			return err
		}
		w.swept.Seen, w.swept.Units, w.lately = w.swept.Seen+page.Seen, w.swept.Units+page.Units, page.Units
		for _, place := range rand.Perm(len(page.Records)) {
			if !w.inTime(ctx) {
				w.swept.Partly = true
				return ctx.Err()
			}
			if r := page.Records[place]; !w.dealt.before(r) {
				w.told(ctx, w.deal(ctx, r))
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" || !w.goesOn(ctx) {
			return ctx.Err()
		}
	}
}

// goesOn tells whether another page may be read, when it may.
func (w *sweeping) goesOn(ctx context.Context) bool {
	if w.MaxUnits > 0 && w.swept.Units >= w.MaxUnits || !w.inTime(ctx) {
		w.swept.Partly = true
		return false
	}
	return (&reading{filter: Filter{UnitsPerSecond: w.UnitsPerSecond}}).pause(ctx, w.lately)
}

// inTime tells whether another event could be sent.
func (w *sweeping) inTime(ctx context.Context) bool {
	need := w.Slowest
	if w.swept.Sent > 0 {
		need += w.Pause
	}
	deadline, limited := ctx.Deadline()
	return ctx.Err() == nil && w.swept.Sent < w.Limit && (!limited || time.Until(deadline) > need)
}

// told counts a case and tells of it.
func (w *sweeping) told(ctx context.Context, c Case) {
	switch c.Fate {
	case FateEnded:
		w.swept.Ended++
	case FateChanged:
		w.swept.Changed++
	case FateAbandoned:
		w.swept.Abandoned++
		if err := w.Abandon(ctx, c); err != nil {
			w.failed = append(w.failed, fmt.Errorf("records: telling of %s: %w", c.Record.Key, err))
		}
	default:
		w.swept.Left++
	}
	if w.Observe != nil {
		w.Observe(ctx, c)
	}
}
