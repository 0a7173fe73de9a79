package figures

import (
	"math"
	"slices"
	"time"
)

// Durations are those of one thing that was measured many times.
type Durations []time.Duration

// Quantile is the smallest duration that at least the share q of all does not
// exceed; zero if nothing was measured.
func (d Durations) Quantile(q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	rank := int(math.Ceil(q*float64(len(d))-1e-9)) - 1
	return d.atRank(rank)
}

// MedianBetween are the bounds that the true median lies between in 95 of 100
// measurements like this one, whatever the distribution is (the binomial order
// statistics, by their normal approximation); zero if nothing was measured.
func (d Durations) MedianBetween() (low, high time.Duration) {
	if len(d) == 0 {
		return 0, 0
	}
	const z = 1.96 // of the normal distribution, for 95 %
	half, spread := float64(len(d))/2, z/2*math.Sqrt(float64(len(d)))
	return d.atRank(int(math.Floor(half-spread)) - 1), d.atRank(int(math.Ceil(half + spread)))
}

// atRank returns the duration that rank others are shorter than, or the nearest
// that there is.
func (d Durations) atRank(rank int) time.Duration {
	return slices.Sorted(slices.Values(d))[min(max(rank, 0), len(d)-1)]
}
