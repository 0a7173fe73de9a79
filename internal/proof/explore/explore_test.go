package explore_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	. "github.com/ikkai-go/idempotency/internal/proof/explore"
)

// How much to explore: quick takes seconds, also with the race detector; full takes
// three or four minutes; deep has hours to spare.
var extent = flag.String("explore", "quick", "how much to explore: quick, full or deep")

var (
	plain     = idempotent.Config{}
	readFirst = idempotent.Config{ReadFirst: true}
	atOnce    = idempotent.Config{OnlyEnlists: true}
	unknown   = idempotent.Config{RefuseUnknown: true}
	// A run may take ten seconds, and renews its lease three times on the way.
	renewed = idempotent.Config{Lease: 4 * time.Second}
)

// Steps of sagas.
var (
	final      = Stage{}
	undoable   = Stage{Compensable: true}
	atMostOnce = Stage{Compensable: true, AtMostOnce: true}
	enlisting  = Stage{Compensable: true, Enlists: true}
	// Beside the one before it.
	beside          = Stage{Compensable: true, Beside: true}
	enlistingBeside = Stage{Compensable: true, Enlists: true, Beside: true}
	large           = Stage{Compensable: true, Bytes: 4500}
	largeBeside     = Stage{Compensable: true, Bytes: 4500, Beside: true}
	onceBeside      = Stage{Compensable: true, AtMostOnce: true, Beside: true}
)

// roomForTwo is room for two large outputs, or for one and what undoing both may take.
const roomForTwo = 9400

