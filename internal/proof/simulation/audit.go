package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// audit follows what the table says, write by write.
type audit struct {
	mu    sync.Mutex
	table map[string]audited
}

// audited is a record, and the payload of who acquired it.
type audited struct {
	persistence.Record
	amount int
}

// audit compares the invocation's record with what it was, after a request of the
// invocation has been applied.
func (w *world) audit(i *invocation) {
	a := &w.audited
	a.mu.Lock()
	defer a.mu.Unlock()
	was, is := a.table[i.key], audited{Record: w.read(i.key)}
	is.amount = was.amount
	if is.Owner != was.Owner {
		is.amount = i.order.Amount
	}
	a.table[i.key] = is
	if !same(was.Record, is.Record) {
		w.say(i.name, "the record is now %s", show(is.Record))
		w.judge(i, was, is)
	}
	if w.bank != nil {
		w.bank.audit(i, was.Record, is.Record)
	}
}

// read returns the record as it is in the table, or none.
func (w *world) read(key string) persistence.Record {
	record, _, err := w.table.Read(context.Background(), key)
	if err != nil {
		w.broken(Truthful, "the record can't be read: %v", err)
	}
	return record
}

// judge says what is wrong with a change that the invocation has made.
func (w *world) judge(i *invocation, was, is audited) {
	clock, config := i.process.clock(), i.operation.config
	running := was.Status == persistence.StatusProcessing
	runs := is.Status == persistence.StatusProcessing
	resumed := runs && is.Attempt > 1 && is.Owner != was.Owner
	replaced := is.Status.Finished() && is.Owner != was.Owner // at once
	switch {
	case was.Status.Finished() && !past(was.ExpiresAt, clock, time.Second):
		w.broken(Final, "%s changes %s", i.name, show(was.Record))
	case running && runs && is.Owner == was.Owner:
		if i.owner != was.Owner {
			w.broken(OwnersOnly, "%s renews what is not its own, %s", i.name, show(was.Record))
		}
		if is.LeaseUntil.Before(was.LeaseUntil) {
			w.broken(OwnersOnly, "%s shortens the lease of %s", i.name, show(was.Record))
		}
	case running && runs && !past(was.LeaseUntil, clock, time.Millisecond):
		w.broken(OwnersOnly, "%s takes over %s before its lease ends", i.name, show(was.Record))
	case running && runs && is.Attempt > 1 && config.RefuseUnknown:
		w.broken(OwnersOnly, "%s takes over %s, whose outcome is unknown", i.name, show(was.Record))
	case resumed && is.amount != was.amount:
		w.broken(OwnersOnly, "%s takes over %s, which is of another payload", i.name, show(was.Record))
	case running && replaced:
		if !past(was.ExpiresAt, clock, time.Second) {
			w.broken(OwnersOnly, "%s replaces %s before it expires", i.name, show(was.Record))
		}
	case running && !runs && was.Owner != i.owner:
		w.broken(OwnersOnly, "%s settles what is not its own, %s", i.name, show(was.Record))
	}
	if limit := clock.Add(i.operation.longestLease()); runs && (is.LeaseUntil.IsZero() || is.LeaseUntil.After(limit)) {
		w.broken(Bounded, "%s locks the key with %s", i.name, show(is.Record))
	}
	if is.Status.Finished() {
		w.record(i, is.Record)
	}
}

// sweep does what the table's TTL does, sooner or later.
func (w *world) sweep() {
	a := &w.audited
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.db.RemoveExpired(time.Now()) == 0 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(a.table)) {
		was := a.table[key]
		if was.Status == "" || w.read(key).Status != "" {
			continue
		}
		if was.Status == persistence.StatusProcessing && !past(was.LeaseUntil, time.Now(), time.Millisecond) {
			w.broken(Bounded, "the expiry of %s ends its lease", show(was.Record))
		}
		w.count(removed)
		delete(a.table, key)
		if w.bank != nil {
			w.bank.forget(key, was.Record)
		}
	}
}

// stands returns the record that the audit has seen last.
func (w *world) stands(key string) audited {
	w.audited.mu.Lock()
	defer w.audited.mu.Unlock()
	return w.audited.table[key]
}

func same(a, b persistence.Record) bool {
	return a.Status == b.Status && a.Owner == b.Owner && a.LeaseUntil.Equal(b.LeaseUntil) &&
		a.ExpiresAt.Equal(b.ExpiresAt) && string(a.Result) == string(b.Result)
}

func show(r persistence.Record) string {
	switch {
	case r.Status == "":
		return "gone"
	case r.Status.Finished():
		return fmt.Sprintf("%s with %s until %s", r.Status, r.Result, r.ExpiresAt.Format(time.TimeOnly))
	case r.Status == persistence.StatusPartial:
		return fmt.Sprintf("%s after %s", r.Status, slices.Sorted(maps.Keys(r.Steps)))
	default:
		return fmt.Sprintf("%s by owner %.6s, attempt %d, until %s", r.Status, r.Owner, r.Attempt, r.LeaseUntil.Format("15:04:05.000"))
	}
}
