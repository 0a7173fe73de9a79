package saga

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/failure"
	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// keep adds an entry of a step to the record, together with writes. It renews the
// lease by the way.
func (j *callJournal) keep(ctx context.Context, step, name string, stored []byte, writes []storekit.Write) error {
	lease, landed := j.book(step, name, stored)
	err := j.call.Keep(ctx, lease, name, stored, writes)
	landed(err)
	return err
}

// book reserves room in the record for an entry, and returns the lease to write it with:
// what other steps are writing at the same time must fit beside it. Call landed when it
// is known what became of it.
func (j *callJournal) book(step, name string, stored []byte) (lease persistence.Lease, landed func(error)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	lease = j.lease
	lease.Reserve = j.reserve(step)
	for other, size := range j.inFlight {
		if other != name {
			lease.Reserve += size
		}
	}
	j.inFlight[name] = len(name) + len(stored) + storekit.StepOverhead
	return lease, func(err error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		delete(j.inFlight, name)
		if err != nil || !j.call.Recorded {
			return
		}
		steps := make(map[string][]byte, len(j.lease.Steps)+1) // leases that were handed out keep theirs
		maps.Copy(steps, j.lease.Steps)
		steps[name] = stored
		j.lease.Steps = steps
	}
}

// unkept translates the store's error of a step. The effect is what has happened all
// the same; nil if nothing has.
func (j *callJournal) unkept(err error, effect []byte) error {
	switch {
	case errors.Is(err, persistence.ErrLeaseLost):
		return &idempotent.LeaseLostError{Key: j.call.Key, Executed: effect != nil, Result: effect, Err: err}
	case err == nil, journal.Answered(err):
		return err
	}
	return &idempotent.StoreError{Op: "checkpoint", Key: j.call.Key, Executed: effect != nil, Result: effect, Retryable: persistence.Retryable(err), Err: err}
}

// entrySize is what an entry without an output takes of a record, in bytes.
const entrySize = 160

// reserve is what must stay free in the record for what the steps under way, and
// undoing those that are finished, have yet to record; not counting the entry of the
// step that is being written.
func (j *callJournal) reserve(writing string) int {
	n, compensable := 0, false
	for name, s := range j.history.steps {
		if s.running && s.phase < finished && name != writing {
			n += 2 * (len(name) + entrySize)
		}
		if j.history.decision == nil && !j.undoing.begun && (s.phase == begun || s.phase == declined || s.running && s.declared.atMostOnce) {
			n += 2*len(name) + len(`"",`) // the decision may have to name it
			n += len(name) + entrySize    // or an entry of its own
		}
		if s.late {
			n += len(name) + entrySize // that takes its place
		}
		if s.phase == undone || s.phase < finished && !s.running || !s.compensable() || j.undoing.begun && name == writing {
			continue
		}
		n += len(name) + len(compensatedSuffix) + entrySize
		compensable = true
	}
	if compensable && !j.undoing.begun {
		n += 2 * failure.Size
	}
	return n
}

// fits tells whether the record has room for what the steps under way have yet to
// record, outputs aside: their effects must not be lost.
func (j *callJournal) fits() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	lease := j.lease
	lease.Reserve = j.reserve("")
	for _, size := range j.inFlight {
		lease.Reserve += size
	}
	if room, known := j.call.Room(lease); known && room < 0 {
		return fmt.Errorf("%w: the record has no room for another step", persistence.ErrTooLarge)
	}
	return nil
}
