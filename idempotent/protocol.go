package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/persistence"
)

// identity is what a call is recognised by, fixed before anything runs: what the
// function does to its event later changes neither.
type identity struct {
	key         string
	fingerprint string
}

// effect is what a run of the guarded function leaves behind.
type effect struct {
	// done says that the function has returned, and returned no error. Whatever
	// happens from then on, it must not run again.
	done bool
	// result is what a duplicate gets.
	result []byte
	// omit is why the result can't be stored, if it can't.
	omit error
}

// body runs the guarded function and fills in its effect. Its error is the
// function's own.
type body func(context.Context, *effect) error

// replayed is an answer from a finished record.
type replayed struct {
	key    string
	result []byte
}

// call takes one call through the protocol. It returns the stored answer, or nil
// where the function ran and the caller has its own answer in hand.
func (g *Guard) call(ctx context.Context, identify func() (identity, error), run body) (*replayed, error) {
	if name, off := disabled(); off {
		return nil, g.unprotected(ctx, "", fmt.Errorf("%s is set", name), run)
	}
	id, err := identify()
	if err != nil {
		refused := &KeyError{Operation: g.config.Operation, Err: err}
		if errors.Is(err, errNoKey) && g.config.OnMissingKey == RunUnprotected {
			return nil, g.unprotected(ctx, "", refused, run)
		}
		return nil, refused
	}
	claim := persistence.Claim{
		Key:          id.key,
		Owner:        rand.Text(),
		Fingerprint:  id.fingerprint,
		OnEndedLease: g.config.OnEndedLease,
	}
	record, err := g.acquire(ctx, &claim)
	switch {
	case err == nil && owns(claim, record):
		return nil, g.execute(ctx, record, run)
	case err == nil:
		return g.replay(ctx, record)
	case g.failsOpen(ctx, err):
		return nil, g.unprotected(ctx, id.key, err, run)
	default:
		return nil, err
	}
}

// errNoKey marks a payload in which the key is missing, as opposed to one that
// can't be understood, or lacks the fingerprint.
var errNoKey = errors.New("the key is missing")

// identifyPayload finds key and fingerprint of a JSON payload.
func (g *Guard) identifyPayload(payload []byte) (identity, error) {
	key, err := g.config.Key.Key(g.config.Operation, payload)
	if errors.Is(err, idempotency.ErrMissing) {
		return identity{}, fmt.Errorf("%w: %w", errNoKey, err)
	}
	if err != nil {
		return identity{}, err
	}
	if g.config.Fingerprint == nil {
		return identity{key: key}, nil
	}
	fingerprint, err := g.config.Fingerprint.Fingerprint(payload)
	if err != nil {
		return identity{}, fmt.Errorf("fingerprint: %w", err)
	}
	return identity{key: key, fingerprint: fingerprint}, nil
}

func owns(c persistence.Claim, r persistence.Record) bool {
	return r.Owner == c.Owner && r.Status == persistence.StatusProcessing
}

// acquire claims the record until it is the caller's, or finished, or the caller
// has waited long enough. What comes back without an error is either owned or a
// finished record of the same payload.
func (g *Guard) acquire(ctx context.Context, c *persistence.Claim) (persistence.Record, error) {
	for wait := g.newWait(); ; {
		if err := g.date(ctx, c); err != nil {
			return persistence.Record{}, err
		}
		record, err := g.meet(ctx, *c, wait.polling())
		if err != nil {
			return record, err
		}
		err = refusal(*c, record)
		switch {
		case err == nil:
			wait.report(ctx, g, record)
			return record, nil
		case errors.Is(err, ErrInProgress) && wait.next(ctx):
			continue
		}
		wait.report(ctx, g, record)
		g.report(ctx, Event{Kind: kindOf(err), Key: c.Key, Attempt: record.Attempt, Err: err})
		return record, err
	}
}

// date reads the clock, once, and fixes lease and expiry by it.
func (g *Guard) date(ctx context.Context, c *persistence.Claim) error {
	if err := ctx.Err(); err != nil {
		return &NotStartedError{Key: c.Key, Err: err}
	}
	now := wallClock()
	end := now.Add(g.config.Lease)
	if deadline, ok := ctx.Deadline(); ok {
		if !deadline.After(now) {
			return &NotStartedError{Key: c.Key, Err: context.DeadlineExceeded}
		}
		end = deadline.Add(g.config.ClockSkew)
	}
	if least := now.Add(g.config.MinLease); end.Before(least) {
		end = least
	}
	c.Now = now
	c.ExpiresAt = g.expiry(now)
	c.LeaseUntil = earlier(ceil(end, time.Millisecond), c.ExpiresAt)
	return nil
}

