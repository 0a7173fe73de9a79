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
	breaksOff // the function had its effect, and fails
	unwinds
	finds // the function finds out whether the step has happened
	passes
	removes
	// Faults.
	delays      // the request is lost, and may be applied any time later
	duplicates  // the request is applied, and a copy of it stays in the network
	losesReply  // the request was applied, its reply is lost
	crashes     // the process dies
	appliesLate // a request that was delayed, or a copy of one
	settles     // nothing more happens but a last caller, after all leases
)

// step is one thing that happens, and to whom: a process, or a request in the network.
type step struct {
	kind kind
	who  uint8
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
		steps = append(steps, step{settles, 0})
	}
	if w.passesLeft > 0 {
		for i := range w.instants() {
			steps = append(steps, step{passes, uint8(i)})
		}
	}
	if w.urgent != nobody {
		return steps
	}
	for i := range w.network {
		steps = append(steps, step{appliesLate, uint8(i)})
	}
	if w.record.exists && w.record.Expired(w.now()) && !over {
		steps = append(steps, step{removes, 0})
	}
	return steps
}

// stepsOf returns the steps of one process.
func (w *world) stepsOf(i int) []step {
	p := w.processes[i]
	var kinds, faults []kind // besides crashes
	switch p.at {
	case idle: // callers are alike, so they may as well come in order
		if i == 0 || w.processes[i-1].Skew != p.Skew ||
			w.processes[i-1].at != idle && !w.bounds.InTurn || w.processes[i-1].over() {
			kinds = []kind{starts}
		}
	case asking:
		kinds, faults = []kind{applies}, []kind{delays}
		if !p.request.reads {
			faults = append(faults, duplicates)
		}
	case hearing:
		kinds, faults = []kind{replies}, []kind{losesReply}
	case running:
		kinds = slices.Clone(p.ways)
		if len(w.system.Saga) > 0 && w.failuresLeft == 0 {
			kinds = kinds[:1]
		}
	}
	if w.faultsLeft > 0 {
		kinds = append(kinds, faults...)
	}
	if p.at != idle && !p.over() && w.faultsLeft+w.crashesLeft > 0 {
		kinds = append(kinds, crashes)
	}
	steps := make([]step, len(kinds))
	for n, k := range kinds {
		steps[n] = step{k, uint8(i)}
	}
	return steps
}

// ends are the ways in which a function ends.
var ends = map[kind]signal{
	returnsOK: returns, returnsError: fails, failsForGood: declines, breaksOff: breaks, unwinds: panics,
}

// take makes a step happen.
func (w *world) take(s step) {
	w.tell(s)
	w.urgent, w.stirred = nobody, false
	defer w.press(s)
	switch s.kind {
	case starts:
		if w.bounds.InTurn {
			w.outlastLease()
		}
		w.start(w.processes[s.who])
	case applies:
		w.apply(w.processes[s.who])
	case replies:
		w.resume(w.processes[s.who], arrived)
	case returnsOK, returnsError, failsForGood, breaksOff, unwinds:
		if s.kind != returnsOK && len(w.system.Saga) > 0 {
			w.failuresLeft--
		}
		w.resume(w.processes[s.who], ends[s.kind])
	case finds:
		w.resume(w.processes[s.who], w.truth(w.processes[s.who]))
	case passes:
		w.passesLeft--
		w.sleepUntil(w.instants()[s.who])
	case removes:
		w.table.RemoveExpired(w.now())
		w.look()
		w.author, w.holder = nobody, nobody
	case delays:
		w.faultsLeft--
		p := w.processes[s.who]
		if !p.request.reads {
			w.network = append(w.network, stray{p, p.request})
		}
		w.resume(p, lost)
	case duplicates:
		w.faultsLeft--
		p := w.processes[s.who]
		w.network = append(w.network, stray{p, p.request})
		w.apply(p)
	case losesReply:
		w.faultsLeft--
		w.resume(w.processes[s.who], lost)
	case crashes:
		if w.crashesLeft > 0 {
			w.crashesLeft--
		} else {
			w.faultsLeft--
		}
		w.resume(w.processes[s.who], dies)
	case appliesLate:
		late := w.network[s.who]
		w.network = slices.Delete(w.network, int(s.who), int(s.who)+1)
		w.applyLate(late)
	case settles:
		w.settle()
	}
}

// press makes a process urgent that has begun, been answered, or left its function,
// and has to ask next. An effect that others can find out about concerns them.
func (w *world) press(s step) {
	if w.bounds.Full || w.stirred {
		return
	}
	switch s.kind {
	case starts, applies, duplicates, returnsOK, returnsError, failsForGood, breaksOff, unwinds, finds:
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
	name := func() string { return w.processes[s.who].name }
	switch s.kind {
	case starts:
		text = name() + " starts"
	case applies:
		text = fmt.Sprintf("%s's %s is applied", name(), w.processes[s.who].request.name)
	case replies:
		text = fmt.Sprintf("%s gets the reply to its %s", name(), w.processes[s.who].request.name)
	case returnsOK:
		text = fmt.Sprintf("%s's %s returns its result", name(), w.processes[s.who].doing)
	case returnsError:
		text = fmt.Sprintf("%s's %s fails", name(), w.processes[s.who].doing)
	case failsForGood:
		text = fmt.Sprintf("%s's %s fails for good", name(), w.processes[s.who].doing)
	case breaksOff:
		text = fmt.Sprintf("%s's %s fails after its effect", name(), w.processes[s.who].doing)
	case unwinds:
		text = fmt.Sprintf("%s's %s panics", name(), w.processes[s.who].doing)
	case finds:
		text = fmt.Sprintf("%s's %s finds out", name(), w.processes[s.who].doing)
	case passes:
		text = fmt.Sprintf("time passes, to %v", w.instants()[s.who].Sub(w.base))
	case removes:
		text = "TTL removes the record"
	case delays:
		text = fmt.Sprintf("%s's %s is lost on its way", name(), w.processes[s.who].request.name)
	case duplicates:
		text = fmt.Sprintf("%s's %s is applied, and a copy of it stays in the network", name(), w.processes[s.who].request.name)
	case losesReply:
		text = fmt.Sprintf("the reply to %s's %s is lost", name(), w.processes[s.who].request.name)
	case crashes:
		text = name() + " dies"
	case appliesLate:
		late := w.network[s.who]
		text = fmt.Sprintf("%s's %s from before is applied", late.from.name, late.request.name)
	case settles:
		text = "all leases end, and one more caller comes"
	}
	*w.trace = append(*w.trace, text)
}
