package explore

import (
	"context"
	"errors"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// OnMemory is this library on the reference store: each of the store's calls is a
// request.
func OnMemory(config idempotent.Config) System {
	name := named("ikkai on Memory", config)
	return guardedSystem(config, System{Name: name, Open: func() (Table, error) {
		return &memoryTable{config: config}, nil
	}})
}

type memoryTable struct {
	config idempotent.Config
	store  *persistence.Memory
}

// Reset implements [Table].
func (m *memoryTable) Reset() { m.store = persistence.NewMemory() }

// Record implements [Table].
func (m *memoryTable) Record() (persistence.Record, bool) {
	for _, r := range m.store.Records() {
		r.Result = plain(r.Result)
		return r, true
	}
	return persistence.Record{}, false
}

// RemoveExpired implements [Table].
func (m *memoryTable) RemoveExpired(time.Time) {
	if r, exists := m.Record(); exists {
		m.store.Delete(r.Key)
	}
}

// Connect implements [Table].
func (m *memoryTable) Connect(p *Process) (Protocol, error) {
	if room := p.world.system.Room; room > 0 {
		return guarded(p, cramped{remote{p, m.store}, room}, m.config)
	}
	return guarded(p, remote{p, m.store}, m.config)
}

// remote is a store each of whose calls is a request.
type remote struct {
	p     *Process
	store *persistence.Memory
}

// Acquire implements [persistence.Store].
func (r remote) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	got, err := Ask(ctx, r.p, "Acquire", func() (persistence.Record, error) { return r.store.Acquire(context.Background(), c) })
	return got, below("acquire", err)
}

// Complete implements [persistence.Store].
func (r remote) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	_, err := Ask(ctx, r.p, "Complete", func() (struct{}, error) { return struct{}{}, r.store.Complete(context.Background(), l, o) })
	return below("complete", err)
}

// Release implements [persistence.Store].
func (r remote) Release(ctx context.Context, l persistence.Lease) error {
	_, err := Ask(ctx, r.p, "Release", func() (struct{}, error) { return struct{}{}, r.store.Release(context.Background(), l) })
	return below("release", err)
}

// Checkpoint implements [persistence.Checkpointer].
func (r remote) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	_, err := Ask(ctx, r.p, "Checkpoint", func() (struct{}, error) {
		return struct{}{}, r.store.Checkpoint(context.Background(), l, step, output)
	})
	return below("checkpoint", err)
}

// Renew implements [persistence.Renewer].
func (r remote) Renew(ctx context.Context, l persistence.Lease) error {
	_, err := Ask(ctx, r.p, "Renew", func() (struct{}, error) { return struct{}{}, r.store.Renew(context.Background(), l) })
	return below("renew", err)
}

// Read implements [persistence.Reader].
func (r remote) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	type answer struct {
		record persistence.Record
		found  bool
	}
	got, err := Ask(ctx, r.p, Read, func() (answer, error) {
		record, found, err := r.store.Read(context.Background(), key)
		return answer{record, found}, err
	})
	return got.record, got.found, below("read", err)
}

// below is the error of a request that has got no reply, in the terms of the contract.
func below(op string, err error) error {
	_, settled := errors.AsType[*persistence.SettledError](err)
	if err == nil || settled || errors.Is(err, persistence.ErrLeaseLost) {
		return err
	}
	return &persistence.Fault{Op: op, Retryable: true, Err: err}
}