// wallClock is the time without Go's monotonic reading. That one stands still
// while an environment is frozen, and the deadlines it is compared with have
// none.
func wallClock() time.Time { return time.Now().Round(0) }

// expiry is when a record written at now expires.
func (g *Guard) expiry(now time.Time) time.Time {
	return ceil(now.Add(g.config.TTL), time.Second)
}

func ceil(t time.Time, unit time.Duration) time.Time {
	if whole := t.Truncate(unit); whole.Before(t) {
		return whole.Add(unit)
	}
	return t
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// meet finds out who holds the record, by claiming it or, where that may save a
// write, by looking first.
func (g *Guard) meet(ctx context.Context, c persistence.Claim, polling bool) (persistence.Record, error) {
	if g.reader != nil && (g.config.ReadFirst || polling) {
		record, found, err := g.reader.Read(ctx, c.Key)
		if err != nil {
			return record, g.storeError(ctx, "read", c.Key, err)
		}
		settled := found && record.Status.Finished() && !record.Expired(c.Now)
		running := found && record.LeaseLive(c.Now)
		if settled || polling && running {
			return record, nil
		}
	}
	record, err := g.store.Acquire(ctx, c)
	if err != nil {
		return record, g.notAcquired(ctx, c, err)
	}
	return record, nil
}

// notAcquired gives up a claim whose fate is not known. If it was applied and
// only the reply is lost, nobody but this caller knows the owner, and its own
// retry would be locked out until the lease is over.
func (g *Guard) notAcquired(ctx context.Context, c persistence.Claim, err error) error {
	failed := g.storeError(ctx, "acquire", c.Key, err)
	if persistence.Retryable(err) && g.config.OnStoreFault == FailClosed {
		g.release(ctx, c.Fresh(), Event{Err: failed})
	}
	return failed
}

func (g *Guard) storeError(ctx context.Context, op, key string, err error) *StoreError {
	failed := &StoreError{Op: op, Key: key, Retryable: persistence.Retryable(err), Err: err}
	g.report(ctx, Event{Kind: StoreFailed, Key: key, Err: failed})
	return failed
}

// failsOpen tells whether the function may run although its record could not be
// acquired: by choice, with time left, and not where the store did answer.
func (g *Guard) failsOpen(ctx context.Context, err error) bool {
	return g.config.OnStoreFault == FailOpen &&
		errors.Is(err, ErrStore) &&
		!errors.Is(err, persistence.ErrUnreadable) &&
		!errors.Is(err, persistence.ErrInvalid) &&
		ctx.Err() == nil
}

// refusal says why the holder of a record keeps this claim from going on; nil
// where the claim owns the record or may replay it.
func refusal(c persistence.Claim, r persistence.Record) error {
	switch {
	case r.Mismatches(c.Fingerprint):
		return &MismatchError{Key: c.Key, Record: r}
	case r.Status.Finished(), owns(c, r):
		return nil
	case r.Status == persistence.StatusProcessing && !r.LeaseLive(c.Now) && c.OnEndedLease == persistence.RefuseUnknown:
		return &OutcomeUnknownError{Key: c.Key, LeaseUntil: r.LeaseUntil}
	default:
		return &InProgressError{Key: c.Key, LeaseUntil: r.LeaseUntil, RetryAfter: retryAfter(c, r)}
	}
}

func kindOf(refusal error) EventKind {
	switch {
	case errors.Is(refusal, ErrMismatch):
		return Mismatch
	case errors.Is(refusal, ErrOutcomeUnknown):
		return OutcomeUnknown
	default:
		return InProgress
	}
}

// execute runs the function under the lease that was obtained and settles the
// record by what comes of it.
func (g *Guard) execute(ctx context.Context, r persistence.Record, run body) error {
	if r.Attempt > 1 {
		g.report(ctx, Event{Kind: TakenOver, Key: r.Key, Attempt: r.Attempt})
	}
	// The context of the run ends before the lease does, by any clock within the
	// allowance. An environment may have been frozen since the store answered,
	// and a frozen context's timer need not have fired yet.
	end := r.LeaseUntil.Add(-g.config.ClockSkew)
	if !wallClock().Before(end) || ctx.Err() != nil {
		err := &NotStartedError{Key: r.Key, Err: ctx.Err()}
		if err.Err == nil {
			err.Err = context.DeadlineExceeded
		}
		g.release(ctx, r, Event{Attempt: r.Attempt, Err: err})
		return err
	}
	started := time.Now()
	var e effect
	err := g.run(withCall(ctx, g.config.Operation, r), end, r, &e, run)
	event := Event{Key: r.Key, Attempt: r.Attempt, Elapsed: time.Since(started), Err: err}
	if err != nil {
		return g.settleFailure(ctx, r, err, event)
	}
	return g.settleResult(ctx, r, e, event)
}

// run runs the function. If it panics or exits its goroutine, the record is
// settled on the way, and the panic is left to go on: the runtime reports its
// type and stack, and ends the process, as without a guard.
func (g *Guard) run(ctx context.Context, end time.Time, r persistence.Record, e *effect, run body) error {
	if deadline, ok := ctx.Deadline(); !ok || end.Before(deadline) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	returned := false
	defer func() {
		switch {
		case returned:
		case e.done: // and its result's encoding panicked
			_ = g.complete(ctx, r, persistence.StatusCompleted, effect{omit: errUnwound}, Event{Key: r.Key, Attempt: r.Attempt})
		default:
			g.release(ctx, r, Event{Attempt: r.Attempt, Err: errUnwound})
		}
	}()
	err := run(ctx, e)
	returned = true
	return err
}

// errUnwound is reported where the function, or the encoding of its result, did
// not return.
var errUnwound = errors.New("a panic, or the goroutine exited")

// settleFailure records a permanent failure and releases the record after any
// other. The function's error is the caller's, whatever becomes of the record.
func (g *Guard) settleFailure(ctx context.Context, r persistence.Record, err error, event Event) error {
	stored, permanent := recordable(err)
	if !permanent {
		g.release(ctx, r, event)
		return err
	}
	_ = g.complete(ctx, r, persistence.StatusFailed, effect{result: stored}, event)
	return err
}

// settleResult records a result.
func (g *Guard) settleResult(ctx context.Context, r persistence.Record, e effect, event Event) error {
	err := g.complete(ctx, r, persistence.StatusCompleted, e, event)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, persistence.ErrLeaseLost):
		return &LeaseLostError{Key: r.Key, Result: e.result, Err: err}
	case g.config.OnStoreFault == FailOpen:
		return nil
	default:
		return &StoreError{
			Op: "complete", Key: r.Key,
			Executed: true, Result: e.result,
			Retryable: persistence.Retryable(err), Err: err,
		}
	}
}

