package lincheck

import (
	"cmp"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ikkai-go/idempotency/persistence"
)

// Options say what is done to a store, and what it promises. The zero value is a
// heavy load, and the whole contract with exact answers.
type Options struct {
	// Clients that call at the same time, but for every third history, which has
	// two. Defaults to 6.
	Clients int
	// Keys they call about. Defaults to 2.
	Keys int
	// Turns of each client in a history with all of them. Defaults to 50.
	Turns int
	// Histories at least, each with keys of its own; more where a case of the
	// contract has not occurred yet. Defaults to 10; HistoriesEnv overrides it.
	Histories int
	// Seed of the first history's dice; the others count on from it. Defaults to a
	// random one; SeedEnv overrides it.
	Seed uint64

	// Clocks of the clients. They differ by default.
	Clocks Clocks
	// Acquires and Reads say how faithfully these show a record. Exact by default.
	Acquires, Reads Fidelity
}

// Clocks says whether the clients agree about the time.
type Clocks int

const (
	// Differing clocks are up to four seconds apart, which is longer than some leases.
	Differing Clocks = iota
	// Agreeing clocks never show a caller a time before one that somebody else has
	// used in a call that ended before. Claims are not repeated then: they would
	// come with an old reading.
	Agreeing
)

// The environment variables that override options: for another look at a seed,
// and for a longer search.
const (
	SeedEnv      = "LINCHECK_SEED"
	HistoriesEnv = "LINCHECK_HISTORIES"
)

func (o Options) withDefaults() (Options, error) {
	var err error
	if text := os.Getenv(HistoriesEnv); text != "" {
		if o.Histories, err = strconv.Atoi(text); err != nil || o.Histories < 1 {
			return o, fmt.Errorf("lincheck: %s is %q, no number of histories", HistoriesEnv, text)
		}
	}
	if text := os.Getenv(SeedEnv); text != "" {
		if o.Seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return o, fmt.Errorf("lincheck: %s is %q, no seed: %w", SeedEnv, text, err)
		}
	}
	if o.Seed == 0 {
		o.Seed = mathrand.Uint64()
	}
	o.Clients = cmp.Or(o.Clients, 6)
	o.Keys = cmp.Or(o.Keys, 2)
	o.Turns = cmp.Or(o.Turns, 50)
	o.Histories = cmp.Or(o.Histories, 10)
	return o, nil
}

// Report is what happened in a run.
type Report struct {
	Histories  int
	Operations int // calls, and tries of calls, in all histories
	Unanswered int // of these, those without an answer
	Concurrent int // of these, those that overlapped another one of the same key
	Seen       map[Event]int
}

// Run fails the test if a history of the store has no explanation, or if one of
// the contract's cases did not occur in any of them. The store may be shared and
// may hold other records; it gets new ones, and they stay.
func Run(t *testing.T, s persistence.Store, o Options) Report {
	t.Helper()
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	report := Report{Seen: make(map[Event]int)}
	for i := 0; i < o.Histories || i < longest*o.Histories && !report.enough(s, o); i++ {
		seed := o.Seed + uint64(i)
		crowd := o.Clients
		if i%3 == 2 {
			crowd = min(crowd, 2)
		}
		r, err := play(t.Context(), s, o, crowd, seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		v := o.promise().judge(r.operations)
		report.add(r.operations, v)
		if v.result != porcupine.Ok {
			t.Errorf("%v\n%s=%d throws the same dice again; the schedule is the machine's.\nThe history to look at: %s",
				v, SeedEnv, seed, draw(t, v))
			return report
		}
	}
	t.Logf("%v\nThe first seed was %d.", report, o.Seed)
	for _, event := range report.missing(s, o) {
		t.Errorf("this never happened, so nothing is known about it: %s", event)
	}
	if report.Concurrent == 0 {
		t.Error("no two calls of a key overlapped, so nothing is known about races")
	}
	return report
}

// longest is how many times more histories a run may take until it has seen enough.
const longest = 10

// enough tells whether every case of the contract has been seen, and calls that
// overlapped: on a busy machine, fast ones may all come one after the other.
func (r Report) enough(s persistence.Store, o Options) bool {
	return r.Concurrent > 0 && len(r.missing(s, o)) == 0
}

// missing are the events that have not occurred yet, of those that must.
func (r Report) missing(s persistence.Store, o Options) []Event {
	return slices.DeleteFunc(foreseen(s, o), func(e Event) bool { return r.Seen[e] > 0 })
}

func (o Options) promise() promise { return promise{o.Acquires, o.Reads} }

// foreseen are the events that must occur on a store with these abilities.
func foreseen(s persistence.Store, o Options) []Event {
	events := []Event{
		AcquiredNew, AcquiredExpired, AcquiredStale,
		MetRunning, MetFinished, MetMismatch, MetUnknown,
		Completed, CompletedBefore, CompleteLost,
		ReleasedAll, ReleasedBefore, ReleasedFinished, ReleaseLost,
	}
	if o.Clocks == Differing {
		events = append(events, AcquiredBefore)
	}
	if _, checkpoints := s.(persistence.Checkpointer); checkpoints {
		events = append(events, AcquiredPartial, CompletedReleased, ReleasedKeeping,
			Checkpointed, CheckpointBefore, CheckpointedFinished, CheckpointedGivenUp, CheckpointLost)
	}
	if _, reads := s.(persistence.Reader); reads {
		events = append(events, ReadNothing, ReadUnfinished, ReadFinished)
	}
	return events
}

func (r *Report) add(operations []porcupine.Operation, v judgement) {
	r.Histories++
	r.Operations += len(operations)
	for _, o := range operations {
		if o.Output.(answer).verdict == unanswered {
			r.Unanswered++
		}
		if slices.ContainsFunc(operations, func(other porcupine.Operation) bool { return overlap(o, other) }) {
			r.Concurrent++
		}
	}
	for event, n := range v.events {
		r.Seen[event] += n
	}
}

func overlap(a, b porcupine.Operation) bool {
	return a.ClientId != b.ClientId && a.Call < b.Return && b.Call < a.Return && a.Input.(call).target() == b.Input.(call).target()
}

func (r Report) String() string {
	text := fmt.Sprintf("%d histories of %d operations are linearizable; %d overlapped others of their key, %d were not answered.",
		r.Histories, r.Operations, r.Concurrent, r.Unanswered)
	var events []string
	for event, n := range r.Seen {
		events = append(events, fmt.Sprintf("\n%6d  %s", n, event))
	}
	slices.SortFunc(events, func(a, b string) int { return strings.Compare(a[8:], b[8:]) })
	return text + strings.Join(events, "")
}

// draw writes porcupine's picture of a history, and returns where it is.
func draw(t *testing.T, v judgement) string {
	t.Helper()
	path := filepath.Join(t.ArtifactDir(), "history.html")
	if err := porcupine.VisualizePath(v.model, v.info, path); err != nil {
		return err.Error()
	}
	return path + " (kept by go test -artifacts)"
}

// patience is how long porcupine may look for an explanation of one history. It
// takes milliseconds where there is one.
const patience = 30 * time.Second
