package explore

import (
	"fmt"
	"slices"
)

// kind is what happens in a step.
type kind uint8

const (
	starts kind = iota
	applies
	replies
	returnsOK
	returnsError
	failsForGood
	suspends  // the function waits for something, and is invoked again
	breaksOff // the function had its effect, and fails
	unwinds
	finds // the function finds out whether the step has happened
	passes
	removes
	repeats // a caller goes by what it was told, and nothing else happens
	// Faults.
	delays      // the request is lost, and may be applied any time later
	duplicates  // the request is applied, and a copy of it stays in the network
	losesReply  // the request was applied, its reply is lost
	silences    // no try of the call is answered until its time is over; the first may be applied any time later
	refuses     // the table refuses a transaction
	crashes     // the process dies
	appliesLate // a request that was delayed, or a copy of one
	settles     // nothing more happens but a last caller, after all leases
)

// step is one thing that happens, and to whom: a thread of a process, or a request in
// the network.
type step struct {
	kind   kind
	who    uint8
	thread uint8
}

// enabled returns the steps that are possible now.
//
// While a process is urgent, nobody else moves unless time passes first. What it
// has done last concerns nobody else, so that any step of another process could
// as well have been taken before, or can be taken after.
func (w *world) enabled() []step {
	var steps []step
	over := true
	for i, p := range w.processes {
		over = over && p.over()
		if w.urgent == nobody || w.urgent == i {
			steps = append(steps, w.stepsOf(i)...)
		}
	}
	if over {
		steps = append(steps, step{kind: settles})
	}
	if w.passesLeft > 0 {
		for i := range w.instants() {
			steps = append(steps, step{kind: passes, who: uint8(i)})
		}
	}
	if w.urgent != nobody {
		return steps
	}
	for i := range w.network {
		steps = append(steps, step{kind: appliesLate, who: uint8(i)})
	}
	if w.record.exists && w.record.Expired(w.now()) && !over {
		steps = append(steps, step{kind: removes})
	}
	return steps
}

// stepsOf returns the steps of one process.
func (w *world) stepsOf(i int) []step {
	p := w.processes[i]
	switch {
	case p.over():
		return nil
	case !p.begun: // callers are alike, so they may as well come in order
		if i == 0 || w.processes[i-1].Skew != p.Skew ||
			w.processes[i-1].begun && !w.bounds.InTurn || w.processes[i-1].over() {
			return []step{{kind: starts, who: uint8(i)}}
		}
		return nil
	}
	var steps []step
	for n, t := range p.threads {
		for _, k := range w.kindsOf(t) {
			steps = append(steps, step{k, uint8(i), uint8(n)})
		}
	}
	if w.faultsLeft+w.crashesLeft > 0 {
		steps = append(steps, step{kind: crashes, who: uint8(i)})
	}
	return steps
}

// kindsOf returns what may happen to a thread.
func (w *world) kindsOf(t *thread) []kind {
	var kinds, faults []kind // besides crashes
	switch t.at {
	case asking:
		kinds, faults = []kind{applies}, []kind{delays}
		if !t.request.reads {
			faults = append(faults, duplicates)
		}
		if w.bounds.Silence && !t.request.limit.IsZero() {
			faults = append(faults, silences)
		}
		if t.request.commits {
			faults = append(faults, refuses)
		}
	case hearing:
		kinds, faults = []kind{replies}, []kind{losesReply}
	case running:
		kinds = slices.Clone(t.ways)
		if len(w.system.Saga) > 0 && w.failuresLeft == 0 {
			kinds = kinds[:1]
		}
	}
	if w.faultsLeft > 0 {
		kinds = append(kinds, faults...)
	}
	return kinds
}

// ends are the ways in which a function ends.
var ends = map[kind]signal{
	returnsOK: returns, returnsError: fails, failsForGood: declines, breaksOff: breaks, unwinds: panics, suspends: yields,
}

// take makes a step happen.
func (w *world) take(s step) {
	w.tell(s)
	w.urgent, w.told, w.stirred = nobody, nobody, false
	defer w.press(s)
	w.happens(s)
	w.gather()
	w.judgeHolds()
}