func TestEveryInterleavingKeepsThePromises(t *testing.T) {
	ahead, behind := []time.Duration{0, Allowance}, []time.Duration{0, -Allowance}
	explorations := map[string][]struct {
		system System
		bounds Bounds
	}{
		"quick": {
			{OnMemory(plain), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 1, Faults: 2}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Passes: 1, Boundaries: true}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Passes: 1, Skews: ahead}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Passes: 1, Skews: behind}},
			{OnDynamoDB(readFirst), Bounds{Callers: 2, Passes: 1}},
			{OnItemlessDynamoDB(plain), Bounds{Callers: 2, Passes: 1}},
			{OnMemory(plain).WithSaga(Chain(5, undoable)), Bounds{Callers: 2, InTurn: true, Crashes: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{undoable, final, atMostOnce}), Bounds{Callers: 2, InTurn: true, Crashes: 1, Failures: 2}},
			{OnMemory(plain).WithSaga(Chain(1, atMostOnce)), Bounds{Callers: 2, Passes: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Chain(5, enlisting)), Bounds{Callers: 2, InTurn: true, Crashes: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Saga{enlisting, undoable}), Bounds{Callers: 2, InTurn: true, Faults: 1, Failures: 1}},
			{OnDynamoDB(atOnce), Bounds{Callers: 2, Faults: 1}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 1}},
			{OnDynamoDB(renewed), Bounds{Callers: 2, Passes: 1}},
			{OnDynamoDB(renewed), Bounds{Callers: 1, Faults: 1, Passes: 1}},
			{OnMemory(plain), Bounds{Callers: 2, Faults: 1, Silence: true}},
			{OnDynamoDB(plain).WithSaga(Chain(2, enlisting)), Bounds{Callers: 2, InTurn: true, Faults: 1, Silence: true}},
			{OnMemory(unknown), Bounds{Callers: 2, Passes: 1}},
			{OnMemory(plain).Executions(), Bounds{Callers: 3, Passes: 1}},
			{OnDynamoDB(plain).Executions(), Bounds{Callers: 2, Faults: 1}},
			{OnMemory(plain).WithSaga(Saga{undoable, beside}), Bounds{Callers: 2, InTurn: true, Crashes: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Saga{enlisting, enlistingBeside}), Bounds{Callers: 1, Faults: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{large, largeBeside}).Cramped(roomForTwo), Bounds{Callers: 1, Failures: 1}},
		},
		"full": {
			{OnMemory(plain), Bounds{Callers: 2, Faults: 2, Passes: 1}},
			{OnMemory(plain), Bounds{Callers: 3, Faults: 1, Passes: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 3, Faults: 1, Passes: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 2, Passes: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 1, Passes: 2}},
			{OnDynamoDB(plain), Bounds{Callers: 3, Passes: 2}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 1, Passes: 1, Boundaries: true}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 1, Passes: 1, Skews: ahead}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 1, Passes: 1, Skews: behind}},
			{OnDynamoDB(readFirst), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnItemlessDynamoDB(plain), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnMemory(plain).WithSaga(Chain(5, undoable)), Bounds{Callers: 3, InTurn: true, Crashes: 2, Failures: 2}},
			{OnMemory(plain).WithSaga(Chain(5, undoable)), Bounds{Callers: 2, InTurn: true, Faults: 1, Failures: 2}},
			{OnMemory(plain).WithSaga(Chain(5, atMostOnce)), Bounds{Callers: 2, InTurn: true, Crashes: 2, Failures: 1}},
			{OnMemory(plain).WithSaga(Chain(5, undoable)), Bounds{Callers: 2, InTurn: true, Faults: 2, Failures: 1}},
			{OnMemory(plain).WithSaga(Chain(3, undoable)), Bounds{Callers: 2, Passes: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Chain(2, undoable)), Bounds{Callers: 2, Faults: 1, Passes: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{undoable, final, atMostOnce}), Bounds{Callers: 2, Passes: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Chain(5, enlisting)), Bounds{Callers: 3, InTurn: true, Crashes: 2, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Chain(5, enlisting)), Bounds{Callers: 2, InTurn: true, Faults: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Chain(3, enlisting)), Bounds{Callers: 2, Passes: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Chain(2, enlisting)), Bounds{Callers: 2, Passes: 1, Crashes: 1, Failures: 1}},
			{OnDynamoDB(atOnce), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnDynamoDB(atOnce), Bounds{Callers: 3, Faults: 1}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 2}},
			{OnMemory(renewed), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnMemory(renewed), Bounds{Callers: 1, Faults: 2, Passes: 2, Silence: true}},
			{OnDynamoDB(renewed), Bounds{Callers: 2, Passes: 2}},
			{OnDynamoDB(renewed), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 1, Skews: ahead}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 1, Skews: behind}},
			{OnMemory(renewed).WithSaga(Chain(2, undoable)), Bounds{Callers: 2, Passes: 1, Failures: 1}},
			{OnMemory(plain), Bounds{Callers: 2, Faults: 1, Passes: 1, Silence: true}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 1, Passes: 1, Silence: true}},
			{OnDynamoDB(plain).WithSaga(Chain(2, enlisting)), Bounds{Callers: 2, InTurn: true, Faults: 2, Failures: 1, Silence: true}},
			{OnDynamoDB(atOnce), Bounds{Callers: 2, Faults: 2, Silence: true}},
			{OnMemory(unknown), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnMemory(plain).Executions(), Bounds{Callers: 3, Passes: 2}},
			{OnMemory(plain).Executions(), Bounds{Callers: 3, Passes: 1, Crashes: 1}},
			{OnDynamoDB(plain).Executions(), Bounds{Callers: 3, Faults: 1}},
			{OnDynamoDB(plain).Executions(), Bounds{Callers: 2, Faults: 1, Passes: 1}},
			{OnMemory(plain).WithSaga(Saga{undoable, beside}), Bounds{Callers: 2, InTurn: true, Faults: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{undoable, beside, final}), Bounds{Callers: 3, InTurn: true, Crashes: 2, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{atMostOnce, onceBeside}), Bounds{Callers: 2, InTurn: true, Crashes: 1, Failures: 1}},
			{OnMemory(renewed).WithSaga(Saga{undoable, beside}), Bounds{Callers: 1, Passes: 1, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Saga{enlisting, enlistingBeside}), Bounds{Callers: 2, InTurn: true, Faults: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{large, largeBeside}).Cramped(roomForTwo), Bounds{Callers: 2, InTurn: true, Crashes: 1, Failures: 1}},
		},
		"deep": {
			{OnDynamoDB(plain), Bounds{Callers: 3, Faults: 2, Passes: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 3, Faults: 1, Passes: 2}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 3, Passes: 1}},
			{OnDynamoDB(plain), Bounds{Callers: 2, Faults: 2, Passes: 2, Boundaries: true}},
			{OnDynamoDB(plain), Bounds{Callers: 3, Faults: 1, Passes: 1, Skews: []time.Duration{-Allowance / 2, 0, Allowance / 2}}},
			{OnItemlessDynamoDB(plain), Bounds{Callers: 3, Faults: 1, Passes: 1}},
			{OnMemory(plain).WithSaga(Chain(5, undoable)), Bounds{Callers: 2, InTurn: true, Faults: 2, Failures: 2}},
			{OnMemory(plain).WithSaga(Chain(1, atMostOnce)), Bounds{Callers: 2, Faults: 1, Passes: 1, Failures: 2}},
			{OnDynamoDB(plain).WithSaga(Chain(3, enlisting)), Bounds{Callers: 2, InTurn: true, Faults: 2, Failures: 1}},
			{OnDynamoDB(plain).WithSaga(Chain(2, enlisting)), Bounds{Callers: 2, Faults: 1, Passes: 1, Failures: 1}},
			{OnMemory(renewed), Bounds{Callers: 2, Faults: 1, Passes: 2}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 3}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 2, Skews: ahead}},
			{OnMemory(renewed), Bounds{Callers: 2, Passes: 2, Skews: behind}},
			{OnDynamoDB(renewed), Bounds{Callers: 2, Faults: 1, Passes: 2}},
			{OnDynamoDB(renewed), Bounds{Callers: 2, Passes: 2, Boundaries: true, Skews: []time.Duration{-Allowance / 2, Allowance / 2}}},
			{OnMemory(renewed).WithSaga(Saga{undoable, beside}), Bounds{Callers: 2, Passes: 1, Failures: 1}},
			{OnMemory(plain).WithSaga(Saga{undoable, beside, beside}), Bounds{Callers: 2, InTurn: true, Faults: 1, Failures: 1}},
		},
	}
	chosen, known := explorations[*extent]
	if !known {
		t.Fatalf("-explore=%s is none of %q", *extent, slices.Sorted(maps.Keys(explorations)))
	}
	sheet := guarantees(t)
	for _, e := range chosen {
		e.bounds.First = *extent == "quick"
		report := Run(t, e.system, e.bounds)
		report.Write(t.Output())
		if len(report.Violations) > 0 {
			t.Errorf("%s breaks promises", e.system.Name)
			if e.bounds.First {
				return
			}
		}
		if row := rowOf(report); *extent == "full" && !strings.Contains(sheet, row) {
			t.Errorf("the guarantee sheet lacks the row\n%s", row)
		}
	}
}

