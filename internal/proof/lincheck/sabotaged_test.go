package lincheck

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ikkai-go/idempotency/persistence"
)

// flawed is a Memory but for what a sabotage replaces. One lock is held during
// every call; only where it pauses, before each call and where a sabotage says so,
// all others may go as far as they can.
type flawed struct {
	mu    sync.Mutex
	right *persistence.Memory

	acquire    func(ctx context.Context, c persistence.Claim) (persistence.Record, error)
	complete   func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error
	release    func(ctx context.Context, l persistence.Lease) error
	checkpoint func(ctx context.Context, l persistence.Lease, step string, output []byte) error
	read       func(ctx context.Context, key string) (persistence.Record, bool, error)
}

func newFlawed(sabotage func(f *flawed)) *flawed {
	right := persistence.NewMemory()
	f := &flawed{
		right: right, acquire: right.Acquire, complete: right.Complete,
		release: right.Release, checkpoint: right.Checkpoint, read: right.Read,
	}
	sabotage(f)
	return f
}

func (f *flawed) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause()
	return f.acquire(ctx, c)
}

func (f *flawed) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause()
	return f.complete(ctx, l, o)
}

func (f *flawed) Release(ctx context.Context, l persistence.Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause()
	return f.release(ctx, l)
}

func (f *flawed) Checkpoint(ctx context.Context, l persistence.Lease, step string, output []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause()
	return f.checkpoint(ctx, l, step, output)
}

func (f *flawed) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pause()
	return f.read(ctx, key)
}

// pause takes no time: in a bubble of synctest the clock moves on when nobody can
// go any further.
func (f *flawed) pause() {
	f.mu.Unlock()
	time.Sleep(1 + rand.N(3*time.Nanosecond))
	f.mu.Lock()
}

// find returns the record of a key, or none.
func (f *flawed) find(key string) persistence.Record {
	r, _, _ := f.right.Read(context.Background(), key)
	return r
}

// misjudge lets claims see another record than there is when they judge.
func (f *flawed) misjudge(see func(c *persistence.Claim, found *persistence.Record)) {
	f.acquireInSteps(see, func(persistence.Judgement) {}, persistence.Claim.TakeOver)
}

// acquireInSteps is what Memory does, with the places where it can be sabotaged.
func (f *flawed) acquireInSteps(
	see func(c *persistence.Claim, found *persistence.Record),
	between func(v persistence.Judgement),
	takeOver func(c persistence.Claim, stale persistence.Record) persistence.Record,
) {
	f.acquire = func(_ context.Context, c persistence.Claim) (persistence.Record, error) {
		found := f.find(c.Key)
		verdict := persistence.Vacant
		if found.Key != "" {
			claim, belief := c, found
			see(&claim, &belief)
			verdict = claim.Judge(belief)
		}
		between(verdict)
		switch verdict {
		case persistence.Vacant:
			found = c.Fresh()
		case persistence.Stale:
			found = takeOver(c, found)
		default:
			return found, nil
		}
		f.right.Put(found)
		return found, nil
	}
}

func clearly(*persistence.Claim, *persistence.Record) {}

// asOwner shows the lease of whoever owns the record.
func (f *flawed) asOwner(l persistence.Lease) persistence.Lease {
	if r := f.find(l.Key); r.Owner != "" {
		l.Owner = r.Owner
	}
	return l
}