// happens is what a step does.
func (w *world) happens(s step) {
	switch s.kind {
	case starts:
		if w.bounds.InTurn {
			w.outlastLease()
		}
		w.start(w.processes[s.who])
		return
	case passes:
		w.passesLeft--
		w.sleepUntil(w.instants()[s.who])
		return
	case removes:
		w.table.RemoveExpired(w.now())
		w.look()
		w.author, w.holder = nobody, nobody
		return
	case crashes:
		if w.crashesLeft > 0 {
			w.crashesLeft--
		} else {
			w.faultsLeft--
		}
		w.kill(w.processes[s.who])
		return
	case appliesLate:
		late := w.network[s.who]
		w.network = slices.Delete(w.network, int(s.who), int(s.who)+1)
		w.applyLate(late)
		return
	case repeats:
		w.repeat(w.processes[s.who])
		return
	case settles:
		w.settle()
		return
	}
	t := w.threadOf(s)
	switch s.kind {
	case applies:
		w.apply(t)
	case replies:
		w.resume(t, arrived)
	case returnsOK, returnsError, failsForGood, suspends, breaksOff, unwinds:
		if s.kind != returnsOK && len(w.system.Saga) > 0 {
			w.failuresLeft--
		}
		w.resume(t, ends[s.kind])
	case finds:
		w.resume(t, w.truth(t))
	case delays:
		w.faultsLeft--
		w.stray(t)
		w.resume(t, lost)
	case duplicates:
		w.faultsLeft--
		w.stray(t)
		w.apply(t)
	case losesReply:
		w.faultsLeft--
		w.resume(t, lost)
	case silences:
		w.faultsLeft--
		w.sleepUntil(t.request.limit)
		if t.pauses() { // its context has told a renewal already
			w.stray(t)
			w.resume(t, silence)
		}
	case refuses:
		w.faultsLeft--
		w.resume(t, refused)
	}
}

func (w *world) threadOf(s step) *thread { return w.processes[s.who].threads[s.thread] }

// stray leaves a thread's request in the network.
func (w *world) stray(t *thread) {
	if !t.request.reads {
		w.network = append(w.network, stray{t.p, t.request})
	}
}

// press makes a process urgent that has begun, been answered, or left its function,
// and has to ask next. An effect that others can find out about concerns them.
func (w *world) press(s step) {
	if w.bounds.Full || w.stirred {
		return
	}
	switch s.kind {
	case starts, applies, duplicates, returnsOK, returnsError, failsForGood, suspends, breaksOff, unwinds, finds:
		if p := w.processes[s.who]; !p.over() {
			w.urgent = p.index
		}
	}
}

// tell writes a step into the trace, if there is one.
func (w *world) tell(s step) {
	if w.trace == nil {
		return
	}
	var text string
	name := func() string { return w.threadOf(s).name }
	switch s.kind {
	case starts:
		text = name() + " starts"
	case applies:
		text = fmt.Sprintf("%s's %s is applied", name(), w.threadOf(s).request.name)
	case replies:
		text = fmt.Sprintf("%s gets the reply to its %s", name(), w.threadOf(s).request.name)
	case returnsOK:
		text = fmt.Sprintf("%s's %s returns its result", name(), w.threadOf(s).doing)
	case returnsError:
		text = fmt.Sprintf("%s's %s fails", name(), w.threadOf(s).doing)
	case failsForGood:
		text = fmt.Sprintf("%s's %s fails for good", name(), w.threadOf(s).doing)
	case suspends:
		text = fmt.Sprintf("%s's %s is suspended", name(), w.threadOf(s).doing)
	case breaksOff:
		text = fmt.Sprintf("%s's %s fails after its effect", name(), w.threadOf(s).doing)
	case unwinds:
		text = fmt.Sprintf("%s's %s panics", name(), w.threadOf(s).doing)
	case finds:
		text = fmt.Sprintf("%s's %s finds out", name(), w.threadOf(s).doing)
	case passes:
		text = fmt.Sprintf("time passes, to %v", w.instants()[s.who].Sub(w.base))
	case removes:
		text = "TTL removes the record"
	case delays:
		text = fmt.Sprintf("%s's %s is lost on its way", name(), w.threadOf(s).request.name)
	case duplicates:
		text = fmt.Sprintf("%s's %s is applied, and a copy of it stays in the network", name(), w.threadOf(s).request.name)
	case losesReply:
		text = fmt.Sprintf("the reply to %s's %s is lost", name(), w.threadOf(s).request.name)
	case crashes:
		text = name() + " dies"
	case silences:
		text = fmt.Sprintf("no try of %s's %s is answered until its time is over", name(), w.threadOf(s).request.name)
	case refuses:
		text = fmt.Sprintf("the table refuses %s's %s", name(), w.threadOf(s).request.name)
	case repeats:
		text = name() + "'s caller goes by what it was told"
	case appliesLate:
		late := w.network[s.who]
		text = fmt.Sprintf("%s's %s from before is applied", late.from.name, late.request.name)
	case settles:
		text = "all leases end, and one more caller comes"
	}
	*w.trace = append(*w.trace, text)
}
