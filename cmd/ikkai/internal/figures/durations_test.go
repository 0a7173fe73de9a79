package figures

import (
	"testing"
	"time"
)

// upTo are 1, 2, 3, ... n ns, the longest first.
func upTo(n int) Durations {
	var d Durations
	for i := range n {
		d = append(d, time.Duration(n-i))
	}
	return d
}

func TestQuantile(t *testing.T) {
	for _, test := range []struct {
		durations Durations
		q         float64
		want      time.Duration
	}{
		{nil, 0.5, 0},
		{upTo(1), 0.99, 1},
		{upTo(2), 0.5, 1},
		{upTo(3), 0.5, 2},
		{upTo(10), 0.9, 9},
		{upTo(10), 0.91, 10},
		{upTo(100), 0.99, 99},
		{upTo(10), 1, 10},
		{upTo(10), 0, 1},
	} {
		if got := test.durations.Quantile(test.q); got != test.want {
			t.Errorf("the %v quantile of %d durations is %d, want %d", test.q, len(test.durations), got, test.want)
		}
	}
}

func TestMedianBetween(t *testing.T) {
	for _, test := range []struct {
		measured  int
		low, high time.Duration
	}{
		{0, 0, 0},
		{1, 1, 1},
		{3, 1, 3},
		{40, 13, 28},
		{100, 40, 61}, // as statistical tables have it
	} {
		if low, high := upTo(test.measured).MedianBetween(); low != test.low || high != test.high {
			t.Errorf("the median of %d durations is between %d and %d, want %d and %d", test.measured, low, high, test.low, test.high)
		}
	}
}

func TestMeasuredDurationsKeepTheirOrder(t *testing.T) {
	durations := upTo(3)
	durations.Quantile(0.5)
	durations.MedianBetween()
	if durations[0] != 3 || durations[2] != 1 {
		t.Errorf("the durations were sorted in place: %v", durations)
	}
}
