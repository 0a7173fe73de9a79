package explore

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing/synctest"
	"time"
)

// nobody is the index of no process.
const nobody = -1

// world is one execution of a system.
type world struct {
	bounds       Bounds
	table        Table
	system       System
	base         time.Time
	processes    []*Process
	network      []stray
	faultsLeft   int
	crashesLeft  int
	failuresLeft int
	passesLeft   int
	urgent       int // who has to go on before anybody else, unless time passes
	told         int // who has just been told to repeat its request

	record     record            // that is stored
	owners     map[string]string // from tokens to names that are the same in every execution
	author     int               // who has changed the record last
	holder     int               // who has acquired the record last
	regained   bool              // by a copy of the request by which the holder had acquired it before
	results    []string          // all that have been recorded
	executions []*execution      // of durable functions
	ranUntil   time.Time         // when the record of the last run expires
	books      map[string]*book  // of the saga's steps
	finished   []string          // steps, in the order in which their functions have returned
	applied    map[string]int    // how often each enlisted write was
	stirred    bool              // the books have changed in this step
	violated   *Violation
	trace      *[]string // nil where nobody wants to know
}

// stray is a request in the network that may still be applied, whether its sender
// has given it up or has its reply.
type stray struct {
	from    *Process
	request *request
}

// newWorld begins an execution, in a bubble.
func newWorld(b Bounds, system System, table Table) *world {
	table.Reset()
	w := &world{
		bounds: b, system: system, table: table, books: newBooks(system.Saga), base: time.Now(), faultsLeft: b.Faults, crashesLeft: b.Crashes, failuresLeft: b.Failures, passesLeft: b.Passes,
		owners: make(map[string]string), urgent: nobody, told: nobody, author: nobody, holder: nobody,
	}
	for i := range b.Callers {
		p := w.add(b.skew(i))
		if i < invocationsApart {
			w.newExecution()
		}
		p.execution = w.executions[i%invocationsApart]
	}
	return w
}

// troubled tells whether anything has gone wrong.
func (w *world) troubled() bool {
	return w.faultsLeft < w.bounds.Faults || w.crashesLeft < w.bounds.Crashes || w.passesLeft < w.bounds.Passes
}

func (w *world) add(skew time.Duration) *Process {
	i := len(w.processes)
	p := &Process{Skew: skew, world: w, index: i, name: string(rune('A' + i)), met: nobody}
	for n := range stepping + len(w.system.Saga) {
		t := &thread{p: p, number: n, name: p.name, resume: make(chan signal)}
		switch {
		case n == renewing:
			t.name += "'s renewal"
		case n >= stepping:
			t.name += "'s thread " + strconv.Itoa(n-stepping+1)
		}
		p.threads = append(p.threads, t)
	}
	w.processes = append(w.processes, p)
	return p
}

func (w *world) start(p *Process) {
	protocol, err := w.table.Connect(p)
	if err != nil {
		panic(err) // a System that can't be set up
	}
	p.begun = true
	p.note(event{at: w.now()})
	p.begin(protocol)
	synctest.Wait()
	w.judgeEnds()
}

// resume lets a thread go on until its process stops again.
func (w *world) resume(t *thread, s signal) {
	e := event{thread: t.number, signal: s, at: w.now()}
	if s == arrived {
		e.reply = t.request.reply
	}
	t.p.note(e)
	t.at = idle
	t.resume <- s
	synctest.Wait()
	w.judgeEnds()
}

// kill ends a process, wherever it is.
func (w *world) kill(p *Process) {
	p.dead = true
	for _, t := range p.threads {
		if t.pauses() {
			t.resume <- dies
			synctest.Wait()
		}
	}
}

// apply carries out the request of a thread that waits for the reply.
func (w *world) apply(t *thread) {
	r := t.request
	r.reply = w.change(t.p, r, r.apply)
	if !r.reply.changed {
		t.p.met = w.author
	}
	*r.applied = true
	t.at = hearing
}

// applyLate carries out a request whose reply nobody waits for.
func (w *world) applyLate(s stray) {
	w.change(s.from, s.request, s.request.again)
	*s.request.applied = true
}

// change carries a request out and judges what it does to the record.
func (w *world) change(p *Process, r *request, do func()) reply {
	before, applied := w.record, w.applied
	do()
	w.look()
	after := w.record
	if after.Owner != "" && w.owners[after.Owner] == "" {
		p.tokens++
		w.owners[after.Owner] = p.name + strconv.Itoa(p.tokens)
	}
	if !maps.Equal(applied, w.applied) {
		p.wrote = true
		w.judgeNothing(p)
	}
	w.judgeWrites(p, r, before, after, applied)
	if reflect.DeepEqual(before, after) {
		return reply{record: before}
	}
	w.judgeChange(p, r, before, after)
	w.author = p.index
	if !after.exists {
		w.author = nobody
	}
	return reply{changed: true, record: after}
}

// stop ends all processes, so that the bubble can end.
func (w *world) stop() {
	for _, p := range w.processes {
		if p.begun && !p.over() {
			w.kill(p)
		}
	}
}

// gather takes up what processes have asked for and do not wait for any more.
func (w *world) gather() {
	for _, p := range w.processes {
		for _, r := range p.abandoned {
			w.network = append(w.network, stray{p, r})
		}
		p.abandoned = nil
	}
}

// look brings what is known of the record up to date.
func (w *world) look() {
	r, exists := w.table.Record()
	w.record = record{r, exists}
	if ledger, ok := w.table.(Ledger); ok {
		w.applied = ledger.Applied()
	}
}

// now is the true time.
func (w *world) now() time.Time { return time.Now().Round(0) }

// instants returns all that are ahead and at which a decision may change: the ends
// of leases, of records and of contexts, by the clock of anybody who may still look.
func (w *world) instants() []time.Time {
	var all []time.Time
	r := w.record
	ends := func(last time.Time, unit time.Duration) {
		if last.IsZero() {
			return
		}
		all = append(all, last.Add(unit))
		if w.bounds.Boundaries {
			all = append(all, last)
		}
	}
	for _, p := range w.processes {
		if p.over() {
			continue
		}
		for _, t := range p.threads {
			if t.at != running {
				continue
			}
			if end, limited := t.ctx.Deadline(); limited {
				all = append(all, end)
			}
		}
		all = append(all, p.instants()...)
		ends(shift(r.LeaseUntil, -p.Skew), time.Millisecond)
		ends(shift(r.ExpiresAt, -p.Skew), time.Second)
	}
	now := w.now()
	all = slices.DeleteFunc(all, func(t time.Time) bool { return !t.After(now) })
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// outlastLease waits for the end of a live lease.
func (w *world) outlastLease() {
	if end := w.record.LeaseUntil.Add(time.Millisecond); w.record.exists && end.After(w.now()) {
		w.sleepUntil(end)
	}
}

func (w *world) sleepUntil(t time.Time) {
	for _, p := range w.processes {
		p.meet()
	}
	time.Sleep(t.Sub(w.now()))
	synctest.Wait()
}
