package persistence

import (
	"bytes"
	"maps"
	"strings"
	"time"
)

// Status is where an operation stands. The values are what stores write.
type Status string

const (
	// StatusProcessing is a run under way, or one that died and whose lease has
	// not been taken over.
	StatusProcessing Status = "PROCESSING"
	// StatusPartial is an operation given up after some of its steps; the next
	// caller resumes it.
	StatusPartial Status = "PARTIAL_SUCCESS"
	// StatusCompleted is an operation that succeeded; its result is replayed.
	StatusCompleted Status = "COMPLETED"
	// StatusFailed is an operation that failed for good; its failure is replayed.
	StatusFailed Status = "FAILED"
)

// Finished tells whether the status is final: the record is replayed and never
// changes until it expires.
func (s Status) Finished() bool { return s == StatusCompleted || s == StatusFailed }

// Record is the stored state of one key.
type Record struct {
	// Key of the record.
	Key string
	// Status is where the operation stands.
	Status Status

	// Owner is the token of the last acquisition. It may be empty in a record
	// that another toolkit wrote.
	Owner string

	// LeaseUntil ends the owner's right to be alone; whole milliseconds. Only a
	// PROCESSING record has one, unless another toolkit has left it in a finished
	// one. Zero while PROCESSING means that no end is known: the record is then
	// locked until ExpiresAt, never abandoned.
	LeaseUntil time.Time

	// ExpiresAt ends the record; whole seconds. Zero means never.
	ExpiresAt time.Time

	// Fingerprint is the digest of what must not differ between the tries of one
	// key, or empty where nothing was recorded.
	Fingerprint string

	// Result is what a finished record replays. An empty result is a result.
	Result []byte

	// ResultOmitted says that the operation finished but its result could not be
	// stored: there is nothing to replay, and it must not run again either.
	ResultOmitted bool

	// Steps are the outputs of the finished steps, by name.
	Steps map[string][]byte

	// Attempt counts the acquisitions of this record, from 1; 0 is not known.
	Attempt int

	// Run is the run that has acquired the record last, as far as it is known.
	Run

	// Event is what the run was called with, where the engine keeps it: for resuming a
	// record without its client. Only a record that is not finished has one.
	Event []byte

	// TookOver is the status that an acquisition found, where it has taken a record
	// over: it tells a run that died from one that was given up after some of its steps.
	// It is not stored, and empty where it is not known, as after a lost reply.
	TookOver Status
}

// Run says who runs an operation, for people who look for it: nothing is decided by it.
// The zero Run is not known, as of records that other toolkits or earlier versions wrote.
type Run struct {
	// StartedAt is when the run has acquired the record; whole milliseconds.
	StartedAt time.Time
	// Function is the name of the function and its version, such as "payment:7".
	Function string
	// RequestID is that of the invocation, as Lambda logs it.
	RequestID string
}

// recorded is the run as a record has it.
func (r Run) recorded() Run {
	if !r.StartedAt.IsZero() {
		r.StartedAt = time.UnixMilli(r.StartedAt.UnixMilli())
	}
	return r
}

// Execution returns the durable execution that a record belongs to, as its owner says it;
// empty where it is the record of a single run. The owners of an execution's claims begin with
// its name and a number sign: see [Claim.Execution].
func (r Record) Execution() string {
	name, _, of := strings.Cut(r.Owner, "#")
	if !of {
		return ""
	}
	return name
}

// LeaseLive tells whether a run of this record may still be under way at now,
// so that nobody else may start one. A PROCESSING record without a lease counts
// as live until it expires. Compared in whole milliseconds; the last
// millisecond still belongs to the owner.
func (r Record) LeaseLive(now time.Time) bool {
	switch {
	case r.Status != StatusProcessing:
		return false
	case r.LeaseUntil.IsZero():
		return !r.pastExpiry(now)
	default:
		return !r.pastLease(now)
	}
}

// Expired tells whether the record counts as absent at now: its ExpiresAt has
// passed, and so has its lease, if it has one. DynamoDB removes expired items
// days late, so this is always judged and never left to the table. Compared in
// whole seconds; the last second still belongs to the record.
func (r Record) Expired(now time.Time) bool {
	return r.pastExpiry(now) && (r.LeaseUntil.IsZero() || r.pastLease(now))
}

func (r Record) pastLease(now time.Time) bool {
	return r.LeaseUntil.UnixMilli() < now.UnixMilli()
}

func (r Record) pastExpiry(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && r.ExpiresAt.Unix() < now.Unix()
}

// Clone returns a copy that shares no memory with r.
func (r Record) Clone() Record {
	r.Result = bytes.Clone(r.Result)
	r.Steps = cloneSteps(r.Steps)
	r.Event = bytes.Clone(r.Event)
	return r
}

func cloneSteps(steps map[string][]byte) map[string][]byte {
	steps = maps.Clone(steps)
	for name, output := range steps {
		steps[name] = bytes.Clone(output)
	}
	return steps
}