// sabotages are one for each kind of call, and those that only a race or a clock shows. What a
// record must not become is told by the stories of TestWhatTheContractDoesNotExplain.
var sabotages = []struct {
	name string
	do   func(f *flawed)
}{
	{"complete asks for no owner", func(f *flawed) {
		f.complete = func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
			return f.right.Complete(ctx, f.asOwner(l), o)
		}
	}},
	{"a new record has two winners: read, then write", func(f *flawed) {
		f.acquireInSteps(clearly, func(v persistence.Judgement) {
			if v == persistence.Vacant {
				f.pause()
			}
		}, persistence.Claim.TakeOver)
	}},
	{"a take-over has two winners: no compare-and-swap", func(f *flawed) {
		f.acquireInSteps(clearly, func(v persistence.Judgement) {
			if v == persistence.Stale {
				f.pause()
			}
		}, persistence.Claim.TakeOver)
	}},
	{"a completion is overwritten: checkpoint reads, then writes", func(f *flawed) {
		f.checkpoint = func(ctx context.Context, l persistence.Lease, step string, output []byte) error {
			r := f.find(l.Key)
			f.pause()
			if r.Owner == l.Owner && r.Status == persistence.StatusProcessing {
				f.right.Put(r)
			}
			return f.right.Checkpoint(ctx, l, step, output)
		}
	}},
	{"a release removes its successor: read, then delete", func(f *flawed) {
		f.release = func(ctx context.Context, l persistence.Lease) error {
			r := f.find(l.Key)
			f.pause()
			if r.Owner == l.Owner && r.Status == persistence.StatusProcessing && len(r.Steps) == 0 {
				f.right.Delete(l.Key)
				return nil
			}
			return f.right.Release(ctx, l)
		}
	}},
	{"acquire shows what was there when it was called", func(f *flawed) {
		f.acquire = func(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
			before := f.find(c.Key)
			f.pause()
			now, err := f.right.Acquire(ctx, c)
			f.pause()
			if now.Owner != c.Owner && before.Owner != c.Owner && before.Key != "" {
				return before, err
			}
			return now, err
		}
	}},
	{"acquire remembers who was running", func(f *flawed) {
		running := make(map[string]persistence.Record)
		f.acquire = func(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
			if r := running[c.Key]; r.LeaseLive(c.Now) && r.Owner != c.Owner {
				return r, nil
			}
			r, err := f.right.Acquire(ctx, c)
			running[c.Key] = r
			return r, err
		}
	}},
	{"a repeated claim starts anew", func(f *flawed) {
		f.acquire = func(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
			if f.find(c.Key).Owner == c.Owner {
				f.right.Delete(c.Key)
			}
			return f.right.Acquire(ctx, c)
		}
	}},
	{"a lease ends a millisecond early", func(f *flawed) {
		f.misjudge(func(_ *persistence.Claim, found *persistence.Record) {
			if !found.LeaseUntil.IsZero() {
				found.LeaseUntil = found.LeaseUntil.Add(-time.Millisecond)
			}
		})
	}},
	{"a record expires a second early", func(f *flawed) {
		f.misjudge(func(_ *persistence.Claim, found *persistence.Record) {
			found.ExpiresAt = found.ExpiresAt.Add(-time.Second)
		})
	}},
	{"an expired record is replayed", func(f *flawed) {
		f.misjudge(func(_ *persistence.Claim, found *persistence.Record) {
			if found.Status.Finished() {
				found.ExpiresAt = time.Time{}
			}
		})
	}},
	{"a completion is confirmed and forgotten", func(f *flawed) {
		f.complete = func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
			if o.ResultOmitted && f.find(l.Key).Owner == l.Owner {
				return nil
			}
			return f.right.Complete(ctx, l, o)
		}
	}},
	{"a write that ended without an answer is carried out later", func(f *flawed) {
		f.complete = func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
			go func() {
				time.Sleep(10 * time.Nanosecond)
				f.right.Complete(context.WithoutCancel(ctx), l, o)
			}()
			return &persistence.Fault{Op: "complete", Retryable: true, Err: errors.New("connection reset")}
		}
	}},
}

// firstContradiction plays histories until one has no explanation.
func firstContradiction(t *testing.T, histories int, sabotage func(f *flawed)) (judgement, bool) {
	t.Helper()
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for range histories {
		var r *round
		synctest.Test(t, func(t *testing.T) {
			if r, err = play(t.Context(), newFlawed(sabotage), o, o.Clients, rand.Uint64()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // until a sabotage has done what it has put off
		})
		if v := o.promise().judge(r.operations); v.result != porcupine.Ok {
			return v, true
		}
	}
	return judgement{}, false
}

func TestASabotagedStoreIsCaught(t *testing.T) {
	for _, sabotage := range sabotages {
		t.Run(sabotage.name, func(t *testing.T) {
			// Most are caught in the first history, the rarest in one of about ten.
			v, caught := firstContradiction(t, 100, sabotage.do)
			if !caught || v.result != porcupine.Illegal {
				t.Fatalf("caught: %v; %v", caught, v)
			}
			t.Log(v)
		})
	}
}

func TestAStoreWithoutSabotageIsNotCaught(t *testing.T) {
	for name, harmless := range map[string]func(f *flawed){
		"as it is":          func(*flawed) {},
		"in steps":          func(f *flawed) { f.misjudge(clearly) },
		"with answers lost": losesAnswers,
	} {
		t.Run(name, func(t *testing.T) {
			if v, caught := firstContradiction(t, 10, harmless); caught {
				t.Error(v)
			}
		})
	}
}

// losesAnswers answers three of four calls, and carries out half of the others.
func losesAnswers(f *flawed) {
	lose := func(carryOut func()) error {
		lost := rand.N(8)
		if lost > 1 {
			return nil
		}
		if lost == 1 {
			carryOut()
		}
		return &persistence.Fault{Op: "any", Retryable: true, Err: errors.New("connection reset")}
	}
	f.acquire = func(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
		if err := lose(func() { f.right.Acquire(ctx, c) }); err != nil {
			return persistence.Record{}, err
		}
		return f.right.Acquire(ctx, c)
	}
	f.complete = func(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
		if err := lose(func() { f.right.Complete(ctx, l, o) }); err != nil {
			return err
		}
		return f.right.Complete(ctx, l, o)
	}
	f.release = func(ctx context.Context, l persistence.Lease) error {
		if err := lose(func() { f.right.Release(ctx, l) }); err != nil {
			return err
		}
		return f.right.Release(ctx, l)
	}
}
