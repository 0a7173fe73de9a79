package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/lambdacontext"

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
	b := g.newBudget(ctx)
	id, err := g.identify(ctx, identify)
	if name, off := disabled(); off {
		return nil, g.unprotected(ctx, b, id.key, fmt.Errorf("%s is set", name), run)
	}
	if err != nil {
		refused := &KeyError{Operation: g.config.Operation, Err: err}
		if errors.Is(err, errNoKey) && g.config.OnMissingKey == RunUnprotected {
			return nil, g.unprotected(ctx, b, "", refused, run)
		}
		g.report(ctx, Event{Kind: EventKeyRefused, Err: refused})
		return nil, refused
	}
	if g.config.OnlyEnlists {
		answer, settled, err := g.callOnce(ctx, b, id, run)
		if settled {
			return answer, err
		}
	}
	claim := persistence.Claim{
		Key:           id.key,
		Owner:         rand.Text(),
		Fingerprint:   id.fingerprint,
		RefuseUnknown: g.config.OnEndedLease == RefuseUnknown,
	}
	got, err := g.acquire(ctx, b, &claim)
	switch {
	case err == nil && owns(claim, got.record):
		return g.execute(ctx, b, got, run)
	case err == nil:
		got.reportWait(ctx, g)
		return g.replay(ctx, got.record)
	case got.failsOpen:
		return nil, g.failOpen(ctx, b, claim, err, run)
	default:
		return nil, err
	}
}

// identify finds out what a call is recognised by. It is the one place where a request
// is given to its tenant: where Lambda isolates tenants, the tenant is in the context
// and not in the event.
func (g *Guard) identify(ctx context.Context, find func() (identity, error)) (identity, error) {
	id, err := find()
	if err != nil {
		return identity{}, err
	}
	caller, ok := lambdacontext.FromContext(ctx)
	if !ok || caller.TenantID == "" || g.config.Tenants == ShareRecords {
		return id, nil
	}
	if id.key, err = idempotency.TenantKey(caller.TenantID, id.key); err != nil {
		return identity{}, err
	}
	return id, nil
}

// errNoKey marks a payload in which the key is missing, as opposed to one that
// can't be understood, or lacks the fingerprint.
var errNoKey = errors.New("the key is missing")

// noKey marks the error if it says that the key is missing.
func noKey(err error) error {
	if errors.Is(err, idempotency.ErrMissing) {
		return fmt.Errorf("%w: %w", errNoKey, err)
	}
	return err
}

// keyOf returns the record key for a value that the caller chose.
func (g *Guard) keyOf(value string) (key string, err error) {
	if g.config.Dialect != nil {
		key, err = g.config.Dialect.Key(value)
	} else {
		key, err = idempotency.Key(g.config.Operation, value)
	}
	if err != nil {
		return "", noKey(err)
	}
	return key, nil
}

// identifyPayload finds key and fingerprint of a JSON payload.
func (g *Guard) identifyPayload(payload []byte) (identity, error) {
	if g.config.Dialect != nil {
		key, fingerprint, err := g.config.Dialect.Identify(payload)
		if err != nil {
			return identity{}, noKey(err)
		}
		return identity{key: key, fingerprint: fingerprint}, nil
	}
	key, err := g.config.Key.Key(g.config.Operation, payload)
	if err != nil {
		return identity{}, noKey(err)
	}
	fingerprint, err := g.fingerprint(payload)
	if err != nil {
		return identity{}, err
	}
	return identity{key: key, fingerprint: fingerprint}, nil
}

// fingerprint finds the fingerprint of a JSON payload; empty where the guard
// compares nothing.
func (g *Guard) fingerprint(payload []byte) (string, error) {
	if g.config.Fingerprint == nil {
		return "", nil
	}
	fingerprint, err := g.config.Fingerprint.Fingerprint(payload)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	return fingerprint, nil
}

func owns(c persistence.Claim, r persistence.Record) bool {
	return r.Owner == c.Owner && r.Status == persistence.StatusProcessing
}

// refusal says why the holder of a record keeps this claim from going on; nil
// where the claim owns the record or may replay it.
func refusal(c persistence.Claim, r persistence.Record) error {
	switch {
	case r.Mismatches(c.Fingerprint):
		return &MismatchError{Key: c.Key, Record: r}
	case r.Status.Finished(), owns(c, r):
		return nil
	case r.Status == persistence.StatusProcessing && !r.LeaseLive(c.Now) && c.RefuseUnknown:
		return &OutcomeUnknownError{Key: c.Key, LeaseUntil: r.LeaseUntil}
	default:
		return &InProgressError{Key: c.Key, LeaseUntil: r.LeaseUntil, RetryAfter: retryAfter(c, r)}
	}
}

func kindOf(refusal error) EventKind {
	switch {
	case errors.Is(refusal, ErrMismatch):
		return EventMismatch
	case errors.Is(refusal, ErrOutcomeUnknown):
		return EventStuck
	default:
		return EventInProgress
	}
}

// execute runs the function under the lease that was obtained and settles the
// record by what comes of it. Where the store says that this owner has settled it
// otherwise before, by a try whose reply was lost, the record is the answer.
func (g *Guard) execute(ctx context.Context, b budget, got acquisition, run body) (*replayed, error) {
	t := &tenure{guard: g, budget: b, record: got.record, hold: g.newHold(got.record, b)}
	defer t.end(ctx)
	got.reportWait(ctx, g)
	g.report(ctx, Event{Kind: t.beginning(), Key: got.record.Key, Attempt: got.record.Attempt})
	err := t.mayStart(ctx)
	if err == nil {
		t.journal, err = g.newJournal(got.record, t.hold, b)
	}
	if err != nil {
		t.release(ctx, err)
		return nil, t.unfinished(ctx, err, nil)
	}
	t.calling = g.newCalling(got.record.Key, got.record.Attempt, t.journal)
	if err = t.run(ctx, run); err != nil || t.journal.backward() {
		err = t.settleFailure(ctx, err)
	} else {
		err = t.settleResult(ctx)
	}
	if t.there != nil {
		return g.replay(ctx, *t.there)
	}
	return nil, err
}
