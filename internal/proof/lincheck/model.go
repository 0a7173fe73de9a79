package lincheck

import (
	"maps"

	"github.com/ikkai-go/idempotency/persistence"
)

// record is what a store holds under a key, in the units it is compared in. The
// zero value is no record. A record is never changed, only replaced.
type record struct {
	key         string
	status      persistence.Status
	owner       string
	leaseUntil  int64 // milliseconds; 0 is none
	expiresAt   int64 // seconds; 0 is never
	fingerprint string
	result      string
	omitted     bool
	steps       map[string]string // nil where there are none
	attempt     int
}

// Event is what a call did to the record it met.
type Event string

// What the contract knows. The reason for each is at the methods of
// [persistence.Store] and at the fields of [persistence.Record].
const (
	AcquiredNew          Event = "acquire: there was no record"
	AcquiredExpired      Event = "acquire: the record had expired"
	AcquiredStale        Event = "acquire: the lease had ended"
	AcquiredPartial      Event = "acquire: the record had been given up"
	AcquiredBefore       Event = "acquire: the record is the claim's own"
	MetRunning           Event = "acquire: the lease is live"
	MetFinished          Event = "acquire: the record is finished"
	MetMismatch          Event = "acquire: the fingerprint is another"
	MetUnknown           Event = "acquire: the outcome is unknown"
	Completed            Event = "complete: done"
	CompletedBefore      Event = "complete: done before"
	CompletedOtherwise   Event = "complete: the owner has finished otherwise before"
	CompletedReleased    Event = "complete: the owner has given up"
	CompleteLost         Event = "complete: the record is somebody else's, or gone"
	ReleasedAll          Event = "release: the record is removed"
	ReleasedKeeping      Event = "release: the steps are kept"
	ReleasedBefore       Event = "release: done before"
	ReleasedFinished     Event = "release: the owner has finished"
	ReleaseLost          Event = "release: the record is somebody else's"
	Checkpointed         Event = "checkpoint: done"
	CheckpointBefore     Event = "checkpoint: done before"
	CheckpointOtherwise  Event = "checkpoint: the step has another output"
	CheckpointedFinished Event = "checkpoint: the owner has finished"
	CheckpointedGivenUp  Event = "checkpoint: the owner has given up"
	CheckpointLost       Event = "checkpoint: the record is somebody else's, or gone"
	ReadNothing          Event = "read: there is no record"
	ReadUnfinished       Event = "read: the record is not finished"
	ReadFinished         Event = "read: the record is finished"
)

// told is what an owner is told, or one who takes itself for the owner.
func (e Event) told() verdict {
	switch e {
	case CompletedReleased, CompleteLost, ReleaseLost, CheckpointedGivenUp, CheckpointLost:
		return leaseLost
	case CompletedOtherwise, ReleasedFinished, CheckpointOtherwise, CheckpointedFinished:
		return settled
	default:
		return granted
	}
}

func (r record) exists() bool   { return r.status != "" }
func (r record) running() bool  { return r.status == persistence.StatusProcessing }
func (r record) givenUp() bool  { return r.status == persistence.StatusPartial }
func (r record) finished() bool { return r.exists() && !r.running() && !r.givenUp() }

// The last millisecond of a lease still belongs to its owner, and the last second
// of a record to the record.
func (r record) leaseEnded(c claim) bool { return r.leaseUntil < c.Now.UnixMilli() }
func (r record) expired(c claim) bool {
	return r.expiresAt != 0 && r.expiresAt < c.Now.Unix() && r.leaseEnded(c)
}

func (r record) mismatches(c claim) bool {
	return r.fingerprint != "" && c.Fingerprint != "" && r.fingerprint != c.Fingerprint
}

func (c claim) on(r record) (record, Event) {
	fresh := record{
		key: c.Key, status: persistence.StatusProcessing, owner: c.Owner, fingerprint: c.Fingerprint,
		leaseUntil: c.LeaseUntil.UnixMilli(), expiresAt: c.ExpiresAt.Unix(), attempt: 1,
	}
	next := fresh
	next.steps = r.steps
	next.attempt = r.attempt + 1
	if next.fingerprint == "" {
		next.fingerprint = r.fingerprint
	}
	switch {
	case !r.exists():
		return fresh, AcquiredNew
	case r.owner == c.Owner:
		return r, AcquiredBefore
	case r.expired(c):
		return fresh, AcquiredExpired
	case r.finished():
		return r, MetFinished
	case r.running() && !r.leaseEnded(c):
		return r, MetRunning
	case r.mismatches(c):
		return r, MetMismatch
	case r.givenUp():
		return next, AcquiredPartial
	case c.RefuseUnknown:
		return r, MetUnknown
	default:
		return next, AcquiredStale
	}
}

func (c completion) on(r record) (record, Event) {
	switch {
	case r.owner != c.lease.Owner:
		return r, CompleteLost
	case r.givenUp():
		return r, CompletedReleased
	case r.finished() && c.outcome.Recorded(persistence.Record{Status: r.status, Result: []byte(r.result), ResultOmitted: r.omitted}):
		return r, CompletedBefore
	case r.finished():
		return r, CompletedOtherwise
	}
	r.status = c.outcome.Status
	r.leaseUntil = 0
	r.expiresAt = c.outcome.ExpiresAt.Unix()
	r.omitted = c.outcome.ResultOmitted
	if !r.omitted {
		r.result = string(c.outcome.Result)
	}
	return r, Completed
}

func (c release) on(r record) (record, Event) {
	switch {
	case !r.exists():
		return r, ReleasedBefore
	case r.owner != c.lease.Owner:
		return r, ReleaseLost
	case r.finished():
		return r, ReleasedFinished
	case r.givenUp():
		return r, ReleasedBefore
	case r.steps == nil:
		return record{}, ReleasedAll
	}
	r.status = persistence.StatusPartial
	r.leaseUntil = 0
	return r, ReleasedKeeping
}

func (c checkpoint) on(r record) (record, Event) {
	output, there := r.steps[c.step]
	switch {
	case r.owner != c.lease.Owner:
		return r, CheckpointLost
	case r.finished():
		return r, CheckpointedFinished
	case r.givenUp():
		return r, CheckpointedGivenUp
	case there && output != c.output:
		return r, CheckpointOtherwise
	case there:
		return r, CheckpointBefore
	}
	steps := map[string]string{c.step: c.output}
	maps.Copy(steps, r.steps)
	r.steps = steps
	return r, Checkpointed
}

func (c reading) on(r record) (record, Event) {
	switch {
	case !r.exists():
		return r, ReadNothing
	case r.finished():
		return r, ReadFinished
	default:
		return r, ReadUnfinished
	}
}
