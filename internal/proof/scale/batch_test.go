package scale

import (
	"testing"
	"time"
)

// A batch comes to its end, each item once, whatever its table refuses.
func TestABatchComesToItsEnd(t *testing.T) {
	for _, lanes := range []int{80, 160} {
		r := PlayJob(t, Job{Items: 20_000, Lanes: lanes, Share: 0.05})
		t.Logf("%d lanes: %.0f items a second, %d starts, %d throttled, %+v", lanes, float64(r.Items)/r.Took.Seconds(), r.Starts, r.Throttled, *r)
		if r.Missing+r.Repeated > 0 {
			t.Errorf("%d lanes: %d items have not run, %d have again", lanes, r.Missing, r.Repeated)
		}
		if r.Took > 10*time.Minute {
			t.Errorf("%d lanes: %v, in %d starts", lanes, r.Took, r.Starts)
		}
	}
}
