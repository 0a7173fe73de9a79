package idempotenttest

import (
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// director plays one case in a world, and compares everything that is answered with what
// is promised. The first breach of a promise ends the case.
type director struct {
	*World

	before Books // when nothing was sent yet
	most   Books // how far all that was sent so far may change them
	once   Books // how far the request does
	first  *Answer
	breach *breach
	short  bool // see patience
}

// breach is a promise that was not kept.
type breach struct {
	promise promise
	text    string // what was seen
	hint    string // what it may come from; empty if nobody knows
}

// promise is what is promised of a function.
type promise string

const (
	noExcess   promise = "the effects of a request happen once"
	noClaim    promise = "an answer that says it is done is true"
	noDenial   promise = "an answer that says nothing was done is true"
	sameAnswer promise = "a duplicate gets the first answer"
	notLocked  promise = "nobody is locked out for longer than a lease"
	notTaken   promise = "another request is another request"
	guarded    promise = "the function is guarded"
	holds      promise = "what the function's author demands holds"
)

func newDirector(w *World, once Books) *director {
	return &director{World: w, before: w.Books(), most: once, once: once}
}

func (d *director) fail(p promise, format string, args ...any) {
	if d.breach == nil {
		d.breach = &breach{promise: p, text: fmt.Sprintf(format, args...)}
		d.breach.hint = d.hint(p)
		d.Tell("this breaks a promise: %s", d.breach.text)
		d.stopTelling()
	}
}

// send sends the request and hears the answer.
func (d *director) send(e *Environment) Answer {
	before := d.Books()
	a := d.begin(e).Wait()
	d.hear(a)
	verdict := idempotent.VerdictOf(a.Err)
	if changes := d.Books().since(before); a.Err != nil && verdict.Done == idempotent.DoneNothing && len(changes) > 0 {
		d.fail(noDenial, "the answer says that nothing was done (%v), and the books have changed: %v", a.Err, changes)
	}
	return a
}

// begin sends it and does not wait.
func (d *director) begin(e *Environment) *Invocation {
	if e.current().isDead() {
		e.Restart()
	}
	d.mu.Lock()
	sent := d.invocations
	d.mu.Unlock()
	if sent == 0 {
		return e.begin("the request", d.function.Request)
	}
	return e.begin("its duplicate", d.function.Duplicate)
}

// hear compares an answer, and the books at its time, with what is promised.
func (d *director) hear(a Answer) {
	d.audit()
	if !d.function.Settled(a) {
		return
	}
	if changes := d.Books().since(d.before); d.breach == nil {
		if name := changes.missing(d.once); name != "" {
			d.fail(noClaim, "the answer says that the request is done; the books say %s: %+d, and should say %+d", name, changes[name], d.once[name])
		}
	}
	switch {
	case d.first == nil:
		d.first = &a
	case !d.function.Same(*d.first, a):
		d.fail(sameAnswer, "it %v; the first time it %v", a, *d.first)
	}
}

// audit looks whether there is too much in the books.
func (d *director) audit() {
	if changes := d.Books().since(d.before); d.breach == nil {
		if name := changes.excess(d.most, d.function.Repeatable); name != "" {
			d.fail(noExcess, "the books say %s: %+d, and may say %+d", name, changes[name], d.most[name])
		}
	}
	if d.function.Holds != nil && d.breach == nil {
		if err := d.function.Holds(d.World); err != nil {
			d.fail(holds, "%v", err)
		}
	}
}

// patience is when a client sends a request again that is not settled: at once, in the
// midst of a lease, after it, and for some seconds more. A story is shorter with one that
// comes only after the lease.
func (d *director) patience() []time.Duration {
	lease := d.function.Lease
	after := []time.Duration{time.Second, time.Second, 2 * time.Second}
	if d.short {
		return append([]time.Duration{lease}, after...)
	}
	return append([]time.Duration{0, lease / 2, lease - lease/2}, after...)
}

// untilQuiet sends the request again until it is settled.
func (d *director) untilQuiet(e *Environment) {
	for _, pause := range d.patience() {
		if pause > 0 {
			d.Pass(pause)
		}
		a := d.send(e)
		if d.breach != nil {
			return
		}
		if d.function.Settled(a) {
			d.quiet(e)
			return
		}
	}
	d.fail(notLocked, "nothing is wrong any more, a lease is over, and the request is still not done")
}

// quiet sends the settled request once more.
func (d *director) quiet(e *Environment) {
	if a := d.send(e); d.breach == nil && !d.function.Settled(a) {
		d.fail(sameAnswer, "it %v; the first time it %v", a, *d.first)
	}
}
