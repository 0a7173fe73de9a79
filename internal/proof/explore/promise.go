package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// Promise is a property of a protocol that is checked in every state.
type Promise string

// The promises. Clock skew within [Allowance] is taken for granted in all of them.
const (
	Alone    Promise = "no two runs inside one live lease"
	Fenced   Promise = "a run starts only under its own live lease"
	Stable   Promise = "a recorded result does not change or vanish before it expires"
	Owner    Promise = "nobody but the owner completes or releases"
	Inert    Promise = "a duplicate of a request changes nothing"
	Innocent Promise = "no caller is rejected by its own record"
	Truthful Promise = "whoever gets an answer gets a recorded result"
	Bounded  Promise = "every record is settled, or bounded by a lease"
	Held     Promise = "a run's context ends before the lease that the record has, by any clock"
	Claimed  Promise = "every answer's claim of what was done is true of the books"
	Helps    Promise = "whoever is told to repeat a request, and does, gets a recorded outcome"
	Final    Promise = "whoever is told not to repeat a request would not be helped by it, or do it twice"
	Live     Promise = "once the leases are over, the next caller runs or gets the result"
)

// Once is what no wrapper around a function can promise. It is checked where
// [Bounds.Once] says so, to show why.
const Once Promise = "the function runs once before its record expires"

var promises = []Promise{
	Alone, Beside, Freed, Fenced, Held, Stable, Owner, Inert, Innocent, Truthful, Bounded, Live, Claimed, Helps, Final, Once,
	Finished, Kept, Started, Backward, Reverse, Undone, Paired, Documented, Roomy, Committed,
}

// Allowance is the clock skew that the promises allow for: the engine's default.
const Allowance = time.Second

// Violation is a broken promise and how it came to that.
type Violation struct {
	Promise Promise
	Detail  string
	Steps   []string // in words
	path    path
}

func (w *world) violate(p Promise, format string, args ...any) {
	if w.violated == nil {
		w.violated = &Violation{Promise: p, Detail: fmt.Sprintf(format, args...)}
	}
}

// judgeChange judges what a request has done to the record.
func (w *world) judgeChange(p *Process, r *request, before, after record) {
	kept := before.exists && !before.Expired(w.now().Add(Allowance))
	acquired := after.exists && !after.Status.Finished() && (!kept || before.Owner != after.Owner || before.Owner == "")
	free := !kept || !before.Status.Finished() && !before.LeaseLive(w.now())
	// What acquires a free record once more leaves an orphan that its lease bounds. Its
	// caller may still be there, late, and settle it by what it knows. What is settled at
	// once and has expired is as good as nothing.
	orphan := acquired && free || w.system.AtOnce && after.exists && after.Expired(w.now())
	if *r.applied && !orphan && w.holder != p.index {
		w.violate(Inert, "%s's %s was applied before, and has changed the record again", p.name, r.name)
	}
	w.judgeSteps(p, r, before, after)
	if w.system.AtOnce && !kept && after.exists && after.Status.Finished() {
		w.holder = p.index
	}
	switch {
	case kept && before.Status.Finished():
		w.violate(Stable, "%s's %s has changed %s into %s", p.name, r.name, w.describe(before), w.describe(after))
	case acquired:
		w.regained = *r.applied || w.regained && before.Owner == after.Owner
		w.holder = p.index
		return
	case w.holder != p.index:
		w.violate(Owner, "%s's %s has changed a record that is not its own", p.name, r.name)
	}
	if !after.exists || after.Status.Finished() {
		w.endExecution(p)
	}
	switch {
	case !after.exists:
		w.holder = nobody
	case after.Status.Finished():
		w.results = append(w.results, string(after.Result))
	}
}

// enter judges the start of a run.
func (w *world) enter(ctx context.Context, p *Process) {
	w.judgeStart(ctx, p, "function")
	w.judgeBeside(p)
	if w.bounds.Once && w.now().Before(w.ranUntil) {
		w.violate(Once, "%s runs, after another run", p.name)
	}
	w.ranUntil = w.record.ExpiresAt
}

