package explore

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/ikkai-go/idempotency/persistence"
)

// The promises about sagas, besides those about all calls. A step that is interrupted
// before it is recorded as finished may run again: that is what they do not exclude.
const (
	Finished   Promise = "a step that is recorded as finished does not run again"
	Kept       Promise = "what is recorded of a step stays as it is, and is what the step returns"
	Started    Promise = "a step that may run once runs again only if it is known not to have happened"
	Backward   Promise = "no step runs once undoing is decided, and nothing is undone before"
	Reverse    Promise = "steps are undone in the reverse of the order in which they were finished"
	Undone     Promise = "a step that is recorded as undone is not undone again"
	Paired     Promise = "what has happened is undone before the call fails for good, and nothing else"
	Documented Promise = "the outcome is one of those that are documented"
	Roomy      Promise = "what has happened can always be recorded, and undone: there is room for that"
	Committed  Promise = "an enlisted write is applied once, and together with what it was enlisted for"
)

// What is recorded of steps.
const (
	startedSuffix     = ":started"
	compensatedSuffix = ":compensated"
	unwindingEntry    = ":unwinding"
)

// entry is what is recorded of a finished or started step.
type entry struct {
	Output      string
	Omitted     bool
	Compensable bool
}

// entry reads what is recorded under a name.
func (r record) entry(name string) (e entry, exists bool) {
	stored, exists := r.Steps[name]
	if exists && json.Unmarshal(stored, &e) != nil {
		e.Output = string(stored) // of no step
	}
	return e, exists
}

func (r record) has(name string) bool {
	_, exists := r.Steps[name]
	return exists
}

// left are the steps that are recorded as finished and compensable, and not as undone.
func (w *world) left(r record) []string {
	var left []string
	for _, name := range w.system.Saga.names() {
		if e, finished := r.entry(name); finished && e.Compensable && !r.has(name+compensatedSuffix) {
			left = append(left, name)
		}
	}
	return left
}

// book is what the world knows of a step that must run at most once, whatever the
// record says.
type book struct {
	ran      bool // and nobody was told since that it has not happened
	told     int  // who was told that it has not happened, and has not run it since
	happened bool
	late     bool // where it has: when the lease of the run had ended
}

func newBooks(saga Saga) map[string]*book {
	books := make(map[string]*book, len(saga))
	for _, name := range saga.names() {
		books[name] = &book{told: nobody}
	}
	return books
}

// judgeStep judges the start of a step's function.
func (w *world) judgeStep(ctx context.Context, p *Process, name string) {
	w.judgeStart(ctx, p, "step "+name)
	book := w.books[name]
	switch {
	case w.record.has(name):
		w.violate(Finished, "%s runs step %s, which is finished", p.name, name)
	case w.record.has(unwindingEntry):
		w.violate(Backward, "%s runs step %s, though the call is being undone", p.name, name)
	case !w.stage(name).AtMostOnce:
		return
	case !w.record.has(name + startedSuffix):
		w.violate(Started, "%s runs step %s, and the record does not say so", p.name, name)
	case book.ran && book.told != p.index:
		w.violate(Started, "%s runs step %s again", p.name, name)
	}
	book.ran, book.told = true, nobody
	w.stirred = true
}

// happen notes the effect of a step.
func (w *world) happen(ctx context.Context, name string) {
	w.books[name].happened, w.books[name].late = true, ctx.Err() != nil
	w.stirred = true
}

// truth answers a process that finds out whether a step has happened.
func (w *world) truth(t *thread) signal {
	book := w.books[t.asks]
	w.stirred = true
	if book.happened {
		return confirms
	}
	book.told = t.p.index
	return denies
}

// finishes notes that the function of a step has returned, or that it is known to have
// happened. That is the order of steps; what is recorded of them may arrive in another.
func (p *Process) finishes(name string) {
	p.did = append(p.did, name)
	p.returned = append(slices.DeleteFunc(p.returned, func(other string) bool { return other == name }), name)
}

// finish puts a step that is recorded now into the order of those that are.
func (w *world) finish(p *Process, name string) {
	before := p.returned[:slices.Index(p.returned, name)+1]
	at := len(w.finished)
	for at > 0 && !slices.Contains(before, w.finished[at-1]) && slices.Contains(p.returned, w.finished[at-1]) {
		at--
	}
	w.finished = slices.Insert(w.finished, at, name)
}

// judgeUndo judges the start of a compensation.
func (w *world) judgeUndo(ctx context.Context, p *Process, name, output string) {
	w.judgeStart(ctx, p, "compensation of step "+name)
	step, finished := w.record.entry(name)
	last := w.last()
	switch {
	case w.record.has(name + compensatedSuffix):
		w.violate(Undone, "%s undoes step %s, which is undone", p.name, name)
	case !w.record.has(unwindingEntry):
		w.violate(Backward, "%s undoes step %s, and the record does not say that the call has failed for good", p.name, name)
	case !finished:
		w.violate(Paired, "%s undoes step %s, which is not finished", p.name, name)
	case w.stage(name).AtMostOnce && !w.books[name].happened:
		w.violate(Paired, "%s undoes step %s, which has not happened", p.name, name)
	case output != step.Output && !step.Omitted:
		w.violate(Kept, "%s undoes step %s by the output %q, recorded is %q", p.name, name, output, step.Output)
	case name != last:
		w.violate(Reverse, "%s undoes step %s, and step %s was finished later", p.name, name, last)
	}
}