// complete writes the outcome, without its result where that can't be stored. It
// reports what came of it, and returns the store's error.
func (g *Guard) complete(ctx context.Context, r persistence.Record, status persistence.Status, e effect, event Event) error {
	outcome := persistence.Outcome{
		Status:        status,
		Result:        e.result,
		ResultOmitted: e.omit != nil,
		ExpiresAt:     g.expiry(wallClock()),
	}
	settling, cancel := g.settling(ctx)
	defer cancel()
	err := g.store.Complete(settling, r.Lease(), outcome)
	if errors.Is(err, persistence.ErrTooLarge) {
		e.omit = err
		outcome.ResultOmitted = true
		err = g.store.Complete(settling, r.Lease(), outcome)
	}
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		event.Kind, event.Err = LeaseLost, err
	case err != nil:
		event.Kind, event.Err = NotStored, err
	case e.omit != nil:
		event.Kind, event.Err = NotStored, e.omit
	default:
		event.Kind = Executed
	}
	g.report(ctx, event)
	return err
}

// release gives the record up, so that a retry may run at once. If that fails,
// the lease still bounds the record; nobody but the log and the observer has to
// know.
func (g *Guard) release(ctx context.Context, r persistence.Record, event Event) {
	settling, cancel := g.settling(ctx)
	defer cancel()
	event.Key = r.Key
	switch err := g.store.Release(settling, r.Lease()); {
	case err == nil:
		event.Kind = Released
	case errors.Is(err, persistence.ErrLeaseLost):
		event.Kind = LeaseLost
	default:
		event.Kind, event.Err = StoreFailed, fmt.Errorf("release: %w", err)
	}
	g.report(ctx, event)
}

// settling is the context of the writes that settle a record. The function's own
// may be over by then; the record must be settled all the same.
func (g *Guard) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), g.config.SettleTimeout)
}

// unprotected runs the function without a record.
func (g *Guard) unprotected(ctx context.Context, key string, why error, run body) error {
	g.report(ctx, Event{Kind: Unprotected, Key: key, Err: why})
	return run(ctx, new(effect))
}