// guarantees is the page that tells what is found here.
func guarantees(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// rowOf is the page's row of an exploration.
func rowOf(r Report) string {
	var notes []string
	b := r.Bounds
	if b.Boundaries {
		notes = append(notes, "also the last instant of every lease and record")
	}
	if len(b.Skews) > 0 {
		notes = append(notes, fmt.Sprintf("the second clock is off by %v", b.Skews[1]))
	}
	if b.Silence {
		notes = append(notes, "also silence")
	}
	if b.InTurn {
		notes = append(notes, "one after the other")
	}
	if b.Crashes > 0 {
		notes = append(notes, fmt.Sprintf("crashes: %d", b.Crashes))
	}
	if b.Failures > 0 {
		notes = append(notes, fmt.Sprintf("failures: %d", b.Failures))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %d |", r.System, b.Callers, b.Faults, b.Passes, strings.Join(notes, "; "), r.States)
}

// Without what a promise rests on, it does not hold, and the explorer sees it.
func TestEveryAssumptionIsNeeded(t *testing.T) {
	tests := map[string]struct {
		system System
		bounds Bounds
		broken Promise
		steps  int
		told   string // in the guarantee sheet
	}{
		"clocks within the allowance": {
			OnDynamoDB(plain), Bounds{Callers: 2, Passes: 1, Skews: []time.Duration{0, 3 * Allowance}},
			Alone, 9, "with a clock 3 s ahead, broken in 9 steps",
		},
		"clocks within the allowance, for results": {
			OnDynamoDB(plain), Bounds{Callers: 2, Passes: 1, Skews: []time.Duration{0, 2 * Allowance}},
			Stable, 8, "with a clock 2 s ahead it is gone that much early: 8 steps",
		},
		"a store that is reached, or no run": {
			OnDynamoDB(idempotent.Config{FailOpen: true}), Bounds{Callers: 1, Faults: 2},
			Fenced, 3, "with `FailOpen` and a store that can't be reached, broken in 3 steps",
		},
		"a store that is reached, or no answer": {
			OnDynamoDB(idempotent.Config{FailOpen: true}), Bounds{Callers: 1, Faults: 2},
			Truthful, 6, "with `FailOpen`, broken in 6 steps",
		},
		"renewals that the store has confirmed": {
			spoiled{confirms: true}.in(OnMemory(renewed), "renewals are taken for confirmed"), Bounds{Callers: 1, Passes: 2},
			Held, 4, "extended before that, broken in 4 steps",
		},
		"an effect that comes and goes with its record": {
			OnDynamoDB(plain), Bounds{Callers: 2, Passes: 1, Once: true},
			Once, 9, " 9. B gets the reply to its UpdateItem\n```",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.bounds.Shortest = true
			report := Run(t, test.system, test.bounds)
			report.Write(t.Output())
			steps := 0
			for _, v := range report.Violations {
				if v.Promise == test.broken {
					steps = len(v.Steps)
				}
			}
			if steps != test.steps {
				t.Errorf("%q is broken in %d steps, want %d", test.broken, steps, test.steps)
			}
			if !strings.Contains(guarantees(t), test.told) {
				t.Errorf("the guarantee sheet does not say %q", test.told)
			}
		})
	}
}

// The four Powertools write without conditions and know no owner.
func TestPowertoolsProtocolBreaksPromises(t *testing.T) {
	// In this many steps at least.
	want := map[Promise]int{Alone: 7, Fenced: 4, Stable: 12, Owner: 7, Inert: 8, Innocent: 5}
	report := Run(t, Powertools(), Bounds{Callers: 2, Faults: 1, Passes: 1, Shortest: *extent != "quick"})
	report.Write(t.Output())
	got := make(map[Promise]int)
	for _, v := range report.Violations {
		got[v.Promise] = len(v.Steps)
	}
	for promise, steps := range want {
		switch {
		case got[promise] == 0:
			t.Errorf("%q holds", promise)
		case report.Bounds.Shortest && got[promise] != steps:
			t.Errorf("%q is broken in %d steps, want %d", promise, got[promise], steps)
		}
		if row := fmt.Sprintf("| %s | holds | broken in %d steps |", promise, steps); !strings.Contains(guarantees(t), row) {
			t.Errorf("the guarantee sheet lacks the row\n%s", row)
		}
	}
}

// Steps whose order makes no difference are taken in one order. That must not hide
// anything.
func TestTheReducedSearchFindsWhatTheFullOneFinds(t *testing.T) {
	saga := OnMemory(plain).WithSaga(Chain(1, Stage{AtMostOnce: true}))
	for _, system := range []System{OnMemory(plain), Powertools(), saga, spoiled{forgets: ":started"}.in(saga, "starts are not told")} {
		broken := func(full bool) []Promise {
			report := Run(t, system, Bounds{Callers: 2, Passes: 1, Full: full})
			report.Write(t.Output())
			var all []Promise
			for _, v := range report.Violations {
				all = append(all, v.Promise)
			}
			return all
		}
		if reduced, full := broken(false), broken(true); !slices.Equal(reduced, full) {
			t.Errorf("%s: reduced finds %q, full finds %q", system.Name, reduced, full)
		}
	}
}
