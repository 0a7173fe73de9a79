package explore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// seen is a store as a process sees it. Its clock may be off: what the process takes
// for now is later, by the true time, than it thinks. And a store keeps nothing from
// one call to the next, so that all that stays of a call is its answer.
type seen struct {
	persistence.Store
	p *Process
	_ [0]func() // makes it incomparable: nothing remembers the guards of millions of executions
}

// Unwrap says whose abilities it has.
func (s seen) Unwrap() persistence.Store { return s.Store }

// Acquire implements [persistence.Store].
func (s seen) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	r, err := s.Store.Acquire(ctx, s.claimed(c))
	s.p.hears(ctx, r, err)
	if err == nil && r.Owner == c.Owner && r.Status == persistence.StatusProcessing {
		s.p.holds(s.own(r).LeaseUntil)
	}
	return s.own(r), err
}

// Renew implements [persistence.Renewer]. It is asked for in a thread of its own. The
// pauses between its tries are of random length: here each lasts until the next second.
func (s seen) Renew(ctx context.Context, l persistence.Lease) error {
	s.p.meet()
	ctx = s.p.on(ctx, renewing)
	if until := s.p.renewsAgain(); !until.IsZero() {
		if end, limited := ctx.Deadline(); limited && !until.Before(end) {
			<-ctx.Done() // which of the two comes first is not left to chance
			return ctx.Err()
		}
		select {
		case <-time.After(time.Until(until)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.p.note(event{thread: renewing, signal: asks, at: s.p.world.now()})
	until := l.Until
	err := s.Store.(persistence.Renewer).Renew(ctx, s.longer(l))
	s.p.hears(ctx, persistence.Record{}, err)
	if err == nil {
		s.p.holds(until)
	} else {
		s.p.failsToRenew()
	}
	return err
}

// longer is a lease by the process's clock.
func (s seen) longer(l persistence.Lease) persistence.Lease {
	l.Until = shift(l.Until, s.p.Skew)
	l.ExpiresAt = shift(l.ExpiresAt, s.p.Skew)
	return l
}

// Read implements [persistence.Reader].
func (s seen) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := s.Store.(persistence.Reader).Read(ctx, key)
	s.p.hears(ctx, r, err)
	return s.own(r), found, err
}

// Room implements [storekit.Sizer].
func (s seen) Room(l persistence.Lease) int { return s.Store.(storekit.Sizer).Room(l) }

// Complete implements [persistence.Store].
func (s seen) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	err := s.Store.Complete(ctx, l, s.ended(o))
	s.p.hears(ctx, persistence.Record{}, err)
	return err
}

// Release implements [persistence.Store].
func (s seen) Release(ctx context.Context, l persistence.Lease) error {
	err := s.Store.Release(ctx, l)
	s.p.hears(ctx, persistence.Record{}, err)
	return err
}

// Checkpoint implements [persistence.Checkpointer].
func (s seen) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	err := s.Store.(persistence.Checkpointer).Checkpoint(ctx, s.longer(l), step, output)
	s.p.hears(ctx, persistence.Record{}, err)
	if err == nil {
		s.p.holds(l.Until)
	}
	return err
}

// CompleteWith implements [storekit.Transactor].
func (s seen) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []storekit.Write) error {
	err := s.Store.(storekit.Transactor).CompleteWith(ctx, l, s.ended(o), writes)
	s.p.hears(ctx, persistence.Record{}, err)
	return err
}

// CheckpointWith implements [storekit.Transactor].
func (s seen) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []storekit.Write) error {
	err := s.Store.(storekit.Transactor).CheckpointWith(ctx, s.longer(l), step, output, writes)
	s.p.hears(ctx, persistence.Record{}, err)
	if err == nil {
		s.p.holds(l.Until)
	}
	return err
}

// CompleteAtOnce implements [storekit.Transactor].
func (s seen) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []storekit.Write) (persistence.Record, error) {
	r, err := s.Store.(storekit.Transactor).CompleteAtOnce(ctx, s.claimed(c), s.ended(o), writes)
	s.p.hears(ctx, r, err)
	return s.own(r), err
}

// Commit implements [storekit.Transactor].
func (s seen) Commit(ctx context.Context, writes []storekit.Write) error {
	err := s.Store.(storekit.Transactor).Commit(ctx, writes)
	s.p.hears(ctx, persistence.Record{}, err)
	return err
}

// claimed is a claim by the process's clock.
func (s seen) claimed(c persistence.Claim) persistence.Claim {
	c.Now = shift(c.Now, s.p.Skew)
	c.LeaseUntil = shift(c.LeaseUntil, s.p.Skew)
	c.ExpiresAt = shift(c.ExpiresAt, s.p.Skew)
	return c
}

// ended is an outcome by the process's clock.
func (s seen) ended(o persistence.Outcome) persistence.Outcome {
	o.ExpiresAt = shift(o.ExpiresAt, s.p.Skew)
	return o
}

// own is a record as the process takes it.
func (s seen) own(r persistence.Record) persistence.Record {
	r.LeaseUntil = shift(r.LeaseUntil, -s.p.Skew)
	r.ExpiresAt = shift(r.ExpiresAt, -s.p.Skew)
	return r
}

// shift moves an instant, unless it is none.
func shift(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

// note adds to what a process has seen.
func (p *Process) note(e event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = append(p.past, e)
}

// hears ends a call of a store: its answer takes the place of all that a thread has seen
// on the way to it.
func (p *Process) hears(ctx context.Context, r persistence.Record, err error) {
	if p.world.bounds.Full {
		return
	}
	t := p.thread(ctx)
	e := event{thread: t.number, signal: answered, at: p.world.now(), reply: reply{record: record{r, r.Key != ""}}}
	if err != nil {
		e.failure = err.Error()
	}
	if settled, ok := errors.AsType[*persistence.SettledError](err); ok {
		e.reply.record = record{settled.Record, true}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = append(slices.DeleteFunc(slices.Clone(p.past), func(e event) bool { return e.thread == t.number && e.signal.ofStore() }), e)
}

// ofStore tells whether a signal tells of a request.
func (s signal) ofStore() bool {
	switch s {
	case arrived, lost, silence, refused, gaveUp, asks:
		return true
	default:
		return false
	}
}
