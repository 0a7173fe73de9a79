package records

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency/persistence"
)

// Settle plans to record what an operator knows of a request that is not finished, and that is
// not being run. [*RefusedError] where that can't be, [*RunningError] while a lease is live.
func (d *Desk) Settle(ctx context.Context, shown Record, s Settlement) (*Plan, error) {
	p, err := d.plan(shown)
	if err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) (*Plan, error) {
		return nil, &RefusedError{shown.Key, shown.State, fmt.Sprintf(format, args...)}
	}
	switch {
	case s.kind == 0:
		return refuse("there is nothing to settle it with")
	case shown.State != StateDied && shown.State != StatePartial:
		return refuse("only what is not finished can be settled; a record that is wrong can be forgotten")
	case shown.stored.Owner == "", shown.Attempt == 0:
		return refuse("it has no owner, or does not count its attempts, so another toolkit has written it: nothing tells whether it changes meanwhile")
	}
	// Fronts that can't open what the record has would give it up when it is taken over.
	opened, err := d.opened(ctx, shown)
	if err != nil {
		return nil, fmt.Errorf("records: %s: opening what it has: %w", shown.Key, err)
	}
	if s.writes() {
		// What the functions have put into envelopes, their store takes out of them, and refuses
		// what is in none.
		if form := foreign(opened); form != "" {
			return refuse("its values are in envelopes of the form %s, which this store does not make: the functions would refuse what it writes. Use a store like theirs", form)
		}
		if len(d.fronts) == 0 && len(opened.Steps) == 0 && len(opened.Event) == 0 {
			p.note("it is written in the clear, which functions with a store that seals (package sealed) refuse: settle theirs with a store like theirs.")
		}
	}
	w := &settling{desk: d, shown: shown, owner: rand.Text(), settlement: s}
	if s.step != "" {
		return w.planStep(ctx, p)
	}
	return w.planOutcome(p)
}

// settling is a settlement under way. It takes the record over as a run would, and is a run as
// far as the store and its fronts can see: so it needs no way of its own through them.
type settling struct {
	desk       *Desk
	shown      Record
	owner      string // the same in every try, so that it recognises what it has done
	settlement Settlement

	outcome persistence.Outcome // of the request
	entry   string              // of a step: its name, and what it says
	says    []byte
}

func (w *settling) planOutcome(p *Plan) (*Plan, error) {
	s := w.settlement
	outcome, what, err := s.outcome()
	if err != nil {
		return nil, &RefusedError{w.shown.Key, w.shown.State, err.Error()}
	}
	w.outcome = outcome
	ttl := w.desk.config.TTL
	if s.TTL > 0 {
		ttl = s.TTL
	}
	p.does("Take the record over from its owner, who has lost it from then on (attempt %d).", w.shown.Attempt+1)
	p.does("Record that the request has %s; duplicates are told so for %v.", what, ttl)
	if open := namesIn(w.shown.Steps, PhaseStarted); open != "" {
		p.note("of %s it is not known whether it has happened.", open)
	}
	if done := namesIn(w.shown.Steps, PhaseFinished); done != "" && outcome.Status == persistence.StatusFailed {
		p.note("%s has happened and will not be undone.", done)
	}
	p.do = func(ctx context.Context) (Record, error) {
		w.outcome.ExpiresAt = w.desk.config.Now().Add(ttl)
		return w.carryOut(ctx, w.complete)
	}
	return p, nil
}

func namesIn(steps []Step, phase Phase) string {
	var names []string
	for _, s := range steps {
		if s.Phase == phase {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

// carryOut takes the record over, writes, and returns what has become of it. Once begun it does
// not end with the caller's context: a browser that has gone would leave the record taken over, and
// one that was given up before would be that of a run that has died.
func (w *settling) carryOut(ctx context.Context, write func(context.Context, persistence.Record) error) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, failed(w.shown.Key, "nothing was done", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.desk.config.Hold)
	defer cancel()
	held, err := w.takeOver(ctx)
	if err != nil {
		return Record{}, err
	}
	if err := write(ctx, held); err != nil {
		if errors.Is(err, persistence.ErrTooLarge) { // and was not written
			w.letGo(ctx, held)
		}
		return Record{}, err
	}
	return w.desk.Show(ctx, w.shown.Key)
}

// takeOver makes the record that was shown the operator's own, for as long as it takes.
func (w *settling) takeOver(ctx context.Context) (persistence.Record, error) {
	config, seen := w.desk.config, w.shown.stored
	now := config.Now()
	execution := ""
	if config.ended(seen) {
		execution = seen.Execution() + "#"
		w.owner = execution + strings.TrimPrefix(w.owner, execution)
	}
	held, err := w.desk.store.Acquire(ctx, persistence.Claim{
		Key:        seen.Key,
		Owner:      w.owner,
		Execution:  execution,
		From:       seen.Owner,
		Now:        now.Add(-config.Margin),
		LeaseUntil: now.Add(config.Hold),
		ExpiresAt:  later(seen.ExpiresAt, now.Add(config.TTL)),
	})
	switch {
	case err != nil:
		return held, failed(seen.Key, "taking the record over", err)
	case held.Owner != w.owner:
		return held, w.desk.changed(ctx, seen.Key)
	case held.Attempt == 1: // there was none, and now there is one of nobody's
		if err := w.desk.store.Release(ctx, held.Lease()); err != nil {
			return held, failed(seen.Key, "giving up a record that was gone", err)
		}
		return held, &ChangedError{Key: seen.Key}
	case held.Attempt != seen.Attempt+1, !w.sameSteps(held):
		return held, w.giveBack(ctx, held)
	}
	return held, nil
}

// sameSteps tells whether the record has the steps that were shown, and perhaps the one that
// this settlement has added in an earlier try.
func (w *settling) sameSteps(held persistence.Record) bool {
	if held.Status.Finished() { // it need not show them any more
		return true
	}
	for name := range held.Steps {
		if _, shown := w.shown.stored.Steps[name]; !shown && name != w.entry {
			return false
		}
	}
	return true
}

// giveBack gives up a record that is not what was shown after all. One that was given up
// before is again; one of a run that has died is as it was when the hold is over, since giving
// it up would let it be resumed, which may be what its guard refuses.
func (w *settling) giveBack(ctx context.Context, held persistence.Record) error {
	if held.TookOver == persistence.StatusPartial {
		_ = w.desk.store.Release(ctx, held.Lease()) // or the hold ends it
	}
	return w.desk.changed(ctx, held.Key)
}

// letGo gives up a record about which nothing can be recorded, if it was given up before: see
// giveBack.
func (w *settling) letGo(ctx context.Context, held persistence.Record) {
	if w.shown.stored.Status == persistence.StatusPartial {
		_ = w.desk.store.Release(ctx, held.Lease()) // or the hold ends it
	}
}

// complete records the outcome.
func (w *settling) complete(ctx context.Context, held persistence.Record) error {
	if held.Status.Finished() && w.outcome.Recorded(held) {
		return nil // by an earlier try
	}
	if err := w.desk.store.Complete(ctx, held.Lease(), w.outcome); err != nil {
		return failed(held.Key, "recording the outcome", err)
	}
	return nil
}
