package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Counts is what has happened, by what it is: "requests", "freezes", the kinds of
// the engine's events, the effects of the fault plan.
type Counts map[string]int

// Add adds the counts of another simulation.
func (c Counts) Add(more Counts) {
	for what, n := range more {
		c[what] += n
	}
}

// String lists the counts in alphabetical order.
func (c Counts) String() string {
	var list strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&list, "%9d  %s\n", c[what], what)
	}
	return list.String()
}

// What is counted, besides the events of the engine and the faults.
const (
	calls     = "calls"
	deaths    = "deaths"
	effects   = "effects"
	freezes   = "freezes"
	givenUp   = "calls given up by their clients"
	killed    = "processes killed at a deadline"
	quota     = "tries that the SDK's quota has refused"
	renewed   = "leases renewed"
	tenants   = "calls of tenants"
	late      = "late requests applied"
	processes = "processes"
	recorded  = "outcomes recorded"
	removed   = "records removed by TTL"
	requests  = "requests"
	short     = "refusals for want of money"
	stale     = "refusals of an old version"
	moved     = "transfers"
	undone    = "transfers undone"
	unheard   = "transactions applied, and not heard of"
	zombies   = "transactions of superseded owners"
)

// claims is what an answer with an error says of what was done.
func claims(d idempotent.Done) string { return "answers that claim: " + d.String() }

// Everything is what happens in any large number of seeds: a simulation in which
// some of it never does shows little.
func Everything(b Business) []string {
	everything := []string{
		calls, deaths, effects, freezes, givenUp, late, processes, recorded, removed, requests,
		string(idempotent.EventExecuted), string(idempotent.EventReplayed), string(idempotent.EventWaited), string(idempotent.EventInProgress),
		string(idempotent.EventMismatch), string(idempotent.EventTakenOver), string(idempotent.EventReleased), string(idempotent.EventLeaseLost),
		string(idempotent.EventNotStored), string(idempotent.EventStuck), string(idempotent.EventStoreFailed), string(idempotent.EventRenewed),
		killed, quota, renewed, tenants,
		claims(idempotent.DoneNothing), claims(idempotent.DoneMaybe),
	}
	if b == Orders {
		everything = append(everything, claims(idempotent.DoneAll))
	}
	if b == Transfers {
		everything = slices.DeleteFunc(everything, func(what string) bool { return what == effects })
		everything = append(everything,
			short, stale, moved, undone, unheard, zombies,
			string(idempotent.EventPartialSuccess), string(idempotent.EventStepExecuted), string(idempotent.EventStepReplayed),
			string(idempotent.EventCompensated), string(idempotent.EventCompensationFailed), claims(idempotent.DoneSomething),
		)
	}
	return everything
}
