package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Config says how records are judged and settled. The zero value is ready to use.
type Config struct {
	// PartialAfter is how long a request may stay given up after some of its steps before it
	// counts as stuck, counted from the start of its last run. Defaults to 15 minutes.
	PartialAfter time.Duration

	// Margin is by how much the operator's clock may be ahead of those of the functions:
	// what has ended more recently counts as live. Defaults to 10 seconds.
	Margin time.Duration

	// Hold is for how long a record that is being settled is locked, should the operator's
	// process die meanwhile. Defaults to 30 seconds.
	Hold time.Duration

	// TTL is how long an outcome that is settled by hand is replayed. Defaults to 24 hours.
	TTL time.Duration

	// EndedExecution is the ARN of a durable execution that is known to be over, since the
	// service says so: its records have the lease of an execution still, which may last for
	// a year, and count as those of a run that died. Defaults to none.
	EndedExecution string

	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.PartialAfter = cmp.Or(c.PartialAfter, 15*time.Minute)
	c.Margin = cmp.Or(c.Margin, 10*time.Second)
	c.Hold = cmp.Or(c.Hold, 30*time.Second)
	c.TTL = cmp.Or(c.TTL, 24*time.Hour)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func (c Config) check() error {
	if min(c.PartialAfter, c.Margin, c.Hold) < 0 || c.TTL < time.Second {
		return fmt.Errorf("%w: PartialAfter, Margin and Hold must not be negative, and TTL at least a second", ErrConfig)
	}
	return nil
}

// ErrConfig matches every fault that [New] finds in a store or a Config.
var ErrConfig = errors.New("records: invalid configuration")

// Desk is where an operator looks at records and settles them. Safe for concurrent use.
type Desk struct {
	store  persistence.Store // with all its fronts
	fronts []persistence.Store
	lister storekit.Lister
	reader persistence.Reader
	forget storekit.Forgetter
	config Config
}

// New returns a desk for the records of a store, which is the functions' own, with its fronts.
// The error matches [ErrConfig] for a config that makes no sense, and [errors.ErrUnsupported]
// for a store that has no [storekit.Lister] behind its fronts.
func New(store persistence.Store, config Config) (*Desk, error) {
	if store == nil {
		return nil, fmt.Errorf("%w: no store", ErrConfig)
	}
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	d := &Desk{store: store, config: config}
	behind := store
	for {
		front, ok := behind.(interface{ Unwrap() persistence.Store })
		if !ok {
			break
		}
		d.fronts = append(d.fronts, behind)
		behind = front.Unwrap()
	}
	if memory, ok := behind.(*persistence.Memory); ok {
		d.lister = memoryLister{memory}
	} else {
		d.lister, _ = behind.(storekit.Lister)
	}
	d.reader, _ = behind.(persistence.Reader)
	d.forget, _ = behind.(storekit.Forgetter)
	if d.lister == nil || d.reader == nil || d.forget == nil {
		return nil, fmt.Errorf("%w: the records of %T can't be listed, read or forgotten: %w", ErrConfig, behind, errors.ErrUnsupported)
	}
	return d, nil
}

// Show returns the record of a key as it is, with the sizes of its result and its event, and
// their contents hidden. [*NotFoundError] where there is none.
func (d *Desk) Show(ctx context.Context, key string) (Record, error) {
	r, found, err := d.reader.Read(ctx, key)
	switch {
	case errors.Is(err, persistence.ErrUnreadable):
		return d.config.unreadable(storekit.Unreadable{Key: key, Err: err}, d.config.Now()), nil
	case err != nil:
		return Record{}, err
	case !found:
		return Record{}, &NotFoundError{Key: key}
	}
	return d.config.shown(r, d.config.Now()), nil
}

// shown is view with the values that a list leaves out, unopened.
func (c Config) shown(r persistence.Record, now time.Time) Record {
	v := c.view(r, now)
	switch {
	case r.ResultOmitted:
		v.Result = &Value{Omitted: true}
	case r.Status.Finished():
		v.Result = valueOf(r.Result)
	}
	if len(r.Event) > 0 {
		v.Event = valueOf(r.Event)
	}
	return v
}

// Open returns a record that was shown with all its values: the result, the outputs of the
// steps, and the event, taken out of their envelopes. What is in them may be nobody else's
// business; it is for the caller to ask who asks. A record that can't be understood has none that
// could be told apart: it stays as it was shown.
func (d *Desk) Open(ctx context.Context, shown Record) (Record, error) {
	if shown.Unreadable != "" {
		return shown, nil
	}
	r, err := d.opened(ctx, shown)
	if err != nil {
		return Record{}, err
	}
	v := d.config.shown(r, shown.ShownAt)
	if v.Result != nil && !v.Result.Omitted {
		v.Result.Content = append([]byte{}, r.Result...)
	}
	if v.Event != nil {
		v.Event.Content = r.Event
	}
	for n, step := range v.Steps {
		if step.Output != nil && !step.Output.Omitted {
			v.Steps[n].Output.Content = step.entry.Output
		}
	}
	if v.Undoing != nil {
		v.Undoing.open()
	}
	v.stored, v.Version = shown.stored, shown.Version
	return v, nil
}

// opened is a record that was shown, without the envelopes that the fronts have made.
func (d *Desk) opened(ctx context.Context, shown Record) (r persistence.Record, err error) {
	r = shown.stored.Clone()
	for _, behind := range slices.Backward(d.fronts) {
		front, ok := behind.(storekit.Opener)
		if !ok {
			continue
		}
		if r, err = front.Open(ctx, r); err != nil {
			return r, err
		}
	}
	return r, nil
}

// foreign is the form of an envelope in an opened record that no front of this desk's store has
// made; empty where there is none.
func foreign(opened persistence.Record) string {
	for _, value := range append(slices.Collect(maps.Values(opened.Steps)), opened.Event) {
		if form, _, ok := storekit.OpenEnvelope(value); ok {
			return form
		}
	}
	return ""
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
