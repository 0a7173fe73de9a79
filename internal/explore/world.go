package explore

import (
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

	record   record            // that is stored
	owners   map[string]string // from tokens to names that are the same in every execution
	author   int               // who has changed the record last
	holder   int               // who has acquired the record last
	regained bool              // by a copy of the request by which the holder had acquired it before
	results  []string          // all that have been recorded
	ranUntil time.Time         // when the record of the last run expires
	books    map[string]*book  // of the saga's steps
	finished []string          // steps, in the order in which that was recorded
	applied  map[string]int    // how often each enlisted write was
	stirred  bool              // the books have changed in this step
	violated *Violation
	trace    *[]string // nil where nobody wants to know
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
		owners: make(map[string]string), urgent: nobody, author: nobody, holder: nobody,
	}
	for i := range b.Callers {
		w.add(b.skew(i))
	}
	return w
}

// troubled tells whether anything has gone wrong.
func (w *world) troubled() bool {
	return w.faultsLeft < w.bounds.Faults || w.crashesLeft < w.bounds.Crashes || w.passesLeft < w.bounds.Passes
}

func (w *world) add(skew time.Duration) *Process {
	i := len(w.processes)
	p := &Process{
		Skew: skew, world: w, index: i, name: string(rune('A' + i)),
		resume: make(chan signal), met: nobody,
	}
	w.processes = append(w.processes, p)
	return p
}

func (w *world) start(p *Process) {
	protocol, err := w.table.Connect(p)
	if err != nil {
		panic(err) // a System that can't be set up
	}
	p.past = append(p.past, event{at: w.now()})
	p.begin(protocol)
	synctest.Wait()
	w.judgeEnd(p)
}

// resume lets a process go on until it stops again.
func (w *world) resume(p *Process, s signal) {
	e := event{signal: s, at: w.now()}
	if s == arrived {
		e.reply = p.request.reply
	}
	p.past = append(p.past, e)
	p.resume <- s
	synctest.Wait()
	w.judgeEnd(p)
}

// apply carries out the request of a process that waits for the reply.
func (w *world) apply(p *Process) {
	r := p.request
	r.reply = w.change(p, r, r.apply)
	if !r.reply.changed {
		p.met = w.author
	}
	*r.applied = true
	p.at = hearing
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
		if p.at != idle && !p.over() {
			p.resume <- dies
			synctest.Wait()
		}
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
		if p.at == running {
			if end, limited := p.ctx.Deadline(); limited {
				all = append(all, end)
			}
		}
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
	time.Sleep(t.Sub(w.now()))
	synctest.Wait()
}
