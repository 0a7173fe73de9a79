package explore

import (
	"fmt"
	"io"
	"testing"
	"time"
)

// Bounds limit what is explored.
type Bounds struct {
	// Callers of the one key.
	Callers int
	// Faults at most, in one execution.
	Faults int
	// Crashes are processes that die, at most, besides Faults.
	Crashes int
	// Failures of the functions of a saga, at most; a plain function always may fail.
	Failures int
	// Passes is how often time passes, at most: each time to any of the instants at
	// which somebody may decide otherwise than before.
	Passes int
	// Silence also has all tries of a call go without an answer until its time is over.
	Silence bool
	// InTurn has each caller come when the one before is gone, and no lease is live.
	InTurn bool
	// Skews are what the callers' clocks show more than the true time; callers
	// beyond the list have none.
	Skews []time.Duration
	// Boundaries also stops the clock at the last instant of every lease and every
	// record, not only at the first one after it.
	Boundaries bool
	// Once also checks what can't be promised: [Once].
	Once bool
	// Full takes all steps in every order, also where the order makes no difference.
	Full bool
	// Depth is the longest path in steps; zero is no limit.
	Depth int
	// First ends the exploration at the first broken promise.
	First bool
	// Shortest looks for the shortest way to break each promise. It takes longer.
	Shortest bool
}

func (b Bounds) skew(caller int) time.Duration {
	if caller < len(b.Skews) {
		return b.Skews[caller]
	}
	return 0
}

// fastest is by how much a clock within the allowance may be ahead.
func (b Bounds) fastest() time.Duration {
	fastest := Allowance
	for i, skew := range b.Skews {
		if i == 0 || skew > fastest {
			fastest = skew
		}
	}
	return min(fastest, Allowance)
}

// Report is what an exploration has found.
type Report struct {
	System     string
	Bounds     Bounds
	States     int // that differ
	Steps      int // from one state to another
	Executions int // of the system, from the start
	Depth      int // the longest path, in steps
	Duration   time.Duration
	// Violations are the broken promises, each with the first way to break it that
	// was found.
	Violations []Violation
}

// Write writes the report in words.
func (r Report) Write(w io.Writer) {
	fmt.Fprintf(w, "%s: %d callers, %d faults, time passes %d times", r.System, r.Bounds.Callers, r.Bounds.Faults, r.Bounds.Passes)
	if r.Bounds.Crashes > 0 {
		fmt.Fprintf(w, ", %d crashes", r.Bounds.Crashes)
	}
	if r.Bounds.Failures > 0 {
		fmt.Fprintf(w, ", %d failures", r.Bounds.Failures)
	}
	if r.Bounds.Silence {
		fmt.Fprint(w, ", also silence")
	}
	if r.Bounds.InTurn {
		fmt.Fprint(w, ", one caller after the other")
	}
	if len(r.Bounds.Skews) > 0 {
		fmt.Fprintf(w, ", clocks off by %v", r.Bounds.Skews)
	}
	fmt.Fprintf(w, "\n  %d states, %d steps between them, %d executions, %d steps deep, in %v\n",
		r.States, r.Steps, r.Executions, r.Depth, r.Duration.Round(time.Millisecond))
	for _, v := range r.Violations {
		fmt.Fprintf(w, "  BROKEN in %d steps: %s\n    %s\n", len(v.Steps), v.Promise, v.Detail)
		for i, s := range v.Steps {
			fmt.Fprintf(w, "    %2d. %s\n", i+1, s)
		}
	}
}

// Run explores a system within bounds. It takes over the test's processors: one
// worker for each.
func Run(t *testing.T, s System, b Bounds) Report {
	t.Helper()
	started := time.Now()
	search := newSearch(b)
	search.run(t, s)
	report := search.report()
	report.System, report.Bounds, report.Duration = s.Name, b, time.Since(started)
	for i := range report.Violations {
		search.explain(t, s, &report.Violations[i])
	}
	return report
}