// judgeStart judges the start of a function: the guarded one, or one that belongs to a
// step of it.
func (w *world) judgeStart(ctx context.Context, p *Process, doing string) {
	if w.system.AtOnce {
		return
	}
	for _, other := range w.processes {
		if other != p && other.works() && !w.succeeded(p, other) {
			w.violate(Alone, "%s's %s runs, and %s is running under a live lease", p.name, doing, other.name)
		}
	}
	switch {
	case ctx.Err() != nil:
		w.violate(Fenced, "%s's %s runs though its time is over", p.name, doing)
	case w.holder != p.index:
		w.violate(Fenced, "%s's %s runs under a record that is not its own", p.name, doing)
	}
}

// judgeHolds judges, in every state, by what right the runs under way go on.
func (w *world) judgeHolds() {
	if !w.system.Guarded || w.system.AtOnce || w.regained {
		return
	}
	for _, p := range w.processes {
		if p.index != w.holder || !p.works() {
			continue
		}
		if fastest := w.now().Add(w.bounds.fastest()); w.record.Status != persistence.StatusProcessing || !w.record.LeaseLive(fastest) {
			w.violate(Held, "%s's function has time left, and there is %s", p.name, w.describe(w.record))
		}
	}
}

// judgeEnds judges the answers that processes have got.
func (w *world) judgeEnds() {
	for _, p := range w.processes {
		if p.ended && !p.judged {
			p.judged = true
			w.judgeEnd(p)
			w.judgeClaim(p)
		}
	}
}

// judgeEnd judges an answer.
func (w *world) judgeEnd(p *Process) {
	w.judgeFreed(p)
	switch {
	case errors.Is(p.err, ErrRejected) && p.met == p.index:
		w.violate(Innocent, "%s is told that another run is under way, but it is its own record", p.name)
	case p.err == nil && !slices.Contains(w.results, p.answer):
		w.violate(Truthful, "%s has the answer %q, which is not recorded", p.name, p.answer)
	case p.err == nil && p.ran != "" && p.answer != p.ran && !w.system.AtOnce:
		w.violate(Truthful, "%s has run and has the answer %q", p.name, p.answer)
	}
}

// settle is the end of an execution: all callers are gone, what is left in the
// network is lost, all leases end, and one more caller comes.
func (w *world) settle() {
	r := w.record
	if r.exists && !r.Status.Finished() {
		left := w.describe(r)
		switch {
		case r.Status == persistence.StatusPartial: // anybody may go on
		case r.LeaseUntil.IsZero():
			w.violate(Bounded, "%s is left", left)
		case r.LeaseUntil.After(w.now().Add(w.longest())):
			w.violate(Bounded, "%s is left, for longer than any lease", left)
		case !w.troubled() && !w.system.Durable:
			w.violate(Bounded, "%s is left though nothing went wrong", left)
		}
		w.outlastLease()
	}
	last := w.undisturbed(nil)
	replays := r.exists && r.Status.Finished() && !r.Expired(w.now())
	switch {
	case w.recordedFailure(last), w.system.Unsure && needsPerson(last):
	case last.err != nil:
		w.violate(Live, "the last caller gets %v", last.err)
	case w.record.Status != persistence.StatusCompleted:
		w.violate(Live, "the last caller leaves %s", w.describe(w.record))
	case replays && (last.ran != "" && !w.system.AtOnce || last.answer != string(r.Result)):
		w.violate(Live, "the last caller gets %q instead of the recorded %q", last.answer, r.Result)
	}
}

// undisturbed is a call to which nothing happens but what it does, and whose function
// succeeds: one of the same execution as another, or of one of its own.
func (w *world) undisturbed(of *Process) *Process {
	p := w.add(0)
	p.execution = w.newExecution()
	if of != nil {
		p.execution = of.execution
	}
	w.start(p)
	for !p.over() {
		i := slices.IndexFunc(p.threads, (*thread).pauses)
		if i < 0 {
			panic("explore: a call stands still by itself")
		}
		switch t := p.threads[i]; t.at {
		case asking:
			w.apply(t)
		case hearing:
			w.resume(t, arrived)
		case running:
			end := returns
			if t.ways[0] == finds {
				end = w.truth(t)
			}
			w.resume(t, end)
		}
		w.gather()
		w.judgeHolds()
	}
	return p
}

// recordedFailure tells whether the answer is a failure that is recorded.
func (w *world) recordedFailure(p *Process) bool {
	return errors.Is(p.err, ErrFailed) && w.record.exists && w.record.Status == persistence.StatusFailed
}
