package storetest_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

type (
	claim   = persistence.Claim
	record  = persistence.Record
	lease   = persistence.Lease
	outcome = persistence.Outcome
)

// flawed is a store that does everything right, by way of a Memory, but for what
// a sabotage replaces. Nil fields replace nothing. One lock is held during every
// method, so what a sabotage breaks is broken each time it is tried; only pause
// lets others in.
type flawed struct {
	mu    sync.Mutex
	right *persistence.Memory

	// misread changes what Acquire believes when it judges, not what is stored.
	misread func(c *claim, found *record)
	// miswrite changes what Acquire writes in the place of an old record.
	miswrite func(c claim, old record, made *record)
	// undecided plays between a verdict and the write that it leads to.
	undecided func(v persistence.Judgement)
	// misquote changes what Acquire, Read and ReadMany return.
	misquote func(r *record)

	// These stand in for a whole method.
	acquire    func(ctx context.Context, c claim) (record, error)
	complete   func(ctx context.Context, l lease, o outcome) error
	release    func(ctx context.Context, l lease) error
	checkpoint func(ctx context.Context, l lease, step string, output []byte) error
	renew      func(ctx context.Context, l lease) error
	read       func(ctx context.Context, key string) (record, bool, error)
	readMany   func(ctx context.Context, keys []string) ([]record, error)
	plant      func(r record)
	forget     func(ctx context.Context, seen record) error
	list       func(q storekit.Query) storekit.Page

	entries map[string]int // by name; of the application
	// transact stands in for how writes are carried out together with a change.
	transact func(writes []storekit.Write, changes bool, change func() error) error
	// overwrites lets CompleteAtOnce take what is not vacant for vacant.
	overwrites bool
	// misfind changes the claim that CompleteAtOnce judges by.
	misfind func(c *claim)
	// room stands in for Room. What does not fit is refused all the same.
	room func(l lease) int
}

// newFlawed returns a sabotaged store.
func newFlawed(sabotage func(f *flawed)) *flawed {
	right := persistence.NewMemory()
	f := &flawed{right: right, complete: right.Complete, release: right.Release, checkpoint: right.Checkpoint, renew: right.Renew, read: right.Read, readMany: right.ReadMany, plant: right.Put, forget: right.Forget}
	f.acquire, f.list, f.transact = f.judgeAndWrite, f.listRight, f.transaction
	f.entries, f.room = make(map[string]int), roomLeft
	sabotage(f)
	return f
}

// pause lets everybody else go as far as they can. In a bubble of synctest the
// clock moves only when nobody can go any further, so those who pause overtake
// each other in the order of their pauses, every time.
func (f *flawed) pause(d time.Duration) {
	f.mu.Unlock()
	time.Sleep(d)
	f.mu.Lock()
}

func (f *flawed) Acquire(ctx context.Context, c claim) (record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, err := f.acquire(ctx, c)
	return f.quote(r), err
}

// judgeAndWrite is what Memory does, with the places where it can be sabotaged.
func (f *flawed) judgeAndWrite(ctx context.Context, c claim) (record, error) {
	if err := c.Check(); err != nil {
		return record{}, err
	}
	found, exists, err := f.right.Read(ctx, c.Key)
	if err != nil {
		return record{}, &persistence.Fault{Op: "acquire", Retryable: true, Err: err}
	}
	verdict := persistence.Vacant
	if exists {
		claim, belief := c, found
		if f.misread != nil {
			f.misread(&claim, &belief)
		}
		verdict = claim.Judge(belief)
	}
	if f.undecided != nil {
		f.undecided(verdict)
	}
	var made record
	switch verdict {
	case persistence.Vacant:
		made = c.Fresh()
	case persistence.Stale:
		made = c.TakeOver(found)
	default:
		return found, nil
	}
	if f.miswrite != nil {
		f.miswrite(c, found, &made)
	}
	f.right.Put(made)
	return made.Clone(), nil
}

func (f *flawed) Complete(ctx context.Context, l lease, o outcome) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.complete(ctx, l, o)
}

func (f *flawed) Release(ctx context.Context, l lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.release(ctx, l)
}

func (f *flawed) Checkpoint(ctx context.Context, l lease, step string, output []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := l.Steps[step]; !there && len(step)+len(output)+storekit.StepOverhead > roomLeft(l) {
		return persistence.ErrTooLarge
	}
	return f.checkpoint(ctx, l, step, output)
}

func (f *flawed) Renew(ctx context.Context, l lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.renew(ctx, l)
}

func (f *flawed) Read(ctx context.Context, key string) (record, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, found, err := f.read(ctx, key)
	return f.quote(r), found, err
}

func (f *flawed) ReadMany(ctx context.Context, keys []string) ([]record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, err := f.readMany(ctx, keys)
	for i, r := range found {
		found[i] = f.quote(r)
	}
	return found, err
}

func (f *flawed) Plant(_ context.Context, r record) error {
	f.plant(r)
	return nil
}

func (f *flawed) quote(r record) record {
	if f.misquote != nil {
		f.misquote(&r)
	}
	return r
}

// find returns the stored record of a key, or none.
func (f *flawed) find(key string) record {
	r, _, _ := f.right.Read(context.Background(), key)
	return r
}

// fold makes the store take keys that fold to the same for one key.
func (f *flawed) fold(same func(key string) string) {
	f.acquire = func(ctx context.Context, c claim) (record, error) {
		key := c.Key
		c.Key = same(key)
		r, err := f.judgeAndWrite(ctx, c)
		r.Key = key
		return r, err
	}
	f.complete = func(ctx context.Context, l lease, o outcome) error {
		l.Key = same(l.Key)
		return f.right.Complete(ctx, l, o)
	}
	f.release = func(ctx context.Context, l lease) error {
		l.Key = same(l.Key)
		return f.right.Release(ctx, l)
	}
	f.checkpoint = func(ctx context.Context, l lease, step string, output []byte) error {
		l.Key = same(l.Key)
		return f.right.Checkpoint(ctx, l, step, output)
	}
	f.renew = func(ctx context.Context, l lease) error {
		l.Key = same(l.Key)
		return f.right.Renew(ctx, l)
	}
	f.read = func(ctx context.Context, key string) (record, bool, error) {
		r, found, err := f.right.Read(ctx, same(key))
		r.Key = key
		return r, found, err
	}
	f.readMany = func(ctx context.Context, keys []string) (found []record, err error) {
		for _, key := range keys {
			if r, there, _ := f.right.Read(ctx, same(key)); there && !slices.ContainsFunc(found, func(f record) bool { return f.Key == key }) {
				r.Key = key
				found = append(found, r)
			}
		}
		if _, err := f.right.ReadMany(ctx, nil); err != nil {
			return nil, err
		}
		return found, nil
	}
	f.plant = func(r record) {
		r.Key = same(r.Key)
		f.right.Put(r)
	}
}

func (f *flawed) Forget(ctx context.Context, seen record) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.forget(ctx, seen)
}

func (f *flawed) List(_ context.Context, q storekit.Query) (storekit.Page, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list(q), nil
}

func (f *flawed) listRight(q storekit.Query) (page storekit.Page) {
	for _, r := range f.right.Records() {
		if len(q.Statuses) == 0 || slices.Contains(q.Statuses, r.Status) {
			r.Result, r.Event = nil, nil
			page.Records = append(page.Records, r)
		}
	}
	return page
}
