// Package measure says what is counted and timed of guarded calls: one table, by which
// packages emf and otelguard, the dashboard and docs/metrics.md go.
package measure

import "github.com/ikkai-go/idempotency/idempotent"

// Metric is something that is counted or timed.
type Metric int

// The metrics, in the order of the table.
const (
	Calls Metric = iota
	Runs
	Replays
	TurnedAway
	Mismatches
	TakenOver
	Resumed
	Suspended
	Renewed
	Stuck
	Unprotected
	LeaseLost
	NotStored
	StoreFailed
	Units
	RunDuration
	RequestDuration

	Metrics // how many there are
)

// Unit is what a metric's values are.
type Unit int

// The units.
const (
	Count  Unit = iota // added up
	Amount             // added up, of units that DynamoDB charges for
	Time               // each value kept
)

// Entry is what the table says of a metric.
type Entry struct {
	// CloudWatch and OpenTelemetry are the metric's names there.
	CloudWatch, OpenTelemetry string
	Unit                      Unit
	// UCUM is the unit in OpenTelemetry.
	UCUM string
	// Meaning says in a sentence what is counted or timed.
	Meaning string
}

// Table has an entry for each metric.
var Table = [Metrics]Entry{
	Calls:           {"calls", "idempotency.calls", Count, "{call}", "guarded calls that have ended, by code"},
	Runs:            {"runs", "idempotency.runs", Count, "{run}", "runs of the function, with a record or without"},
	Replays:         {"replays", "idempotency.replays", Count, "{call}", "calls that were answered from a record"},
	TurnedAway:      {"turned_away", "idempotency.turned_away", Count, "{call}", "duplicates that were told that the first is still running"},
	Mismatches:      {"mismatches", "idempotency.mismatches", Count, "{call}", "keys that came with another payload"},
	TakenOver:       {"taken_over", "idempotency.taken_over", Count, "{run}", "runs in the place of one that has died, or has outlasted its lease"},
	Resumed:         {"resumed", "idempotency.resumed", Count, "{run}", "runs that go on with an earlier one's finished steps, or with a durable execution"},
	Suspended:       {"suspended", "idempotency.suspended", Count, "{run}", "runs that have ended before their durable execution"},
	Renewed:         {"renewed", "idempotency.renewed", Count, "{lease}", "renewals of the leases of long runs"},
	Stuck:           {"stuck", "idempotency.stuck", Count, "{call}", "requests that can't go on without a person"},
	Unprotected:     {"unprotected", "idempotency.unprotected", Count, "{run}", "runs without a record"},
	LeaseLost:       {"lease_lost", "idempotency.lease_lost", Count, "{run}", "runs whose record was somebody else's in the end"},
	NotStored:       {"not_stored", "idempotency.not_stored", Count, "{run}", "runs or steps whose result could not be stored"},
	StoreFailed:     {"store_failed", "idempotency.store_failed", Count, "{call}", "calls of the store that have failed for a guarded call"},
	Units:           {"consumed_units", "idempotency.consumed_units", Amount, "{unit}", "read and write units that DynamoDB says it has charged"},
	RunDuration:     {"run_duration", "idempotency.run.duration", Time, "s", "how long the function ran"},
	RequestDuration: {"request_duration", "idempotency.request.duration", Time, "s", "how long a call of the store took, with all its tries"},
}

// OfEvent returns what an event of Config.Observe counts, if it counts anything of its own.
// docs/metrics.md says of each other kind where it is to be seen.
func OfEvent(e idempotent.Event) (Metric, bool) {
	switch e.Kind {
	case idempotent.EventReplayed:
		return Replays, true
	case idempotent.EventInProgress:
		return TurnedAway, true
	case idempotent.EventMismatch:
		return Mismatches, true
	case idempotent.EventTakenOver:
		return TakenOver, true
	case idempotent.EventResumed:
		return Resumed, true
	case idempotent.EventSuspended:
		return Suspended, true
	case idempotent.EventRenewed:
		return Renewed, true
	case idempotent.EventStuck:
		return Stuck, true
	case idempotent.EventUnprotected:
		return Unprotected, true
	case idempotent.EventLeaseLost:
		return LeaseLost, true
	case idempotent.EventNotStored:
		return NotStored, true
	case idempotent.EventStoreFailed:
		return StoreFailed, true
	default:
		return 0, false
	}
}
