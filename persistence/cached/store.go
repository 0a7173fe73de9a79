package cached

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// Limits bounds the memory of a [Store] store. Zero fields take their
// defaults.
type Limits struct {
	// Records kept at most. Defaults to 256.
	Records int
	// Bytes of memory that the kept records take at most, about. Defaults to 8 MiB, a
	// sixteenth of the smallest Lambda environment.
	Bytes int
}

// Store answers duplicates of finished operations from this process's memory,
// without a request to the store behind it.
//
// Only finished records are kept, least recently used ones are dropped first,
// and a hit is judged like any other record: its expiry by the claim's clock,
// its fingerprint by the caller. Nothing is shared by reference. A record that
// somebody deletes from the table by hand is still replayed by environments
// that have it cached. A cache has no abilities of its own: whether there are
// checkpoints and transactions depends on the store behind it.
//
// Safe for concurrent use.
type Store struct {
	storekit.Front
	limits Limits

	mu      sync.Mutex
	recent  list.List // of persistence.Record; the most recently used in front
	entries map[string]*list.Element
	bytes   int
	running map[string]string // the owner that has been seen to acquire its record, by key
}

// New returns a cache in front of a store.
//
// It panics where there is no store.
func New(store persistence.Store, limits Limits) *Store {
	if storekit.IsNil(store) {
		panic("cached: no store")
	}
	if limits.Records <= 0 {
		limits.Records = 256
	}
	if limits.Bytes <= 0 {
		limits.Bytes = 8 << 20
	}
	return &Store{Front: storekit.NewFront(store), limits: limits, entries: make(map[string]*list.Element), running: make(map[string]string)}
}

var (
	_ persistence.Store    = (*Store)(nil)
	_ persistence.Reader   = (*Store)(nil)
	_ storekit.Refresher   = (*Store)(nil)
	_ storekit.BatchReader = (*Store)(nil)
)

// Acquire implements [persistence.Store].
func (c *Store) Acquire(ctx context.Context, claim persistence.Claim) (persistence.Record, error) {
	if r, hit := c.recall(claim.Key); hit && !r.Expired(claim.Now) {
		return r, nil
	}
	r, err := c.Front.Acquire(ctx, claim)
	if err == nil {
		c.remember(r)
		c.begin(claim, r)
	}
	return r, err
}

// Complete implements [persistence.Store].
func (c *Store) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	return c.complete(l, o, func() error { return c.Front.Complete(ctx, l, o) })
}

func (c *Store) complete(l persistence.Lease, o persistence.Outcome, complete func() error) error {
	err := complete()
	switch {
	case c.learn(err):
		c.end(l)
	case err == nil && c.end(l):
		// A nil error says that this outcome is there, and the record was acquired here:
		// the lease has its fingerprint.
		c.remember(o.Of(l))
	}
	return err
}

// learn remembers the record that a store shows to an owner who has finished it otherwise,
// and tells whether it does.
func (c *Store) learn(err error) bool {
	settled, ok := errors.AsType[*persistence.SettledError](err)
	if ok && settled.Record.Status.Finished() {
		c.remember(settled.Record)
	}
	return ok
}

// Release implements [persistence.Store].
func (c *Store) Release(ctx context.Context, l persistence.Lease) error {
	c.end(l)
	err := c.Front.Release(ctx, l)
	c.learn(err)
	return err
}

// Read implements [persistence.Reader]. Behind a store that is no Reader, it finds what is
// cached.
func (c *Store) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	if r, hit := c.recall(key); hit {
		return r, true, nil
	}
	return c.Refresh(ctx, key)
}

// Refresh implements [storekit.Refresher].
func (c *Store) Refresh(ctx context.Context, key string) (persistence.Record, bool, error) {
	r, found, err := c.Front.Read(ctx, key)
	if errors.Is(err, errors.ErrUnsupported) {
		return persistence.Record{}, false, nil
	}
	switch {
	case err == nil && found:
		c.remember(r)
	case err == nil: // somebody has removed it
		c.remember(persistence.Record{Key: key})
	}
	return r, found, err
}

// ReadMany implements [storekit.BatchReader]. What is cached is not asked for.
func (c *Store) ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error) {
	var known []persistence.Record
	var unknown []string
	asked := make(map[string]bool, len(keys))
	for _, key := range keys {
		if asked[key] {
			continue
		}
		asked[key] = true
		if r, hit := c.recall(key); hit {
			known = append(known, r)
		} else {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) == 0 {
		return known, nil
	}
	found, err := c.Front.ReadMany(ctx, unknown)
	for _, r := range found {
		c.remember(r)
	}
	return append(known, found...), err
}

// begin notes who owns a record that has just been acquired, unless it is known to.
// Owners who never end make room for others.
func (c *Store) begin(claim persistence.Claim, r persistence.Record) {
	if r.Owner != claim.Owner || r.Status != persistence.StatusProcessing {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[r.Key] == r.Owner {
		return
	}
	for key := range c.running {
		if len(c.running) < c.limits.Records {
			break
		}
		delete(c.running, key)
	}
	c.running[r.Key] = r.Owner
}

// end forgets an owner, and tells whether it was known.
func (c *Store) end(l persistence.Lease) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[l.Key] != l.Owner {
		return false
	}
	delete(c.running, l.Key)
	return true
}

func (c *Store) recall(key string) (persistence.Record, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, hit := c.entries[key]
	if !hit {
		return persistence.Record{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(persistence.Record).Clone(), true
}

// remember keeps a finished record. Any other one is news as well: what was
// known under its key has expired.
func (c *Store) remember(r persistence.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, known := c.entries[r.Key]; known {
		c.forget(e)
	}
	if !r.Status.Finished() || footprint(r) > c.limits.Bytes {
		return
	}
	c.entries[r.Key] = c.recent.PushFront(r.Clone())
	c.bytes += footprint(r)
	for len(c.entries) > c.limits.Records || c.bytes > c.limits.Bytes {
		c.forget(c.recent.Back())
	}
}

func (c *Store) forget(e *list.Element) {
	r := c.recent.Remove(e).(persistence.Record)
	delete(c.entries, r.Key)
	c.bytes -= footprint(r)
}

// What an entry takes besides its bytes, on a 64-bit system: the record, the element of the list
// and the map's place; and the key, value and share of a map of steps.
const (
	entryOverhead = 640 // bytes
	stepOverhead  = 128
)

// footprint is about how much memory a record holds on to.
func footprint(r persistence.Record) int {
	n := entryOverhead + 2*len(r.Key) + len(r.Owner) + len(r.Fingerprint) + len(r.Result)
	for name, output := range r.Steps {
		n += stepOverhead + len(name) + len(output)
	}
	return n
}
