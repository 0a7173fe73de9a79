package simulation

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// Report is what came of a simulation.
type Report struct {
	Seed       uint64
	Log        []string
	Counts     Counts
	Violations []Violation
	// Missing is how much of the money is gone at the end; less than 0 if there is
	// more than there was.
	Missing int
	// Lasted is the virtual time that it covers.
	Lasted time.Duration
}

// String tells of the first violation, if there is one, and of what led to it.
func (r Report) String() string {
	if len(r.Violations) == 0 {
		return fmt.Sprintf("seed %d: nothing broken in %v", r.Seed, r.Lasted)
	}
	first := r.Violations[0]
	const enough = 60
	tail := r.Log[max(0, first.Line-enough):first.Line]
	return fmt.Sprintf("seed %d: %v\n%s", r.Seed, first, strings.Join(tail, "\n"))
}

// Run runs the simulation of a seed, with a flaw if there is to be one. It seeds
// the process's cryptographic randomness, so the test must not be parallel.
func Run(t *testing.T, b Business, seed uint64, f Flaw) (report Report) {
	t.Helper()
	cryptotest.SetGlobalRandom(t, seed)
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w, err := newWorld(newScenario(b, seed), f)
		if err != nil {
			t.Fatal(err)
		}
		w.pass()
		report = Report{Seed: seed, Log: w.log, Counts: w.counts, Violations: w.violations, Lasted: time.Since(w.start)}
		if w.bank != nil {
			report.Missing = w.bank.missing()
		}
	})
	return report
}

// pass lets everything happen.
func (w *world) pass() {
	w.say("seed", "%d: faults %v, freezes %v, deaths %v, failures %v", w.seed, w.faults, w.freezes, w.deaths, w.failures)
	var environments []*environment
	for n := range w.environments {
		environments = append(environments, w.newEnvironment(fmt.Sprint("env-", n+1)))
	}
	var clients sync.WaitGroup
	for n := range w.clients {
		c := &client{world: w, name: fmt.Sprint("client-", n+1), dice: w.dice(w.id()), environments: environments}
		clients.Go(c.act)
	}
	w.ended.Go(w.sweeps)
	clients.Wait()
	w.stopFaults()
	w.ended.Wait()
	w.quiet(append(environments, w.newEnvironment("env-new")))
}

// sweeps lets the TTL remove what has expired, now and then.
func (w *world) sweeps() {
	dice := w.dice(w.id())
	for !w.isFair() {
		w.sleep(between(dice, 5*time.Second, 2*time.Minute))
		w.sweep()
	}
}

// quiet is the end: no faults any more, and no lease of anybody.
func (w *world) quiet(environments []*environment) {
	w.say("quiet", "the faults have stopped")
	var longest time.Duration
	for _, op := range w.operations {
		longest = max(longest, op.longestLease())
	}
	w.sleep(longest + clockSkew)
	for at, op := range w.operations {
		for _, o := range op.orders {
			for _, e := range environments {
				w.probe(e, at, o)
			}
		}
	}
	w.ended.Wait()
}
