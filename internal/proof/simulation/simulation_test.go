package simulation_test

import (
	"testing"

	"github.com/ikkai-go/idempotency/internal/proof/simulation"
)

// A seed gives the same run every time: every request, every answer and every
// line of the ledger, at the same nanosecond.
func TestASeedIsReplayedExactly(t *testing.T) {
	for name, business := range map[string]simulation.Business{"orders": simulation.Orders, "transfers": simulation.Transfers} {
		t.Run(name, func(t *testing.T) { mustReplay(t, business) })
	}
}

func mustReplay(t *testing.T, b simulation.Business) {
	t.Helper()
	const seeds = 15
	for seed := range uint64(seeds) {
		first, second := simulation.Run(t, b, seed, simulation.Flaw{}), simulation.Run(t, b, seed, simulation.Flaw{})
		for n, line := range first.Log {
			if n >= len(second.Log) {
				t.Fatalf("seed %d: the second run ends at line %d, before\n%s", seed, n, line)
			}
			if line != second.Log[n] {
				t.Fatalf("seed %d differs in line %d:\n%s\n%s", seed, n, line, second.Log[n])
			}
		}
		if len(second.Log) != len(first.Log) {
			t.Fatalf("seed %d: the second run goes on with\n%s", seed, second.Log[len(first.Log)])
		}
	}
}
