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
	got, err := g.acquire(ctx, &claim)
	switch {
	case err == nil && owns(claim, got.record):
		return nil, g.execute(ctx, got, run)
	case err == nil:
		got.reportWait(ctx, g)
		return g.replay(ctx, got.record)
	case got.failsOpen:
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

// acquisition is how acquiring ended.
type acquisition struct {
	record persistence.Record
	// waited is for how long, if the call had to wait.
	waited time.Duration
	// failsOpen says that the record could not be acquired and the function is to
	// run all the same.
	failsOpen bool
}

func (a acquisition) reportWait(ctx context.Context, g *Guard) {
	if a.waited > 0 {
		g.report(ctx, Event{Kind: Waited, Key: a.record.Key, Attempt: a.record.Attempt, Elapsed: a.waited})
	}
}

// acquire claims the record until it is the caller's, or finished, or the caller
// has waited long enough. What comes back without an error is either owned or a
// finished record of the same payload.
func (g *Guard) acquire(ctx context.Context, c *persistence.Claim) (acquisition, error) {
	for wait := g.newWait(ctx); ; {
		if err := g.date(ctx, c); err != nil {
			return acquisition{}, err
		}
		record, err := g.meet(ctx, *c, wait.polling())
		if err != nil {
			// A call that has seen a run under way never runs beside it.
			return acquisition{failsOpen: !wait.polling() && g.failsOpen(ctx, err)}, err
		}
		got := acquisition{record: record, waited: wait.elapsed()}
		err = refusal(*c, record)
		switch {
		case err == nil:
			return got, nil
		case errors.Is(err, ErrInProgress) && wait.next(ctx):
			continue
		}
		got.waited = wait.elapsed()
		got.reportWait(ctx, g)
		g.report(ctx, Event{Kind: kindOf(err), Key: c.Key, Attempt: record.Attempt, Err: err})
		return got, err
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
// write, by looking first. A look that fails decides nothing: the claim does.
func (g *Guard) meet(ctx context.Context, c persistence.Claim, polling bool) (persistence.Record, error) {
	asking, cancel := g.asking(ctx, ctx)
	defer cancel()
	if g.reader != nil && (g.config.ReadFirst || polling) {
		looking, looked := g.asking(asking, asking) // half of it, so that the claim has time left
		record, found, err := g.reader.Read(looking, c.Key)
		looked()
		settled := found && record.Status.Finished() && !record.Expired(c.Now)
		running := found && record.LeaseLive(c.Now)
		if err == nil && (settled || polling && running) {
			return record, nil
		}
	}
	record, err := g.store.Acquire(asking, c)
	if err != nil {
		return record, g.notAcquired(ctx, c, err)
	}
	return record, nil
}

// notAcquired gives up a claim whose fate is not known. If it was applied and
// only the reply is lost, nobody but this caller knows the owner, and its own
// retry would be locked out until the lease is over. Even a refusal may follow a
// try that was applied.
func (g *Guard) notAcquired(ctx context.Context, c persistence.Claim, err error) error {
	failed := &StoreError{Op: "acquire", Key: c.Key, Retryable: persistence.Retryable(err), Err: err}
	if g.config.OnStoreFault == FailClosed && !errors.Is(err, persistence.ErrInvalid) && !errors.Is(err, persistence.ErrUnreadable) {
		giving, cancel := g.asking(context.WithoutCancel(ctx), ctx)
		defer cancel()
		giving, cancel = context.WithTimeout(giving, giveUpTimeout)
		defer cancel()
		_ = g.store.Release(giving, c.Fresh().Lease()) // most likely there is nothing to release
	}
	g.report(ctx, Event{Kind: StoreFailed, Key: c.Key, Err: failed})
	return failed
}

// giveUpTimeout bounds the attempt to give a claim up: its caller is waiting to
// hear that the store has failed.
const giveUpTimeout = time.Second

// asking is the context of a request to the store that comes before the function.
// While the call has a deadline ahead, the store gets no more than half of the time
// until then: the rest is for running, or for saying that the store has failed.
func (g *Guard) asking(parent, call context.Context) (context.Context, context.CancelFunc) {
	now := wallClock()
	limit := now.Add(g.config.StoreTimeout)
	if deadline, ok := call.Deadline(); ok && deadline.After(now) {
		limit = earlier(limit, now.Add(deadline.Sub(now)/2))
	}
	return context.WithDeadline(parent, limit)
}

// failsOpen tells whether the function may run although its record could not be
// acquired: by choice, with time left, and not where the store did answer.
func (g *Guard) failsOpen(ctx context.Context, err error) bool {
	return g.config.OnStoreFault == FailOpen &&
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
func (g *Guard) execute(ctx context.Context, got acquisition, run body) error {
	t := &tenure{guard: g, record: got.record}
	defer t.end(ctx)
	got.reportWait(ctx, g)
	if got.record.Attempt > 1 {
		g.report(ctx, Event{Kind: TakenOver, Key: got.record.Key, Attempt: got.record.Attempt})
	}
	until, err := t.until(ctx)
	if err != nil {
		t.release(ctx, err)
		return err
	}
	if err := t.run(withCall(ctx, g.config.Operation, got.record), until, run); err != nil {
		return t.settleFailure(ctx, err)
	}
	return t.settleResult(ctx)
}

// unprotected runs the function without a record.
func (g *Guard) unprotected(ctx context.Context, key string, why error, run body) error {
	g.report(ctx, Event{Kind: Unprotected, Key: key, Err: why})
	return run(withoutCall(ctx), new(effect))
}
