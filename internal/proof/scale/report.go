package scale

import (
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// Report is what a play has come to. Counts and rates are of the play, at the scenario's share.
type Report struct {
	Scenario string   `json:"scenario"`
	Guard    string   `json:"guard"`
	Share    float64  `json:"share"`
	Seconds  []Second `json:"seconds"`
	Streams  []*Tally `json:"streams"`
	Table    Demand   `json:"table"`
	// Unrecorded are requests whose function has run, and whose record does not say so.
	Unrecorded int `json:"unrecorded"`
	// Repeated are runs that were not the first of their request.
	Repeated int `json:"repeated"`
}

// Demand is what the table was asked for.
type Demand struct {
	Requests  int     `json:"requests"`
	Throttled int     `json:"throttled"`
	Writes    float64 `json:"writes"` // units
	Reads     float64 `json:"reads"`  // units
}

// Second is what happened in one second.
type Second struct {
	Demand
	Answered map[string]int `json:"answered"` // by stream, with a result, by when they were answered
}

// Tally is what callers of a stream were told.
type Tally struct {
	Name       string        `json:"name"`
	Answered   int           `json:"answered"`    // with a result
	InProgress int           `json:"in_progress"` // told so
	Failed     int           `json:"failed"`      // the store has failed, and nothing has happened
	NotStored  int           `json:"not_stored"`  // the function has run
	Other      int           `json:"other"`
	Refused    int           `json:"refused"` // by Lambda
	P50        time.Duration `json:"p50"`     // of all calls that were not refused by Lambda
	P99        time.Duration `json:"p99"`
	Billed     time.Duration `json:"billed"` // of all calls

	times []time.Duration
}

func newReport(s Scenario) *Report {
	r := &Report{Scenario: s.Name, Guard: s.Guard.Name, Share: s.Share}
	for _, stream := range s.Streams {
		r.Streams = append(r.Streams, &Tally{Name: stream.Name})
	}
	return r
}

// Of returns the tally of a stream.
func (r *Report) Of(stream string) *Tally {
	at := slices.IndexFunc(r.Streams, func(t *Tally) bool { return t.Name == stream })
	return r.Streams[at]
}

// note notes what a call has come to.
func (w *world) note(stream string, at, took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.report.Of(stream)
	if errors.Is(err, errNoEnvironment) {
		t.Refused++
		return
	}
	t.times = append(t.times, took)
	t.Billed += took
	store, _ := errors.AsType[*idempotent.StoreError](err)
	switch {
	case err == nil:
		t.Answered++
		second := int((at + took) / time.Second)
		for len(w.report.Seconds) <= second {
			w.report.Seconds = append(w.report.Seconds, Second{Answered: make(map[string]int)})
		}
		w.report.Seconds[second].Answered[stream]++
	case errors.Is(err, idempotent.ErrInProgress):
		t.InProgress++
	case store != nil && store.Executed:
		t.NotStored++
	case store != nil:
		t.Failed++
	default:
		t.Other++
	}
}

// tally books what the table was asked for in the last second.
func (w *world) tally() {
	var d Demand
	for _, r := range w.db.Requests() {
		d.Requests++
		if r.Code == "ThrottlingException" || r.Code == "ProvisionedThroughputExceededException" {
			d.Throttled++
		}
	}
	consumed := w.db.Capacity()
	d.Writes, d.Reads = consumed.Write, consumed.Read
	w.db.ResetLog()
	w.mu.Lock()
	defer w.mu.Unlock()
	second := max(0, int((time.Since(w.start)-1)/time.Second))
	for len(w.report.Seconds) <= second {
		w.report.Seconds = append(w.report.Seconds, Second{Answered: make(map[string]int)})
	}
	w.report.Seconds[second].Demand = d
	total := &w.report.Table
	total.Requests += d.Requests
	total.Throttled += d.Throttled
	total.Writes += d.Writes
	total.Reads += d.Reads
}

// audit compares what has run with what is recorded.
func (w *world) audit() {
	recorded := 0
	for _, item := range w.db.Items(tableName) {
		if status, ok := item["status"].(*types.AttributeValueMemberS); ok && status.Value == string(persistence.StatusCompleted) {
			recorded++
		}
	}
	w.report.Unrecorded = len(w.runs) - recorded
	for _, runs := range w.runs {
		w.report.Repeated += runs - 1
	}
	for _, t := range w.report.Streams {
		slices.Sort(t.times)
		if n := len(t.times); n > 0 {
			t.P50, t.P99 = t.times[n/2], t.times[min(n-1, n*99/100)]
		}
	}
}
