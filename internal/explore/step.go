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
	unwinds
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
	var kinds, faults []kind
	switch p.at {
	case idle: // callers are alike, so they may as well come in order
		if i == 0 || w.processes[i-1].at != idle || w.processes[i-1].Skew != p.Skew {
			kinds = []kind{starts}
		}
	case asking:
		kinds, faults = []kind{applies}, []kind{delays, crashes}
		if !p.request.reads {
			faults = append(faults, duplicates)
		}
	case hearing:
		kinds, faults = []kind{replies}, []kind{losesReply, crashes}
	case running:
		kinds, faults = []kind{returnsOK, returnsError, unwinds}, []kind{crashes}
	}
	if w.faultsLeft > 0 {
		kinds = append(kinds, faults...)
	}
	steps := make([]step, len(kinds))
	for n, k := range kinds {
		steps[n] = step{k, uint8(i)}
	}
	return steps
}

// take makes a step happen.
func (w *world) take(s step) {
	w.tell(s)
	w.urgent = nobody
	defer w.press(s)
	switch s.kind {
	case starts:
		w.start(w.processes[s.who])
	case applies:
		w.apply(w.processes[s.who])
	case replies:
		w.resume(w.processes[s.who], arrived)
	case returnsOK:
		w.resume(w.processes[s.who], returns)
	case returnsError:
		w.resume(w.processes[s.who], fails)
	case unwinds:
		w.resume(w.processes[s.who], panics)
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
		w.faultsLeft--
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
// and has to ask next.
func (w *world) press(s step) {
	if w.bounds.Full {
		return
	}
	switch s.kind {
	case starts, applies, duplicates, returnsOK, returnsError, unwinds:
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
		text = name() + "'s function returns its result"
	case returnsError:
		text = name() + "'s function fails"
	case unwinds:
		text = name() + "'s function panics"
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
