package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// kvStore keeps records in a key-value service with optimistic locking, as etcd, Consul
// and NATS have it: every write names the revision that it replaces. That is all a
// store needs.
type kvStore struct{ kv *keyValues }

var (
	_ persistence.Store        = kvStore{}
	_ persistence.Checkpointer = kvStore{}
	_ persistence.Renewer      = kvStore{}
	_ persistence.Reader       = kvStore{}
)

// Acquire leaves the decision to Claim.Judge, and carries it out.
func (s kvStore) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	if err := c.Check(); err != nil {
		return persistence.Record{}, err
	}
	r, err := s.change(ctx, "acquire", c.Key, func(found *persistence.Record) (*persistence.Record, error) {
		verdict := persistence.Vacant
		if found != nil {
			verdict = c.Judge(*found)
		}
		switch verdict {
		case persistence.Vacant:
			fresh := c.Fresh()
			return &fresh, nil
		case persistence.Stale:
			taken := c.TakeOver(*found)
			return &taken, nil
		default:
			return found, nil
		}
	})
	if err != nil {
		return persistence.Record{}, err
	}
	return *r, nil
}

// Complete is for the owner alone, and an outcome stays what it is.
func (s kvStore) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	if err := errors.Join(l.Check(), o.Check()); err != nil {
		return err
	}
	_, err := s.change(ctx, "complete", l.Key, func(found *persistence.Record) (*persistence.Record, error) {
		switch {
		case found == nil || found.Owner != l.Owner || found.Status == persistence.StatusPartial:
			return nil, persistence.ErrLeaseLost
		case found.Status.Finished() && !o.Recorded(*found):
			return nil, &persistence.SettledError{Record: *found}
		case found.Status.Finished():
			return found, nil
		}
		done := o.Of(found.Lease())
		done.Attempt = found.Attempt
		return &done, nil
	})
	return err
}

// Release keeps the finished steps.
func (s kvStore) Release(ctx context.Context, l persistence.Lease) error {
	if err := l.Check(); err != nil {
		return err
	}
	_, err := s.change(ctx, "release", l.Key, func(found *persistence.Record) (*persistence.Record, error) {
		switch {
		case found == nil:
			return nil, nil
		case found.Owner != l.Owner:
			return nil, persistence.ErrLeaseLost
		case found.Status.Finished():
			return nil, &persistence.SettledError{Record: *found}
		case len(found.Steps) == 0:
			return nil, nil
		}
		partial := *found
		partial.Status, partial.LeaseUntil = persistence.StatusPartial, time.Time{}
		return &partial, nil
	})
	return err
}

// Checkpoint adds a step, and changes none.
func (s kvStore) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	if err := l.CheckStep(step); err != nil {
		return err
	}
	_, err := s.change(ctx, "checkpoint", l.Key, func(found *persistence.Record) (*persistence.Record, error) {
		if found == nil || found.Owner != l.Owner || found.Status == persistence.StatusPartial {
			return nil, persistence.ErrLeaseLost
		}
		if there, done := found.Steps[step]; found.Status.Finished() || done && !bytes.Equal(there, output) {
			return nil, &persistence.SettledError{Record: *found}
		}
		longer := l.Renewed(*found)
		longer.Steps = map[string][]byte{step: output}
		maps.Copy(longer.Steps, found.Steps)
		return &longer, nil
	})
	return err
}

// Renew moves the end of the lease on.
func (s kvStore) Renew(ctx context.Context, l persistence.Lease) error {
	if err := l.CheckRenewal(); err != nil {
		return err
	}
	_, err := s.change(ctx, "renew", l.Key, func(found *persistence.Record) (*persistence.Record, error) {
		if found == nil || found.Owner != l.Owner || found.Status != persistence.StatusProcessing {
			return nil, persistence.ErrLeaseLost
		}
		renewed := l.Renewed(*found)
		return &renewed, nil
	})
	return err
}

