package explore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
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
	since := s.p.calls()
	r, err := s.Store.Acquire(ctx, s.claimed(c))
	s.p.hears(since, r, err)
	return s.own(r), err
}

// Read implements [persistence.Reader].
func (s seen) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	since := s.p.calls()
	r, found, err := s.Store.(persistence.Reader).Read(ctx, key)
	s.p.hears(since, r, err)
	return s.own(r), found, err
}

// Complete implements [persistence.Store].
func (s seen) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	since := s.p.calls()
	err := s.Store.Complete(ctx, l, s.ended(o))
	s.p.hears(since, persistence.Record{}, err)
	return err
}

// Release implements [persistence.Store].
func (s seen) Release(ctx context.Context, l persistence.Lease) error {
	since := s.p.calls()
	err := s.Store.Release(ctx, l)
	s.p.hears(since, persistence.Record{}, err)
	return err
}

// Checkpoint implements [persistence.Checkpointer].
func (s seen) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	since := s.p.calls()
	err := s.Store.(persistence.Checkpointer).Checkpoint(ctx, l, step, output)
	s.p.hears(since, persistence.Record{}, err)
	return err
}

// CompleteWith implements [persistence.Transactor].
func (s seen) CompleteWith(ctx context.Context, l persistence.Lease, o persistence.Outcome, writes []persistence.Write) error {
	since := s.p.calls()
	err := s.Store.(persistence.Transactor).CompleteWith(ctx, l, s.ended(o), writes)
	s.p.hears(since, persistence.Record{}, err)
	return err
}

// CheckpointWith implements [persistence.Transactor].
func (s seen) CheckpointWith(ctx context.Context, l persistence.Lease, step string, output []byte, writes []persistence.Write) error {
	since := s.p.calls()
	err := s.Store.(persistence.Transactor).CheckpointWith(ctx, l, step, output, writes)
	s.p.hears(since, persistence.Record{}, err)
	return err
}

// CompleteAtOnce implements [persistence.Transactor].
func (s seen) CompleteAtOnce(ctx context.Context, c persistence.Claim, o persistence.Outcome, writes []persistence.Write) (persistence.Record, error) {
	since := s.p.calls()
	r, err := s.Store.(persistence.Transactor).CompleteAtOnce(ctx, s.claimed(c), s.ended(o), writes)
	s.p.hears(since, r, err)
	return s.own(r), err
}

// Commit implements [persistence.Transactor].
func (s seen) Commit(ctx context.Context, writes []persistence.Write) error {
	since := s.p.calls()
	err := s.Store.(persistence.Transactor).Commit(ctx, writes)
	s.p.hears(since, persistence.Record{}, err)
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

// calls begins a call of a store.
func (p *Process) calls() (since int) { return len(p.past) }

// hears ends it: the answer takes the place of all that was seen since.
func (p *Process) hears(since int, r persistence.Record, err error) {
	if p.world.bounds.Full {
		return
	}
	e := event{signal: answered, at: p.world.now(), reply: reply{record: record{r, r.Key != ""}}}
	if err != nil {
		e.failure = err.Error()
	}
	if settled, ok := errors.AsType[*persistence.SettledError](err); ok {
		e.reply.record = record{settled.Record, true}
	}
	p.past = append(slices.Clip(p.past[:since]), e)
}
