package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/idempotent/internal/origin"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// once is a call whose only effects are the writes that it enlists, in the short form
// of the protocol: the function runs without a record, and what comes of it commits in
// one transaction, where the record is vacant.
type once struct {
	guard    *Guard
	claim    persistence.Claim
	effect   effect
	enlisted *storekit.Enlistment
	budget   budget
	calling  *calling
	// leaseUntil is when a lease would end that was given when the call began.
	leaseUntil time.Time
	elapsed    time.Duration       // of the function
	expires    time.Time           // of the outcome, once it is recorded
	sent       persistence.Outcome // last
}

// callOnce takes a call through the short form. It is not settled where the record is
// neither vacant nor finished: then nothing has happened, and the long form decides.
func (g *Guard) callOnce(ctx context.Context, b budget, id identity, run body) (answer *replayed, settled bool, err error) {
	o := &once{guard: g, budget: b, claim: persistence.Claim{Key: id.key, Owner: rand.Text(), Fingerprint: id.fingerprint, Run: runOf(ctx)}}
	g.lookAhead(ctx, b)
	if err := g.date(ctx, b, &o.claim); err != nil {
		return nil, true, err
	}
	o.leaseUntil = o.claim.LeaseUntil
	record, finished, looked := g.foundAhead(o.claim)
	if finished {
		return o.answer(ctx, record, nil)
	}
	if g.config.ReadFirst && !looked {
		if record, finished := g.look(ctx, b, o.claim); finished {
			return o.answer(ctx, record, nil)
		}
	}
	if err := o.run(ctx, run); err != nil {
		return o.fail(ctx, err)
	}
	writes := o.enlisted.Close()
	record, err = o.commit(ctx, persistence.StatusCompleted, writes)
	switch {
	case err == nil:
		g.claimed(o.claim, record)
		return o.answer(ctx, record, nil)
	case journal.Unwritten(err):
		return o.fail(ctx, uncommitted(id.key, err, DoneNothing))
	}
	o.report(ctx, EventNotStored, err)
	if g.config.FailOpen && len(writes) == 0 {
		return nil, true, nil
	}
	failed := notCompleted(id.key, o.effect.result, err)
	failed.told = Verdict{Done: DoneMaybe, Retry: true, After: askAgain, Code: CodeNotStored}
	return nil, true, failed
}

// run runs the function. There is no lease; it has the time that a lease would give.
func (o *once) run(ctx context.Context, run body) error {
	if err := o.budget.late(ctx, o.claim.Key); err != nil {
		return err // the environment may have been frozen while it looked
	}
	o.calling = o.guard.newCalling(o.claim.Key, 1)
	ctx, cancel := context.WithDeadline(o.calling.within(ctx), o.until())
	defer cancel()
	if !wallClock().Before(o.until()) {
		return &NotStartedError{Key: o.claim.Key, Err: context.DeadlineExceeded}
	}
	ctx, o.enlisted = o.guard.enlisting(ctx)
	defer o.enlisted.Close()
	started := time.Now()
	err := o.guard.during(ctx, Event{Kind: EventRun, Key: o.claim.Key, Attempt: 1}, func(ctx context.Context) error {
		return origin.PassOn(run(ctx, &o.effect), o.claim.Key)
	})
	o.elapsed = time.Since(started)
	o.guard.shared.took(o.elapsed)
	return err
}

// until is when the function has to be over.
func (o *once) until() time.Time {
	until := o.end()
	if !o.budget.runUntil.IsZero() {
		until = earlier(until, o.budget.runUntil)
	}
	return until
}

// end is when the time of the call is over. There is no lease to lose, but another run's
// record may have come and gone by then.
func (o *once) end() time.Time { return o.leaseUntil.Add(-o.guard.config.ClockSkew) }

// fail records a failure for good. Any other leaves nothing behind, and is the answer
// only where the record is not finished: a duplicate may have failed because of what
// the run that it duplicates has committed.
func (o *once) fail(ctx context.Context, cause error) (*replayed, bool, error) {
	stored, permanent := recordable(cause)
	if !permanent {
		o.claim.Now = wallClock()
		if record, finished := o.guard.look(ctx, o.budget, o.claim); finished {
			return o.answer(ctx, record, nil)
		}
		o.report(ctx, released(cause), cause)
		return nil, true, cause
	}
	o.effect = effect{result: stored}
	record, err := o.commit(ctx, persistence.StatusFailed, nil)
	if err != nil {
		o.report(ctx, EventNotStored, err)
		return nil, true, cause
	}
	return o.answer(ctx, record, cause)
}

// commit commits the outcome and the writes. The clock is read now: only now is it
// decided whether the record is vacant.
func (o *once) commit(ctx context.Context, status persistence.Status, writes []storekit.Write) (persistence.Record, error) {
	now := wallClock()
	if !now.Before(o.end()) {
		return persistence.Record{}, &persistence.Fault{Op: "complete", Retryable: true, Unwritten: true, Err: context.DeadlineExceeded}
	}
	outcome := o.guard.outcome(status, o.effect, now)
	o.claim.Now, o.claim.LeaseUntil, o.claim.ExpiresAt = now, ceil(now.Add(1), time.Millisecond), outcome.ExpiresAt
	settling, cancel := o.budget.settling(o.calling.within(ctx))
	defer cancel()
	defer func() { o.sent = outcome }()
	record, err := o.guard.transactor.CompleteAtOnce(settling, o.claim, outcome, writes)
	if errors.Is(err, persistence.ErrTooLarge) && !outcome.ResultOmitted {
		o.effect.omit, outcome.ResultOmitted = err, true
		record, err = o.guard.transactor.CompleteAtOnce(settling, o.claim, outcome, writes)
	}
	return record, err
}

// answer answers from the record that holds the key now. Its own has the error that
// was the cause of it, if there is one; but where an earlier try of its own has come first,
// with another outcome, that one is the answer.
func (o *once) answer(ctx context.Context, record persistence.Record, cause error) (*replayed, bool, error) {
	if record.Owner == o.claim.Owner && o.sent.Recorded(record) {
		o.expires = record.ExpiresAt
		if o.effect.omit != nil {
			o.report(ctx, EventNotStored, o.effect.omit)
		} else {
			o.report(ctx, EventExecuted, cause)
		}
		return nil, true, cause
	}
	if !record.Status.Finished() {
		return nil, false, nil
	}
	if err := refusal(o.claim, record); err != nil {
		o.guard.report(ctx, Event{Kind: kindOf(err), Key: o.claim.Key, Attempt: record.Attempt, Err: err})
		return nil, true, err
	}
	answer, err := o.guard.replay(ctx, record, nil)
	return answer, true, err
}

func (o *once) report(ctx context.Context, kind EventKind, err error) {
	o.guard.report(ctx, Event{Kind: kind, Key: o.claim.Key, Attempt: 1, Elapsed: o.elapsed, ExpiresAt: o.expires, Err: err})
}
