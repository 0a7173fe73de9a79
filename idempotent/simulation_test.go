package idempotent_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/internal/simulation"
)

var (
	simulatedSeeds = flag.Uint64("seeds", 100, "how many seeds the simulation runs")
	simulatedSeed  = flag.Uint64("seed", 0, "the one seed that the simulation replays, line by line")
)

// Whatever a seed does to the engine, its store and its callers, no promise is
// broken. A seed that breaks one is replayed by make simulate SEED=n.
func TestNoSeedBreaksAPromise(t *testing.T) {
	if seed := *simulatedSeed; seed != 0 {
		report := simulation.Run(t, seed, simulation.Flaw{})
		t.Logf("\n%s\n%v", strings.Join(report.Log, "\n"), report.Counts)
		if len(report.Violations) > 0 {
			t.Errorf("seed %d: %v", seed, report.Violations[0])
		}
		return
	}
	started, lasted, counts := time.Now(), time.Duration(0), make(simulation.Counts)
	for seed := uint64(1); seed <= *simulatedSeeds; seed++ {
		report := simulation.Run(t, seed, simulation.Flaw{})
		if len(report.Violations) > 0 {
			t.Fatalf("%v\n\nreplay it with: make simulate SEED=%d", report, seed)
		}
		lasted += report.Lasted
		counts.Add(report.Counts)
	}
	t.Logf("%d seeds: %v of virtual time in %v\n%v", *simulatedSeeds, lasted.Round(time.Second), time.Since(started).Round(time.Millisecond), counts)
	if *simulatedSeeds < 100 {
		return // too few for everything to happen
	}
	for _, what := range simulation.Everything() {
		if counts[what] == 0 {
			t.Errorf("in %d seeds there was no %q", *simulatedSeeds, what)
		}
	}
}
