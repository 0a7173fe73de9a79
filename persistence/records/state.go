package records

import (
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// State is where a request stands, at the time when its record was looked at.
type State string

const (
	// StateRunning is a run under way: its lease is live.
	StateRunning State = "running"
	// StateDied is a run that has not ended within its lease, by the operator's clock and
	// [Config.Margin].
	StateDied State = "died"
	// StatePartial is a request that was given up after some of its steps; whoever sends it
	// again goes on with it.
	StatePartial State = "partial"
	// StateCompleted is a request that succeeded, and whose result is replayed.
	StateCompleted State = "completed"
	// StateFailed is a request that failed for good, and whose failure is replayed.
	StateFailed State = "failed"
	// StateExpired is a record that counts as absent, and that the store has not removed yet.
	StateExpired State = "expired"
	// StateUnreadable is a record that can't be understood: one of a later version, or one
	// that somebody has changed by hand. Lists have it whatever state is asked for, since
	// it may be in any.
	StateUnreadable State = "unreadable"
)

// Reason is why a request needs a person to look at it, or a client to send it again.
type Reason string

const (
	// NotStuck is a request that gets to its end by itself, or is there.
	NotStuck Reason = ""
	// StuckDied is a run that has died, and that nobody has taken over since. The next
	// request does, unless its guard refuses unknown outcomes.
	StuckDied Reason = "run_died"
	// StuckPartial is a request that was given up after some of its steps, longer ago than
	// [Config.PartialAfter] as far as is known, and that nobody has resumed since.
	StuckPartial Reason = "not_resumed"
	// StuckUnknown is a request with a step that must run at most once, was started, and
	// may have happened. Where its step has no Reconcile, only a person can find out.
	StuckUnknown Reason = "outcome_unknown"
	// StuckUndoing is a request that has failed for good, and that has a compensation which
	// failed.
	StuckUndoing Reason = "compensation_failed"
	// StuckUnreadable is a request whose record can't be understood: each try of it is
	// refused, until the record expires.
	StuckUnreadable Reason = "unreadable"
)

// stateOf judges a record at a time.
func (c Config) stateOf(r persistence.Record, now time.Time) State {
	switch {
	case r.Expired(now.Add(-c.Margin)):
		return StateExpired
	case r.Status == persistence.StatusCompleted:
		return StateCompleted
	case r.Status == persistence.StatusFailed:
		return StateFailed
	case r.Status == persistence.StatusPartial:
		return StatePartial
	case r.LeaseLive(now.Add(-c.Margin)) && !c.ended(r):
		return StateRunning
	default:
		return StateDied
	}
}

// ended tells whether a record belongs to the execution that is known to be over.
func (c Config) ended(r persistence.Record) bool {
	return c.EndedExecution != "" && r.Execution() == c.EndedExecution
}

// reasonOf says why a record in a state is stuck.
func (c Config) reasonOf(r Record, now time.Time) Reason {
	if r.State != StateDied && r.State != StatePartial {
		return NotStuck
	}
	for _, step := range r.Steps {
		if step.Phase == PhaseStarted {
			return StuckUnknown
		}
	}
	switch {
	case r.Undoing != nil && r.Undoing.Blocked:
		return StuckUndoing
	case r.State == StateDied:
		return StuckDied
	case r.StartedAt.IsZero() || now.Sub(r.StartedAt) > c.PartialAfter:
		return StuckPartial
	default:
		return NotStuck
	}
}
