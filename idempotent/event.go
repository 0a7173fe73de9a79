package idempotent

import (
	"errors"
	"log/slog"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// Event is something that happened to a guarded call, for metrics, logs and tests.
type Event struct {
	Kind      EventKind // what has happened
	Operation string    // the guard's
	// Key is the record's key; empty where there is none.
	Key string
	// Step is the step that it happened to, if it was one.
	Step string
	// Request is what the store was asked for (EventRequest): acquire, complete, release,
	// checkpoint, renew, read or commit.
	Request string
	// Attempt counts the acquisitions of the record; 0 where it is not known.
	Attempt int
	// Elapsed is how long the function ran (EventExecuted, EventReleased,
	// EventPartialSuccess, EventLeaseLost, EventNotStored) or how long the call waited
	// (EventWaited). Of the parts that Config.Trace is told of, how long they took.
	Elapsed time.Duration
	// ExpiresAt is until when the outcome answers duplicates (EventExecuted,
	// EventReplayed, and EventNotStored where the outcome is recorded without its
	// result); zero elsewhere.
	ExpiresAt time.Time
	// Units are the read and write units that the store says it has been charged for a
	// request (EventRequest); 0 where it says nothing. DynamoDB says it of requests that
	// succeed; those that are refused by their condition are charged too.
	Units float64
	// Err is what went wrong, if anything did.
	Err error
}

// Code says in a word what went wrong: as the call's caller is told it, or, where the error
// is the store's own, as the kind of the event does. Without an error it is CodeCompleted.
func (e Event) Code() Code {
	code := VerdictOf(e.Err).Code
	if code != CodeFunctionFailed {
		return code
	}
	switch e.Kind {
	case EventLeaseLost:
		return CodeLeaseLost
	case EventNotStored:
		return CodeNotStored
	case EventStoreFailed:
		return CodeStoreFailed
	case EventUnprotected:
		return CodeSwitchedOff
	case EventRequest:
		if errors.Is(e.Err, persistence.ErrLeaseLost) {
			return CodeLeaseLost
		}
		return CodeStoreFailed
	default:
		return code
	}
}

// CodeSwitchedOff is the code of EventUnprotected where the environment has switched the
// guards off. No error has it.
const CodeSwitchedOff Code = "switched_off"

// EventKind says what happened. The values are stable: they are the attribute "event"
// in logs, which alarms filter on.
type EventKind string

const (
	// EventAcquired says that the call holds the record, and that its function starts.
	EventAcquired EventKind = "acquired"
	// EventExecuted says that the function ran, and its outcome is recorded.
	EventExecuted EventKind = "executed"
	// EventReplayed says that a recorded outcome was the answer.
	EventReplayed EventKind = "replayed"
	// EventWaited says that a duplicate waited for the run it duplicates. What came of
	// it is the next event.
	EventWaited EventKind = "waited"
	// EventInProgress says that a duplicate was turned away because the first still
	// runs.
	EventInProgress EventKind = "in_progress"
	// EventMismatch says that a duplicate with another payload was turned away.
	EventMismatch EventKind = "mismatch"
	// EventKeyRefused says that a request was turned away because its payload gives no
	// usable key or fingerprint.
	EventKeyRefused EventKind = "key_refused"
	// EventTakenOver says that an earlier run died, or outlasted its lease; this call
	// runs in its place.
	EventTakenOver EventKind = "taken_over"
	// EventSuspended says that an invocation of a durable function has ended before its
	// execution: it waits for something, or has failed and is invoked again (Err). The
	// record stays the execution's.
	EventSuspended EventKind = "suspended"
	// EventResumed says that an earlier run was given up after some of its steps, or that a
	// durable execution was invoked again; this call goes on with it.
	EventResumed EventKind = "resumed"
	// EventRenewed says that the lease of a long run was made longer.
	EventRenewed EventKind = "renewed"
	// EventSkipped says that there was nothing to do ([ErrSkip]), and that nothing is
	// recorded.
	EventSkipped EventKind = "skipped"
	// EventReleased says that the function ran and did not finish, or could not start;
	// a retry may run at once.
	EventReleased EventKind = "released"
	// EventLeaseLost says that the function ran, but somebody else owns the record by
	// now.
	EventLeaseLost EventKind = "lease_lost"
	// EventNotStored says that the function, or a step, ran, but that its result could
	// not be stored.
	EventNotStored EventKind = "not_stored"
	// EventUnprotected says that the function runs without a record.
	EventUnprotected EventKind = "unprotected"
	// EventStoreFailed says that a call of the store failed.
	EventStoreFailed EventKind = "store_failed"
	// EventPartialSuccess is EventReleased where finished steps are kept: a retry
	// resumes them.
	EventPartialSuccess EventKind = "partial_success"
	// EventStuck says that the request can't go on by itself, however often it is
	// repeated: somebody has to find out what has happened, or to deploy what
	// understands the record. Err says why, and Step where.
	EventStuck EventKind = "stuck"
	// EventStepExecuted says that a step ran, and that its output is recorded.
	EventStepExecuted EventKind = "step_executed"
	// EventStepReplayed says that a step was finished before, and its output returned.
	EventStepReplayed EventKind = "step_replayed"
	// EventCompensated says that a step was undone.
	EventCompensated EventKind = "compensated"
	// EventCompensationFailed says that a step could not be undone yet.
	EventCompensationFailed EventKind = "compensation_failed"
)

// level is how loud an event is logged: errors want a person, warnings a look.
func (k EventKind) level() slog.Level {
	switch k {
	case EventLeaseLost, EventStoreFailed, EventStuck, EventCompensationFailed:
		return slog.LevelError
	case EventMismatch, EventKeyRefused, EventTakenOver, EventNotStored, EventUnprotected, EventPartialSuccess, EventCompensated:
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}
