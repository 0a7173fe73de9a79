package simulation

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// client calls until it has an answer.
type client struct {
	world        *world
	name         string
	dice         *rand.Rand
	environments []*environment
}

// patience is how often a client asks for one answer. It never is the client that
// gives up, in a world in which the rules hold.
const patience = 500

func (c *client) act() {
	w := c.world
	for range w.requests {
		w.sleep(pick(c.dice, 0, 0, 10*time.Second) + between(c.dice, 0, pick(c.dice, 100*time.Millisecond, 2*time.Second)))
		at := c.dice.IntN(len(w.operations))
		c.request(at, c.order(w.operations[at]))
	}
}

// order draws what to ask for. Where payloads are compared, a few are not the one
// that the key was used with first.
func (c *client) order(op operation) order {
	o := pick(c.dice, op.orders...)
	if op.config.Fingerprint != nil && c.dice.IntN(10) == 0 {
		o.Amount = 999
	}
	return o
}

func (c *client) request(at int, o order) {
	w := c.world
	for range patience {
		comeBack := between(c.dice, 0, pick(c.dice, 100*time.Millisecond, 3*time.Second))
		answers := pick(c.dice, c.environments...).warm().invoke(at, o)
		giveUp := time.NewTimer(w.distinct(between(c.dice, time.Second, 20*time.Second)))
		select {
		case a := <-answers:
			giveUp.Stop()
			claim := w.verdict(a.err)
			if a.final() || !claim.Retry {
				return
			}
			if claim.After > 0 {
				comeBack = claim.After + between(c.dice, 0, 20*time.Millisecond)
			}
		case <-giveUp.C:
			w.say(c.name, "gives up on this one")
			w.count(givenUp)
		}
		w.sleep(comeBack)
	}
	w.broken(Open, "%s has no answer after %d calls", c.name, patience)
}

// final tells whether there is no reason to ask again.
func (a answer) final() bool {
	return a.err == nil || errors.Is(a.err, errShort)
}

// probe shows, after the faults have stopped and the leases have ended, that one
// call is enough, in any environment: for an answer, or where an unknown outcome is
// refused, to be told so until the record expires.
func (w *world) probe(e *environment, at int, o order) {
	key, op := w.key(at, o), w.operations[at]
	stands, a := w.ask(e, at, o)
	unknown := stands.Status == persistence.StatusProcessing && op.config.RefuseUnknown
	if unknown && errors.Is(a.err, idempotent.ErrOutcomeUnknown) {
		w.sleep(time.Until(stands.ExpiresAt) + 2*clockSkew + 2*time.Second)
		_, a = w.ask(e, at, o)
	}
	left := w.read(key)
	if short, isShort := errors.AsType[*shortError](a.err); isShort {
		w.bank.mustBeShort(short, w.names[key], left)
		return
	}
	if a.err != nil && !errors.Is(a.err, idempotent.ErrPermanent) {
		w.broken(Open, "after the faults and the leases, a call for %s in %s gets %v", w.names[key], e.name, a.err)
	}
	// It may be gone: a slow clock still recalls an outcome that a fast one has replaced.
	if left.Status != "" && !left.Status.Finished() {
		w.broken(Bounded, "an answered call for %s leaves its record %s", w.names[key], show(left))
	}
}

// ask calls with the payload that the record stands for, if there is one.
func (w *world) ask(e *environment, at int, o order) (audited, answer) {
	process := e.warm()
	stands := w.stands(w.key(at, o))
	if stands.Status != "" {
		o.Amount = stands.amount
	}
	return stands, <-process.invoke(at, o)
}
