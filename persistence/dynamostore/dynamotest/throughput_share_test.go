package dynamotest_test

import (
	"math"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A share of the load meets a share of the limits.
func TestPartitionsMayBearAShare(t *testing.T) {
	l := newLoad(t, nil, dynamotest.WithThroughputShare(0.1))
	for name, c := range map[string]struct {
		reason string
		send   func(n int) error
		limit  int
	}{
		"one key":  {"TableWriteKeyRangeThroughputExceeded", func(int) error { return l.putItem(order("one", 1)) }, 100},
		"its read": {"TableReadKeyRangeThroughputExceeded", func(int) error { return l.get("one", true) }, 300},
	} {
		if got := l.accepted(c.limit+50, c.reason, c.send); got != c.limit {
			t.Errorf("%s: %d, want %d", name, got, c.limit)
		}
	}
	for _, share := range []float64{0, -1, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a share of %v is taken", share)
				}
			}()
			dynamotest.WithThroughputShare(share)
		}()
	}
}
