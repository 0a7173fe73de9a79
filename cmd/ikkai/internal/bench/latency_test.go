package bench

import (
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	upTo := func(n int) latencies {
		var l latencies
		for i := range n {
			l = append(l, time.Duration(n-i)) // in falling order
		}
		return l
	}
	tests := []struct {
		name string
		l    latencies
		q    float64
		want time.Duration
	}{
		{"of nothing", nil, 0.5, 0},
		{"of one", upTo(1), 0.99, 1},
		{"the median of an even number", upTo(100), 0.50, 50},
		{"the median of an odd number", upTo(101), 0.50, 51},
		{"p99", upTo(1000), 0.99, 990},
		{"the smallest", upTo(10), 0, 1},
		{"the largest", upTo(10), 1, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.l.quantile(test.q); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