// last is the step that has to be undone first.
func (w *world) last() string {
	left := w.left(w.record)
	for _, name := range slices.Backward(w.finished) {
		if slices.Contains(left, name) {
			return name
		}
	}
	return ""
}

// judgeOutput judges what a step has returned.
func (w *world) judgeOutput(ctx context.Context, p *Process, name, output string) {
	if ctx.Err() != nil || w.holder != p.index || w.regained {
		return // nobody knows what the record said when it was this process's
	}
	if step, finished := w.record.entry(name); !finished || step.Output != output && !step.Omitted {
		w.violate(Kept, "%s's step %s returns %q, recorded is %q", p.name, name, output, step.Output)
	}
}

// judgeSteps judges what a request has done to the steps of a record.
func (w *world) judgeSteps(p *Process, r *request, before, after record) {
	expired := before.Expired(w.now().Add(Allowance)) && after.Owner != before.Owner
	if !before.exists || expired && len(after.Steps) == 0 {
		before = record{} // this one is new
		w.finished, w.books = nil, newBooks(w.system.Saga)
	}
	for name, stored := range before.Steps {
		if string(after.Steps[name]) != string(stored) || !after.has(name) {
			w.violate(Kept, "%s's %s has changed %q from %s to %s", p.name, r.name, name, stored, after.Steps[name])
		}
	}
	for _, name := range w.system.Saga.names() {
		if after.has(name) && !before.has(name) {
			w.finish(p, name)
		}
		for _, mark := range []string{name, name + compensatedSuffix} {
			if after.has(mark) && !before.has(mark) && !slices.Contains(p.did, mark) {
				w.violate(Paired, "%s's %s has recorded %q, and that has not succeeded", p.name, r.name, mark)
			}
		}
	}
	if after.exists && after.Status.Finished() {
		w.judgeOutcome(p, after)
	}
}

// judgeOutcome judges what a call has come to.
func (w *world) judgeOutcome(p *Process, r record) {
	if len(w.system.Saga) == 0 || w.regained {
		return
	}
	if r.Status == persistence.StatusCompleted {
		for _, name := range w.system.Saga.names() {
			if !r.has(name) {
				w.violate(Documented, "%s has completed a call whose step %s is not finished", p.name, name)
			}
		}
		if r.has(unwindingEntry) {
			w.violate(Documented, "%s has completed a call that is being undone", p.name)
		}
		return
	}
	for _, name := range w.left(r) {
		w.violate(Paired, "%s has failed for good, and step %s is not undone", p.name, name)
	}
	for i, name := range w.system.Saga.names() {
		book := w.books[name]
		if w.system.Saga[i].Compensable && book.happened && !book.late && !r.has(name+compensatedSuffix) {
			w.violate(Paired, "%s has failed for good, and step %s, which has happened, is not undone", p.name, name)
		}
		if r.has(name+compensatedSuffix) && !r.has(unwindingEntry) {
			w.violate(Documented, "%s has undone step %s, and the record does not say why", p.name, name)
		}
	}
	if why, exists := r.Steps[unwindingEntry]; exists && failureIn(why) != failureIn(r.Result) {
		w.violate(Documented, "%s has recorded the failure %s, decided was %s", p.name, r.Result, why)
	}
}

// failure is what is recorded of one, whatever else is.
type failure struct{ ErrorType, ErrorMessage string }

func failureIn(stored []byte) (f failure) {
	_ = json.Unmarshal(stored, &f) // what is no failure is an empty one
	return f
}

// judgeWrites judges what a request has done besides the record.
func (w *world) judgeWrites(p *Process, r *request, before, after record, applied map[string]int) {
	if !w.system.Saga.enlists() && !w.system.AtOnce {
		return
	}
	wants := func(name string, recorded bool) {
		want := applied[name]
		if recorded {
			want++
		}
		if got := w.applied[name]; got != want {
			w.violate(Committed, "%s's %s has applied the write %q %d times, want %d", p.name, r.name, name, got-applied[name], want-applied[name])
		}
	}
	for i, name := range w.system.Saga.names() {
		wants(name, w.system.Saga[i].Enlists && after.has(name) && !before.has(name))
		wants(undoing(name), w.system.Saga[i].Enlists && after.has(name+compensatedSuffix) && !before.has(name+compensatedSuffix))
	}
	completed := func(r record) bool { return r.Status == persistence.StatusCompleted }
	wants(completion, completed(after) && (!completed(before) || after.Owner != before.Owner))
}

// stage is what a step of the saga is like.
func (w *world) stage(name string) Stage {
	return w.system.Saga[slices.Index(w.system.Saga.names(), name)]
}

// writeBooks adds what is known of the steps to the digest of a state.
func (w *world) writeBooks(d *digest) {
	d.number(len(w.finished))
	for _, name := range w.finished {
		d.text(name)
	}
	for i, name := range w.system.Saga.names() {
		if w.system.Saga[i].AtMostOnce {
			book := w.books[name]
			d.flag(book.ran)
			d.number(book.told)
			d.flag(book.happened)
			d.flag(book.late)
		}
	}
}
