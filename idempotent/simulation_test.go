package idempotent_test

import (
	"cmp"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/proof/simulation"
)

var (
	simulatedSeeds = flag.Uint64("seeds", 0, "how many seeds each simulation runs; 0 are as few as show all that happens in it")
	simulatedSeed  = flag.Uint64("seed", 0, "the one seed that the simulations replay, line by line")
)

// Whatever a seed does to the engine, its store and its callers, no promise is
// broken. A seed that breaks one is replayed by make simulate SEED=n.
func TestNoSeedBreaksAPromise(t *testing.T) { simulate(t, simulation.Orders, 100) }

// Whatever it does to transfers of money, by writes that commit with the record, not
// a unit is made or lost, and each is applied as often as its record says.
func TestNoSeedMovesMoneyTwice(t *testing.T) { simulate(t, simulation.Transfers, 50) }

// simulate runs seeds. In as few as enough, all happens that a simulation is about.
func simulate(t *testing.T, b simulation.Business, enough uint64) {
	t.Helper()
	if seed := *simulatedSeed; seed != 0 {
		report := simulation.Run(t, b, seed, simulation.Flaw{})
		t.Logf("\n%s\n%v", strings.Join(report.Log, "\n"), report.Counts)
		if len(report.Violations) > 0 {
			t.Errorf("seed %d: %v", seed, report.Violations[0])
		}
		return
	}
	seeds := cmp.Or(*simulatedSeeds, enough)
	started, lasted, counts := time.Now(), time.Duration(0), make(simulation.Counts)
	for seed := uint64(1); seed <= seeds; seed++ {
		report := simulation.Run(t, b, seed, simulation.Flaw{})
		if len(report.Violations) > 0 {
			t.Fatalf("%v\n\nreplay it with: make simulate SEED=%d", report, seed)
		}
		lasted += report.Lasted
		counts.Add(report.Counts)
	}
	t.Logf("%d seeds: %v of virtual time in %v\n%v", seeds, lasted.Round(time.Second), time.Since(started).Round(time.Millisecond), counts)
	if seeds < enough {
		return
	}
	for _, what := range simulation.Everything(b) {
		if counts[what] == 0 {
			t.Errorf("in %d seeds there was no %q", seeds, what)
		}
	}
}
