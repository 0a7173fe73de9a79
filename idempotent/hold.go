package idempotent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
)

// hold is a run's hold on its record: the lease, as far as the store has confirmed it,
// and what makes it longer while the run is alive. Everything that may only happen under
// the lease asks it first. Safe for concurrent use.
type hold struct {
	guard  *Guard
	lease  persistence.Lease // of the record as it was acquired
	budget budget

	renewing  sync.Mutex // by one at a time: the function may have its call undone meanwhile
	mu        sync.Mutex
	confirmed time.Time // the end of the lease that the store has confirmed last
	lost      error     // the owner has learnt that it was superseded
}

// begin begins the hold of a record that has been acquired.
func (h *hold) begin(g *Guard, r persistence.Record, b budget) {
	h.guard, h.lease, h.budget, h.confirmed = g, r.Lease(), b, r.LeaseUntil
}

// leaseEnd returns until when a claim that is made now wants to be alone. Where leases
// are renewed that is no longer than a dead run may lock its key; otherwise it is as
// long as the run can take.
func (g *Guard) leaseEnd(now time.Time, b budget) time.Time {
	end := now.Add(g.config.Lease)
	if !b.deadline.IsZero() {
		if whole := b.deadline.Add(g.config.ClockSkew); g.renewer == nil || whole.Before(end) {
			end = whole
		}
	}
	if least := now.Add(g.config.MinLease); end.Before(least) {
		end = least
	}
	return ceil(end, time.Millisecond)
}

// until returns when everything that needs the lease must be over: before its end by any
// clock within the allowance, and in time to record what came of it. Zero is no limit.
func (h *hold) until() time.Time {
	until := h.end().Add(-h.guard.config.ClockSkew)
	if !h.budget.runUntil.IsZero() {
		until = earlier(until, h.budget.runUntil)
	}
	return until
}

// check tells whether anything may start now: the owner has not learnt that it was
// superseded, and its time is not over by any clock within the allowance. That keeps a
// superseded owner from its next step without having to ask the store. An environment
// may have been frozen since the store answered, and the timers of its contexts need
// not have fired yet: so the clock is read each time.
func (h *hold) check(ctx context.Context) error {
	h.mu.Lock()
	lost := h.lost
	h.mu.Unlock()
	if lost != nil {
		return lost
	}
	err := ctx.Err()
	if err == nil && !wallClock().Before(h.until()) {
		err = context.DeadlineExceeded
	}
	if err != nil {
		return &NotStartedError{Key: h.lease.Key, Err: err}
	}
	return nil
}

// lose notes that the store says that somebody else owns the record.
func (h *hold) lose(lost error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		h.lost = lost
	}
}

// renews tells whether the run may outlast its lease, and so has to renew it.
func (h *hold) renews() bool {
	return h.guard.renewer != nil && h.endsBefore(h.end())
}

// endsBefore tells whether a lease with that end is over, by the fastest clock, before the
// function's time is.
func (h *hold) endsBefore(end time.Time) bool {
	until := h.budget.runUntil
	return until.IsZero() || end.Add(-h.guard.config.ClockSkew).Before(until)
}

// due is when a lease with that end is renewed: when half of it is over, or earlier where the
// clocks' allowance takes so much of it that there would be little time left for trying.
func (h *hold) due(end time.Time) time.Time {
	lease, skew := h.guard.config.Lease, h.guard.config.ClockSkew
	return earlier(end.Add(-lease/2), end.Add(-skew-(lease-skew)/4))
}

// extended is the end that the lease would have if it was renewed now; zero where
// leases are not renewed. A checkpoint that carries it renews the lease for free.
func (h *hold) extended() time.Time {
	if !h.renews() {
		return time.Time{}
	}
	return h.guard.leaseEnd(wallClock(), h.budget)
}

// end is when the confirmed lease ends.
func (h *hold) end() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.confirmed
}

// confirm notes that the store has made the lease longer.
func (h *hold) confirm(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.confirmed) {
		h.confirmed = until
	}
}

