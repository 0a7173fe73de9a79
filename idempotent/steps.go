package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// open opens the journal of the call: that of its steps, if the guard declares any. The
// error says that the record has what the guard does not understand.
func (t *tenure) open() error {
	g, r := t.guard, t.record
	c := &t.call
	g.beginCalling(c, r.Key, r.Attempt)
	if g.config.Steps == nil {
		t.journal = (*stepless)(t)
		if len(r.Steps) > 0 {
			t.undeclared = slices.Min(slices.Collect(maps.Keys(r.Steps)))
			return &ConfigError{Field: "Steps", Problem: fmt.Sprintf("declares none, and an earlier attempt of %s has recorded %q", r.Key, t.undeclared), stuck: true}
		}
		t.calling = c
		return nil
	}
	j, err := g.config.Steps.Open(journal.Call{
		Engine:    &lent{guard: g, budget: t.budget, hold: &t.hold, calling: c},
		Key:       r.Key,
		Tokens:    r.Key,
		Record:    r,
		Recorded:  true,
		FailsOpen: g.config.FailOpen,
	})
	t.journal = j
	if err == nil {
		c.journal, t.calling = j, c
	}
	return err
}

// openUnrecorded opens the journal of a run without a record: its steps run unprotected, and
// are undone from memory. Their tokens are made of the key where it is known; else of a
// random one, which no other request shares.
func (g *Guard) openUnrecorded(b budget, c *calling) journal.Journal {
	if g.config.Steps == nil {
		return new(stepless)
	}
	l := &lent{guard: g, budget: b, calling: c, limit: b.settleUntil}
	if l.limit.IsZero() {
		l.limit = wallClock().Add(longestRun)
	}
	call := journal.Call{Engine: l, Key: c.Key, Tokens: c.Key, FailsOpen: g.config.FailOpen}
	if c.Key == "" {
		call.Tokens = rand.Text()
	}
	j, err := g.config.Steps.Open(call)
	if err != nil { // there is nothing that could be wrong
		panic(err)
	}
	c.journal = j
	return j
}

// lent is what the engine lends to the journal of a call.
type lent struct {
	guard   *Guard
	budget  budget
	hold    *hold     // on the record; nil where there is none
	limit   time.Time // when everything must be over where there is none
	calling *calling
}

// Ready implements [journal.Engine].
func (l *lent) Ready(ctx context.Context) error {
	switch {
	case l.hold != nil:
		return l.hold.check(ctx)
	case ctx.Err() != nil:
		return &NotStartedError{Key: l.calling.Key, Err: ctx.Err()}
	case !wallClock().Before(l.limit):
		return &NotStartedError{Key: l.calling.Key, Err: context.DeadlineExceeded}
	}
	return nil
}

// Hold implements [journal.Engine].
func (l *lent) Hold(ctx context.Context) (held context.Context, stop func()) {
	ctx = l.calling.within(context.WithoutCancel(ctx))
	if l.hold != nil {
		return l.hold.keep(ctx)
	}
	return context.WithDeadline(ctx, l.limit)
}

// Enlist implements [journal.Engine].
func (l *lent) Enlist(ctx context.Context) (context.Context, *storekit.Enlistment) {
	return l.guard.enlisting(ctx)
}

// Keep implements [journal.Engine].
func (l *lent) Keep(ctx context.Context, lease persistence.Lease, name string, stored []byte, writes []storekit.Write) error {
	settling, cancel := l.budget.settling(ctx)
	defer cancel()
	if l.hold == nil {
		if len(writes) == 0 {
			return nil
		}
		return l.guard.transactor.Commit(settling, writes)
	}
	lease.Until = l.hold.extended()
	var err error
	if len(writes) == 0 {
		err = l.guard.checkpointer.Checkpoint(settling, lease, name, stored)
	} else {
		err = l.guard.transactor.CheckpointWith(settling, lease, name, stored, writes)
	}
	switch {
	case err == nil:
		l.hold.confirm(lease.Until)
	case errors.Is(err, persistence.ErrLeaseLost):
		l.hold.lose(&LeaseLostError{Key: l.calling.Key, Err: err})
	}
	return err
}

// Room implements [journal.Engine].
func (l *lent) Room(lease persistence.Lease) (int, bool) {
	if l.hold == nil || l.guard.sizer == nil {
		return 0, false
	}
	return l.guard.sizer.Room(lease), true
}

// Part implements [journal.Engine].
func (l *lent) Part(ctx context.Context, kind, step string, part func(context.Context) error) error {
	return l.guard.during(ctx, l.event(kind, step, nil), part)
}

// Report implements [journal.Engine].
func (l *lent) Report(ctx context.Context, kind, step string, err error) {
	l.guard.reportWithin(ctx, l.event(kind, step, err))
}

func (l *lent) event(kind, step string, err error) Event {
	return Event{Kind: EventKind(kind), Key: l.calling.Key, Step: step, Attempt: l.calling.Attempt, Err: err}
}

// Final implements [journal.Engine].
func (l *lent) Final(err error) ([]byte, bool) { return recordable(err) }

// stepless is the journal of a call whose guard declares no steps.
type stepless tenure

// Begin implements [journal.Journal].
func (s *stepless) Begin(ctx context.Context, _ *storekit.Enlistment) (context.Context, func()) {
	return ctx, func() {}
}

// Lease implements [journal.Journal].
func (s *stepless) Lease() persistence.Lease { return s.record.Lease() }

// Backward implements [journal.Journal].
func (s *stepless) Backward() bool { return false }

// Settle implements [journal.Journal].
func (s *stepless) Settle(_ context.Context, err error) error { return err }

// GiveUp implements [journal.Journal].
func (s *stepless) GiveUp(context.Context) {}

// Kept implements [journal.Journal].
func (s *stepless) Kept() []string { return nil }

// Unfinished implements [journal.Journal]: a record that has steps is stuck.
func (s *stepless) Unfinished(err error, _ []string) (*journal.Stuck, error) {
	if s.undeclared == "" {
		return nil, err
	}
	return &journal.Stuck{Step: s.undeclared, Err: err}, err
}
