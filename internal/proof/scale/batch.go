package scale

import (
	"context"
	"strconv"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/batch"
)

// Job is a batch on a new on-demand table.
type Job struct {
	Items, Lanes int     // of the whole
	Share        float64 // see [Scenario]; lanes shrink too
}

// JobReport is what a job has come to.
type JobReport struct {
	Job
	Starts    int           `json:"starts"` // of the function, each of at most 15 minutes
	Took      time.Duration `json:"took"`   // all of them
	Throttled int           `json:"throttled"`
	Writes    float64       `json:"writes"`
	Reads     float64       `json:"reads"`
	Repeated  int           `json:"repeated"` // items that ran again
	Missing   int           `json:"missing"`  // items that did not run
	// Again is what one more start of the finished batch takes.
	Again Demand `json:"again"`
}

// PlayJob plays a job in a bubble of virtual time. A batch that is left unfinished is started again a minute later, as by
// Lambda.
func PlayJob(t *testing.T, j Job) *JobReport {
	t.Helper()
	r := &JobReport{Job: j}
	cryptotest.SetGlobalRandom(t, 1)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Scenario{Name: "batch", Seed: 1, Share: j.Share, Environments: int(1 / j.Share)})
		items := make([]int, int(float64(j.Items)*j.Share))
		for i := range items {
			items[i] = i
		}
		start := func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
			defer cancel()
			_, err := batch.Each(ctx, w.free[0].guard, batch.Batch[int]{Name: "2026-11", ID: strconv.Itoa, Concurrency: int(float64(j.Lanes) * j.Share)}, items,
				func(_ context.Context, item int) error {
					w.sleep(usualRun)
					w.mu.Lock()
					defer w.mu.Unlock()
					w.runs[strconv.Itoa(item)]++
					return nil
				})
			w.tally()
			return err == nil
		}
		for began := time.Now(); ; time.Sleep(time.Minute) {
			r.Starts++
			if done := start(); done || r.Starts == 100 {
				r.Took = time.Since(began)
				break
			}
		}
		all := w.report.Table
		r.Throttled, r.Writes, r.Reads = all.Throttled, all.Writes, all.Reads
		start()
		again := w.report.Table
		r.Again = Demand{again.Requests - all.Requests, again.Throttled - all.Throttled, again.Writes - all.Writes, again.Reads - all.Reads}
		r.Missing = len(items) - len(w.runs)
		for _, runs := range w.runs {
			r.Repeated += runs - 1
		}
	})
	return r
}
