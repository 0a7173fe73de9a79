package idempotent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/ikkai-go/idempotency/persistence"
)

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
func (g *Guard) call(ctx context.Context, identify func() (request, error), run body) (*replayed, error) {
	b := g.newBudget(ctx)
	id, err := g.identify(ctx, identify)
	if err == nil {
		err = g.refuseDurable(ctx, id.execution)
	}
	if misused, ok := errors.AsType[*ConfigError](err); ok {
		return nil, misused
	}
	if g.resumesOther(ctx, id.key) {
		refused := &KeyError{Operation: g.config.Operation, Err: errOtherRecord}
		g.report(ctx, Event{Kind: EventKeyRefused, Err: refused})
		return nil, refused
	}
	if name, off := disabled(); off {
		return nil, g.unprotected(ctx, b, id.key, fmt.Errorf("%s is set", name), run)
	}
	if err != nil {
		refused := &KeyError{Operation: g.config.Operation, Err: err}
		if errors.Is(err, errNoKey) && g.config.RunWithoutKey {
			return nil, g.unprotected(ctx, b, "", refused, run)
		}
		g.report(ctx, Event{Kind: EventKeyRefused, Err: refused})
		return nil, refused
	}
	if g.config.OnlyEnlists {
		answer, settled, err := g.callOnce(ctx, b, id.identity, run)
		if settled {
			return answer, err
		}
	}
	claim := persistence.Claim{
		Key:           id.key,
		Owner:         rand.Text(),
		Fingerprint:   id.fingerprint,
		RefuseUnknown: g.config.RefuseUnknown,
		Run:           runOf(ctx),
		Event:         id.event,
	}
	id.execution.claim(&claim)
	got, err := g.acquire(ctx, b, &claim, id.execution)
	switch {
	case err == nil && owns(claim, got.record):
		return g.execute(ctx, b, got, id.execution, run)
	case err == nil && id.execution.resultLost(got.record):
		return nil, g.answerAgain(ctx, b, got.record, run)
	case err == nil:
		got.reportWait(ctx, g)
		return g.replay(ctx, got.record, id.execution)
	case got.failsOpen:
		return nil, g.failOpen(ctx, b, claim, err, run)
	default:
		return nil, err
	}
}

// execute runs the function under the lease that was obtained and settles the
// record by what comes of it. Where the store says that this owner has settled it
// otherwise before, by a try whose reply was lost, the record is the answer.
func (g *Guard) execute(ctx context.Context, b budget, got acquisition, of *execution, run body) (*replayed, error) {
	t := &tenure{guard: g, budget: b, record: got.record, execution: of}
	t.hold.begin(g, got.record, b)
	defer t.end(ctx)
	got.reportWait(ctx, g)
	g.report(ctx, Event{Kind: t.beginning(), Key: got.record.Key, Attempt: got.record.Attempt})
	if err := t.mayStart(ctx); err != nil {
		t.release(ctx, err)
		return nil, err
	}
	if err := t.open(); err != nil {
		t.release(ctx, err)
		return nil, t.unfinished(ctx, err, nil)
	}
	err := t.run(ctx, run)
	switch {
	case err != nil || t.journal.Backward():
		err = t.settleFailure(ctx, err)
	default:
		err = t.settleResult(ctx)
	}
	if t.there != nil {
		return g.replay(ctx, *t.there, of)
	}
	return nil, err
}
