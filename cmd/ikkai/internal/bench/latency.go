package bench

import (
	"slices"
	"time"
)

// latencies are the durations of one call, measured many times.
type latencies []time.Duration

// quantile is the smallest duration that at least the share q of all does not
// exceed; zero if nothing was measured.
func (l latencies) quantile(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(l))
	rank := int(q*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}
