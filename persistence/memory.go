package persistence

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory is a [Store] in this process's memory: the reference for what a store
// does, and a real store for tests. It is no store for production, since two
// Lambda environments share no memory.
//
// The zero value is ready to use. Safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	records map[string]Record
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return new(Memory) }

var (
	_ Store        = (*Memory)(nil)
	_ Checkpointer = (*Memory)(nil)
	_ Renewer      = (*Memory)(nil)
	_ Reader       = (*Memory)(nil)
)

// Acquire implements [Store].
func (m *Memory) Acquire(ctx context.Context, c Claim) (Record, error) {
	if err := c.Check(); err != nil {
		return Record{}, err
	}
	if err := ctx.Err(); err != nil {
		return Record{}, &Fault{Op: "acquire", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found, exists := m.records[c.Key]
	judgement := Vacant
	if exists {
		judgement = c.Judge(found)
	}
	switch judgement {
	case Vacant:
		found = m.set(c.Fresh().Clone())
	case Stale:
		found = m.set(c.TakeOver(found).Clone())
	}
	return found.Clone(), nil
}

// Complete implements [Store].
func (m *Memory) Complete(ctx context.Context, l Lease, o Outcome) error {
	if err := errors.Join(l.Check(), o.Check()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Fault{Op: "complete", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.records[l.Key]
	switch {
	case !exists || r.Owner != l.Owner || r.Status == StatusPartial:
		return ErrLeaseLost
	case r.Status.Finished() && !o.Recorded(r):
		return &SettledError{Record: r.Clone()}
	case r.Status.Finished():
		return nil
	}
	done := o.Of(r.Lease())
	done.Attempt = r.Attempt
	m.set(done.Clone())
	return nil
}

// Release implements [Store].
func (m *Memory) Release(ctx context.Context, l Lease) error {
	if err := l.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Fault{Op: "release", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.records[l.Key]
	switch {
	case !exists:
		return nil
	case r.Owner != l.Owner:
		return ErrLeaseLost
	case r.Status.Finished():
		return &SettledError{Record: r.Clone()}
	case len(r.Steps) == 0:
		delete(m.records, l.Key)
	default:
		r.Status = StatusPartial
		r.LeaseUntil = time.Time{}
		m.set(r)
	}
	return nil
}

// Checkpoint implements [Checkpointer].
func (m *Memory) Checkpoint(ctx context.Context, l Lease, step string, output []byte) error {
	if err := l.CheckStep(step); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Fault{Op: "checkpoint", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.records[l.Key]
	there, done := r.Steps[step]
	switch {
	case !exists || r.Owner != l.Owner || r.Status == StatusPartial:
		return ErrLeaseLost
	case r.Status.Finished() || done && !bytes.Equal(there, output):
		return &SettledError{Record: r.Clone()}
	}
	r = l.Renewed(r)
	if !done {
		r = r.Clone()
		if r.Steps == nil {
			r.Steps = make(map[string][]byte)
		}
		r.Steps[step] = bytes.Clone(output)
	}
	m.set(r)
	return nil
}

// Renew implements [Renewer].
func (m *Memory) Renew(ctx context.Context, l Lease) error {
	if err := l.CheckRenewal(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Fault{Op: "renew", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.records[l.Key]
	if !exists || r.Owner != l.Owner || r.Status != StatusProcessing {
		return ErrLeaseLost
	}
	m.set(l.Renewed(r))
	return nil
}

// Read implements [Reader].
func (m *Memory) Read(ctx context.Context, key string) (Record, bool, error) {
	if err := (Lease{Key: key}).CheckKey(); err != nil {
		return Record{}, false, err
	}
	if err := ctx.Err(); err != nil {
		return Record{}, false, &Fault{Op: "read", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.records[key]
	return r.Clone(), exists, nil
}

// ReadMany implements the ability of that name of package storekit.
func (m *Memory) ReadMany(ctx context.Context, keys []string) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, &Fault{Op: "read", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []Record
	asked := make(map[string]bool, len(keys))
	for _, key := range keys {
		if r, exists := m.records[key]; exists && !asked[key] {
			asked[key] = true
			found = append(found, r.Clone())
		}
	}
	return found, nil
}

// Forget removes a record by hand, if owner, status and lease are still those of the one that
// was seen. It is done, with a nil error, also where there is no record; [ErrLeaseLost] where it
// is another one by now.
func (m *Memory) Forget(ctx context.Context, seen Record) error {
	if err := (Lease{Key: seen.Key}).CheckKey(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &Fault{Op: "forget", Retryable: true, Err: err}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.records[seen.Key]
	if exists && (r.Owner != seen.Owner || r.Status != seen.Status || !r.LeaseUntil.Equal(seen.LeaseUntil)) {
		return ErrLeaseLost
	}
	delete(m.records, seen.Key)
	return nil
}

// Records returns copies of all records in the order of their keys, for tests
// to look at.
func (m *Memory) Records() []Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Record, 0, len(m.records))
	for _, r := range m.records {
		all = append(all, r.Clone())
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// Put sets a record as it is, for tests to start from.
func (m *Memory) Put(r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(r.Clone())
}

// Delete removes a record, as the table's TTL would.
func (m *Memory) Delete(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.records, key)
}

func (m *Memory) set(r Record) Record {
	if m.records == nil {
		m.records = make(map[string]Record)
	}
	stored := r
	stored.TookOver = "" // of the answer
	m.records[r.Key] = stored
	return r
}
