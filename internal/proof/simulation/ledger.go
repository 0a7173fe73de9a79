package simulation

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// ledger is the side effect: which run of the function did what, when, and by what
// right. It knows nothing of leases or owners, and so is where it shows what they
// are good for.
type ledger struct {
	mu       sync.Mutex
	runs     []*run            // run n at n-1
	of       map[string][]*run // those that have a lease
	finished map[string][]outcome
}

func newLedger() ledger {
	return ledger{of: make(map[string][]*run), finished: make(map[string][]outcome)}
}

// run is one run of the function.
type run struct {
	id     int
	key    string
	amount int
	by     *invocation
	// limit is when its context ends at the latest; zero where it has no deadline.
	limit  time.Time
	effect bool
	ended  time.Time // zero while it goes on
	leased bool
}

// until is when its right to run ends: with its context, or with the lease that was
// confirmed last.
func (r *run) until() time.Time {
	if !r.leased {
		return r.limit
	}
	until := r.by.until()
	if !r.limit.IsZero() && r.limit.Before(until) {
		until = r.limit
	}
	return until
}

func (r *run) String() string { return fmt.Sprintf("run %d by %s", r.id, r.by.name) }

// outcome is what is recorded of a run.
type outcome struct {
	run     *run
	status  persistence.Status
	expires time.Time
}

// open enters the start of a run.
func (w *world) open(i *invocation, limit time.Time) *run {
	l := &w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &run{id: len(l.runs) + 1, key: i.key, amount: i.order.Amount, by: i, limit: limit, leased: i.leased}
	l.runs = append(l.runs, r)
	until := r.until()
	w.say(i.name, "run %d starts, with the right to run for %v", r.id, time.Until(until))
	if !time.Now().Before(until) {
		w.broken(Alone, "%v starts without a right to", r)
	}
	if !r.leased {
		return r // beside any number of others
	}
	for _, other := range l.of[i.key] {
		if left := time.Until(other.until()); other.ended.IsZero() && left > 0 {
			w.broken(Alone, "%v starts while %v has %v left", r, other, left)
		}
	}
	if last, found := l.last(i.key); found && !last.over() {
		w.broken(Final, "%v starts although %v is recorded until %v", r, last.run, last.expires)
	}
	l.of[i.key] = append(l.of[i.key], r)
	return r
}

// enter enters the effect of a run.
func (w *world) enter(r *run) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	w.say(r.by.name, "run %d has its effect", r.id)
	w.count(effects)
	r.by.act()
	r.effect = true
}

// close enters the end of a run.
func (w *world) close(r *run) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	r.ended = time.Now()
}

// record enters what the table says of a run that is over.
func (w *world) record(i *invocation, found persistence.Record) {
	l := &w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	w.count(recorded)
	id := runOf(found.Result)
	if id < 1 || id > len(l.runs) || l.runs[id-1].key != i.key {
		w.broken(Truthful, "%s is no result of this key", found.Result)
		return
	}
	r, of := l.runs[id-1], l.of[i.key]
	if !r.effect && w.business == Orders {
		w.broken(Truthful, "%v is recorded, and has had no effect", r)
	}
	if forgotten := r.ended.Add(i.process.ahead + i.operation.config.TTL); found.ExpiresAt.Before(forgotten) {
		w.broken(Final, "%v is recorded until %v only", r, found.ExpiresAt)
	}
	// Whoever gets to the end of undoing records the failure of the run that began it.
	undone := i.operation.terms.way == withStep && found.Status == persistence.StatusFailed
	if r.leased && !undone && of[len(of)-1] != r {
		latest := of[len(of)-1]
		w.broken(OwnersOnly, "%v is recorded although %v came after it", r, latest)
	}
	if last, found := l.last(i.key); found && !last.over() {
		w.broken(Final, "%v is recorded although %v is, until %v", r, last.run, last.expires)
	}
	l.finished[i.key] = append(l.finished[i.key], outcome{r, found.Status, found.ExpiresAt})
}

// verify compares an answer with what is recorded.
func (w *world) verify(i *invocation, id int, status persistence.Status) {
	l := &w.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.finished[i.key] {
		if o.run.id != id || o.status != status {
			continue
		}
		if past(o.expires, i.called.Add(i.process.ahead), time.Second) {
			w.broken(Truthful, "%s is answered with %v, which expired at %v", i.name, o.run, o.expires)
		}
		if o.run.amount != i.order.Amount {
			w.broken(Truthful, "%s is answered with %v, which is of another payload", i.name, o.run)
		}
		return
	}
	w.broken(Truthful, "%s is answered with run %d as %s, which nothing records", i.name, id, status)
}

// over tells whether the outcome has expired by the fastest clock that there may
// be. From then on its record may have been replaced by somebody, and be gone.
func (o outcome) over() bool {
	return past(o.expires, time.Now().Add(clockSkew/2), time.Second)
}

// hasFinished tells whether a run of the key was ever recorded.
func (w *world) hasFinished(key string) bool {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	return len(w.ledger.finished[key]) > 0
}

func (l *ledger) last(key string) (outcome, bool) {
	finished := l.finished[key]
	if len(finished) == 0 {
		return outcome{}, false
	}
	return finished[len(finished)-1], true
}

// past tells whether a clock is past a time, both in whole units: the last one
// still counts as before.
func past(t, clock time.Time, unit time.Duration) bool {
	return t.Truncate(unit).Before(clock.Truncate(unit))
}

// declined is the message of a permanent failure.
const declined = "run %d is declined"

// runOf reads the run's number in a recorded result; 0 if there is none.
func runOf(result []byte) (id int) {
	var stored struct {
		receipt
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(result, &stored); err != nil {
		return 0
	}
	if stored.Run > 0 {
		return stored.Run
	}
	_, _ = fmt.Sscanf(stored.Message, declined, &id)
	return id
}