// keep returns the context of the function, which ends with the hold, and renews the
// lease for as long as the function runs. Call stop when it is over: it returns when
// nothing is renewed any more. A store or an observer that panics there does so in stop.
func (h *hold) keep(ctx context.Context) (held context.Context, stop func()) {
	if !h.renews() {
		return context.WithDeadline(ctx, h.until())
	}
	limit, endLimit := h.budget.running(ctx)
	held, cancel := context.WithCancelCause(limit)
	over := make(chan relay.Ending, 1)
	// Most functions return before their lease has to be renewed: they have no goroutine beside them.
	due := time.AfterFunc(h.due(h.end()).Sub(wallClock()), func() {
		relay.Go(func() {
			if err := h.renewAll(held); err != nil {
				cancel(err)
			}
		}, func(e relay.Ending) {
			if !e.Returned() {
				cancel(errUnwound) // nobody renews the lease any more
			}
			over <- e
		})
	})
	return held, func() {
		cancel(context.Canceled)
		defer endLimit()
		if !due.Stop() {
			(<-over).Repeat()
		}
	}
}

// renewAll renews the lease each time that half of it is over, until the context ends or
// the lease reaches past the function's time. It returns why the hold is over, if it is:
// the record is somebody else's, or the table could not be reached for as long as the
// confirmed lease lasted.
func (h *hold) renewAll(ctx context.Context) error {
	for end := h.end(); h.endsBefore(end); end = h.end() {
		if pauseUntil(ctx, h.due(end)) != nil {
			return nil //nolint:nilerr // the function is over
		}
		if h.end().After(end) {
			continue // a checkpoint has renewed it meanwhile
		}
		if err := h.renew(ctx, end); err != nil {
			return err
		}
	}
	return nil
}

// renew makes the lease that ends then longer. It tries until that is over: there is
// nothing else to be done about a table that can't be reached.
func (h *hold) renew(ctx context.Context, end time.Time) error {
	over := end.Add(-h.guard.config.ClockSkew)
	trying, cancel := context.WithDeadline(ctx, over)
	defer cancel()
	if !h.renewing.TryLock() {
		_ = pauseUntil(ctx, wallClock().Add(firstPoll))
		return nil // somebody else is at it
	}
	defer h.renewing.Unlock()
	for pause := firstPoll; ; pause = min(2*pause, longestPoll) {
		err := errLeaseOver
		if now := wallClock(); now.Before(over) {
			until := h.guard.leaseEnd(now, h.budget)
			if err = h.sendRenewal(trying, until); err == nil {
				h.confirm(until)
				h.guard.reportWithin(ctx, Event{Kind: EventRenewed, Key: h.lease.Key})
				return nil
			}
		}
		switch {
		case ctx.Err() != nil, h.end().After(end):
			return nil // the function is over, or a checkpoint got through
		case errors.Is(err, persistence.ErrLeaseLost):
			lost := &LeaseLostError{Key: h.lease.Key, Err: err}
			h.lose(lost)
			return lost
		case !wallClock().Before(over):
			h.guard.reportWithin(ctx, Event{Kind: EventStoreFailed, Key: h.lease.Key,
				Err: &StoreError{Op: "renew", Key: h.lease.Key, Retryable: persistence.Retryable(err), Err: err}})
			return errors.Join(errLeaseOver, err)
		}
		_ = pauseUntil(trying, wallClock().Add(pause/2+jitter(pause/2)))
	}
}

// sendRenewal bounds one renewal: one that hangs must leave time for another.
func (h *hold) sendRenewal(ctx context.Context, until time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, h.budget.storeTimeout)
	defer cancel()
	lease := h.lease
	lease.Until = until
	return h.guard.renewer.Renew(ctx, lease)
}

// errLeaseOver says that a lease could not be renewed in time.
var errLeaseOver = errors.New("idempotent: the lease is over, and could not be renewed")

// pauseUntil waits for an instant of the wall clock. The error says that the context
// ended first.
func pauseUntil(ctx context.Context, at time.Time) error {
	timer := time.NewTimer(at.Sub(wallClock()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
