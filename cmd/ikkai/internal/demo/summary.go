package demo

import (
	"cmp"
	"slices"
	"time"

	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Summary is how things stand at the end.
type Summary struct {
	Took     Milliseconds   `json:"took_ms"`
	Records  []Record       `json:"records"`
	Effects  []Effects      `json:"effects"`
	Requests []RequestCount `json:"requests"`
	// Promises is how many were looked at, and Broken which were not kept.
	Promises int      `json:"promises"`
	Broken   []string `json:"broken"`
}

// Effects is how often a kind of thing was done for one wish.
type Effects struct {
	Of       string `json:"of"` // as the story calls it
	Kind     string `json:"kind"`
	Count    int    `json:"count"`
	Expected int    `json:"expected"`
}

// RequestCount is how often one kind of request was sent, and the capacity it
// used in all.
type RequestCount struct {
	Request
	Count int `json:"count"`
}

// summarize looks at everything once more, at the end.
func (s *show) summarize() Summary {
	s.narrator.Scene(Scene{Title: "In the end"})
	summary := Summary{
		Took:     Milliseconds(time.Since(s.started)),
		Requests: countRequests(s.stage.db.Requests()),
		Broken:   []string{},
	}
	var findings []string
	for _, w := range wholeStory {
		if record, found := s.stage.record(w); found {
			summary.Records = append(summary.Records, record)
		}
		for _, e := range w.effects() {
			summary.Effects = append(summary.Effects, Effects{Of: w.name(), Kind: e.kind, Count: s.stage.count(e), Expected: w.times})
		}
		findings = append(findings, s.stage.done(w, w.times))
	}
	s.promise("everything is done as often as told above, and no more often", findings...)
	summary.Promises = len(s.promises)
	for _, p := range s.promises {
		if len(p.Broken) > 0 {
			summary.Broken = append(summary.Broken, p.Text)
		}
	}
	return summary
}

// countRequests adds up like requests, table by table.
func countRequests(log []dynamotest.Request) []RequestCount {
	var counts []RequestCount
	for _, r := range requestsOf(log) {
		like := func(c RequestCount) bool {
			return c.Table == r.Table && c.Operation == r.Operation && c.Error == r.Error
		}
		i := slices.IndexFunc(counts, like)
		if i < 0 {
			counts = append(counts, RequestCount{Request: r, Count: 1})
			continue
		}
		counts[i].Count++
		counts[i].Read += r.Read
		counts[i].Write += r.Write
	}
	slices.SortFunc(counts, func(a, b RequestCount) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Error, b.Error))
	})
	return counts
}