// Read claims nothing.
func (s kvStore) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	found, _, err := s.find(ctx, "read", key)
	if err != nil || found == nil {
		return persistence.Record{}, false, err
	}
	return *found, true, nil
}

// change puts what is decided in the place of the record that is there; nil is none. The
// write is refused if somebody else was faster, and then all is decided again. That is
// also how the store meets its own write, where the service's client has repeated one
// whose reply was lost.
func (s kvStore) change(ctx context.Context, op, key string, decide func(*persistence.Record) (*persistence.Record, error)) (*persistence.Record, error) {
	for {
		found, revision, err := s.find(ctx, op, key)
		if err != nil {
			return nil, err
		}
		wanted, err := decide(found)
		if err != nil || wanted == found {
			return found, err
		}
		var value []byte
		if wanted != nil {
			if value, err = json.Marshal(wanted); err != nil {
				return nil, fmt.Errorf("%w: %w", persistence.ErrInvalid, err)
			}
		}
		if len(value) > maxValue {
			return nil, fmt.Errorf("%w: %d bytes", persistence.ErrTooLarge, len(value))
		}
		err = s.kv.write(ctx, key, value, revision)
		switch {
		case err == nil:
			return wanted, nil
		case !errors.Is(err, errConflict):
			return nil, &persistence.Fault{Op: op, Retryable: true, Err: err}
		}
	}
}

// find returns the record of a key, if there is one, and its revision.
func (s kvStore) find(ctx context.Context, op, key string) (*persistence.Record, int, error) {
	value, revision, err := s.kv.read(ctx, key)
	switch {
	case err != nil:
		return nil, 0, &persistence.Fault{Op: op, Retryable: true, Err: err}
	case value == nil:
		return nil, revision, nil
	}
	r := new(persistence.Record)
	if err := json.Unmarshal(value, r); err != nil {
		return nil, 0, &persistence.Fault{Op: op, Err: fmt.Errorf("%w: %w", persistence.ErrUnreadable, err)}
	}
	return r, revision, nil
}

// keyValues is the service.
type keyValues struct {
	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	value    []byte // nil where it was deleted
	revision int    // 0 where there never was a value
}

const maxValue = 1 << 20 // bytes

var errConflict = errors.New("the key is at another revision")

func (kv *keyValues) read(ctx context.Context, key string) (value []byte, revision int, err error) {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	e := kv.entries[key]
	return bytes.Clone(e.value), e.revision, ctx.Err()
}

// write replaces a revision by a value; nil deletes it.
func (kv *keyValues) write(ctx context.Context, key string, value []byte, revision int) error {
	kv.mu.Lock()
	defer kv.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if kv.entries[key].revision != revision {
		return errConflict
	}
	kv.entries[key] = entry{bytes.Clone(value), revision + 1}
	return nil
}

// A complete store, and the proof that it keeps the contract. In a test, [storetest.Run]
// gives the proof.
func Example() {
	store := kvStore{&keyValues{entries: make(map[string]entry)}}
	broken, unchecked := 0, make(map[string]int)
	for _, rule := range storetest.Rules() {
		err := rule.Check(context.Background(), store)
		switch {
		case errors.Is(err, storetest.ErrNotApplicable):
			unchecked[rule.Needs.String()]++
		case err != nil:
			broken++
			fmt.Println("broken:", rule.Name, err)
		}
	}
	fmt.Println(broken, "rules are broken")
	for _, need := range slices.Sorted(maps.Keys(unchecked)) {
		fmt.Println("not checked:", unchecked[need], "for want of a", need)
	}
	// Output:
	// 0 rules are broken
	// not checked: 8 for want of a storekit.BatchReader
	// not checked: 3 for want of a storekit.Forgetter
	// not checked: 2 for want of a storekit.Lister
	// not checked: 2 for want of a storekit.Sizer
	// not checked: 10 for want of a storetest.Ledger
	// not checked: 5 for want of a storetest.Planter
}
