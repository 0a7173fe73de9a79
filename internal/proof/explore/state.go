package explore

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

var seed = maphash.MakeSeed()

// event is something that a process has seen. Its code is deterministic, so two
// processes that have seen the same events are in the same state.
type event struct {
	thread int
	signal signal
	at     time.Time
	reply  reply // of the request, where it arrived
	// failure is the error of a call that asked for the request, where that is over.
	failure string
}

// reply is all that the reply to a request can depend on: the record that the
// request left behind.
type reply struct {
	changed bool // by the request
	record  record
}

// record is what is stored, if anything is.
type record struct {
	persistence.Record
	exists bool
}

// digest collects what a state consists of. Times count from now, so that
// states that differ in nothing but the date are one.
type digest struct {
	owners map[string]string
	now    time.Time
	bytes  []byte
}

func (d *digest) number(n int) { d.bytes = binary.AppendVarint(d.bytes, int64(n)) }

func (d *digest) text(s string) {
	d.number(len(s))
	d.bytes = append(d.bytes, s...)
}

func (d *digest) flag(b bool) { d.text(strconv.FormatBool(b)) }

func (d *digest) time(t time.Time) {
	if t.IsZero() {
		d.text("never")
		return
	}
	d.number(int(t.Sub(d.now)))
}

func (d *digest) record(r record) {
	d.flag(r.exists)
	if !r.exists {
		return
	}
	d.text(string(r.Status))
	d.text(d.owners[r.Owner])
	d.time(r.LeaseUntil)
	d.time(r.ExpiresAt)
	d.text(string(r.Result))
	d.flag(r.ResultOmitted)
	d.number(r.Attempt)
	d.number(len(r.Steps))
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		d.text(name)
		d.text(string(r.Steps[name]))
	}
}

func (d *digest) past(events []event) {
	d.number(len(events))
	for _, e := range events {
		d.number(e.thread)
		d.number(int(e.signal))
		d.time(e.at)
		d.flag(e.reply.changed)
		d.record(e.reply.record)
		d.text(e.failure)
	}
}

// state is a digest of everything that the future depends on.
func (w *world) state() uint64 {
	d := digest{owners: w.owners, now: w.now()}
	d.number(d.now.Nanosecond()) // expiries are compared in whole seconds
	d.record(w.record)
	d.number(w.faultsLeft)
	d.number(w.crashesLeft)
	d.number(w.failuresLeft)
	d.number(w.passesLeft)
	d.number(w.author)
	d.number(w.holder)
	d.flag(w.regained)
	d.number(w.urgent)
	if w.bounds.Once {
		d.time(w.ranUntil)
	}
	d.number(len(w.results))
	for _, result := range w.results {
		d.text(result)
	}
	w.writeBooks(&d)
	w.writeExecutions(&d)
	for _, p := range w.processes {
		d.flag(p.ended && p.verdict.Done == idempotent.DoneNothing)
		if p.over() {
			d.number(int(gone))
			continue
		}
		d.flag(p.begun)
		if !p.entered { // from then on it is not rejected any more
			d.number(p.met)
		}
		d.past(p.past)
		for _, t := range p.threads {
			d.number(int(t.at))
			if t.at == asking || t.at == hearing {
				d.flag(*t.request.applied)
			}
			if t.at == hearing {
				d.flag(t.request.reply.changed)
				d.record(t.request.reply.record)
			}
		}
	}
	strays := make([]string, len(w.network))
	for i, s := range w.network {
		one := digest{owners: w.owners, now: d.now}
		one.number(s.from.index)
		one.flag(*s.request.applied)
		one.past(s.request.past)
		strays[i] = string(one.bytes)
	}
	slices.Sort(strays) // where they come from is all the same
	for _, s := range strays {
		d.text(s)
	}
	return maphash.Bytes(seed, d.bytes)
}

// prospect is a digest of what a caller has before it that has just been told to repeat
// its request, where nobody else does anything.
func (w *world) prospect() uint64 {
	d := digest{owners: w.owners, now: w.now()}
	d.number(d.now.Nanosecond())
	d.record(w.record)
	d.number(int(w.processes[w.told].verdict.After))
	d.flag(w.holder == nobody)
	d.number(len(w.results))
	for _, result := range w.results {
		d.text(result)
	}
	w.writeBooks(&d)
	w.writeExecutions(&d)
	return maphash.Bytes(seed, d.bytes)
}

// describe is a record in words.
func (w *world) describe(r record) string {
	if !r.exists {
		return "no record"
	}
	text := fmt.Sprintf("a %s record", r.Status)
	if name := w.owners[r.Owner]; name != "" {
		text += " of " + name
	}
	if !r.LeaseUntil.IsZero() {
		text += fmt.Sprintf(" with a lease until %v", r.LeaseUntil.Sub(w.base))
	}
	if len(r.Result) > 0 {
		text += fmt.Sprintf(" with %q", r.Result)
	}
	return text
}
