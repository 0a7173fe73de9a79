package cached_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

func TestCachedKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store {
		return cached.New(persistence.NewMemory(), cached.Limits{})
	})
}

func TestCachedKeepsTheContractOverAStoreWithoutOtherAbilities(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store {
		return cached.New(plain{persistence.NewMemory()}, cached.Limits{})
	})
}

func TestCachedKeepsTheContractWhereItCanHoldHardlyAnything(t *testing.T) {
	storetest.Run(t, func(*testing.T) persistence.Store {
		return cached.New(persistence.NewMemory(), cached.Limits{Records: 1, Bytes: 150})
	})
}

// plain hides every ability of a store but those of Store.
type plain struct{ persistence.Store }

// table is the store that all environments share, seen over the network of one
// of them: it counts the requests, and may be out of reach.
type table struct {
	*persistence.Memory
	requests int
	down     error
	before   func() // completing
}

func (s *table) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	s.requests++
	if s.down != nil {
		return persistence.Record{}, s.down
	}
	return s.Memory.Acquire(ctx, c)
}

func (s *table) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	s.requests++
	if s.before != nil {
		s.before()
	}
	if s.down != nil {
		return s.down
	}
	return s.Memory.Complete(ctx, l, o)
}

func (s *table) Read(ctx context.Context, key string) (persistence.Record, bool, error) {
	s.requests++
	if s.down != nil {
		return persistence.Record{}, false, s.down
	}
	return s.Memory.Read(ctx, key)
}

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func claim(key, owner string, now time.Time) persistence.Claim {
	return persistence.Claim{
		Key:         key,
		Owner:       owner,
		Fingerprint: "amount=10",
		Now:         now,
		LeaseUntil:  now.Add(time.Minute),
		ExpiresAt:   now.Add(time.Hour),
	}
}

func paid(result string) persistence.Outcome {
	return persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(result), ExpiresAt: noon.Add(time.Hour)}
}

// acquire returns what a claim gets, and fails the test where it gets an error.
func acquire(t *testing.T, s persistence.Store, c persistence.Claim) persistence.Record {
	t.Helper()
	r, err := s.Acquire(t.Context(), c)
	if err != nil {
		t.Fatalf("acquire %s by %s: %v", c.Key, c.Owner, err)
	}
	return r
}

// finish runs an operation from its beginning to its end.
func finish(t *testing.T, s persistence.Store, key string, o persistence.Outcome) persistence.Record {
	t.Helper()
	r := acquire(t, s, claim(key, "owner of "+key, noon))
	if err := s.Complete(t.Context(), r.Lease(), o); err != nil {
		t.Fatalf("complete %s: %v", key, err)
	}
	return o.Of(r.Lease())
}

// replays demands that a claim is answered with a result, by so many requests.
func replays(t *testing.T, c *cached.Store, s *table, key, result string, requests int) {
	t.Helper()
	before := s.requests
	r := acquire(t, c, claim(key, "another", noon))
	if r.Status != persistence.StatusCompleted || string(r.Result) != result {
		t.Errorf("%s: want %q replayed, got %q of a record that is %s", key, result, r.Result, r.Status)
	}
	if got := s.requests - before; got != requests {
		t.Errorf("%s: want %d requests, got %d", key, requests, got)
	}
}

// Field report 17: an environment that has once seen "in progress" must not
// repeat it, an outcome must outlive the reach of the store, and whoever changes
// what it was given must not change what others get.
func TestReport17OnlyFinalStatesAreCachedAndNothingIsShared(t *testing.T) {
	shared := persistence.NewMemory()
	table1, table2 := &table{Memory: shared}, &table{Memory: shared}
	env1 := cached.New(table1, cached.Limits{})
	env2 := cached.New(table2, cached.Limits{})

	running := acquire(t, env1, claim("payment", "env1", noon))
	if seen := acquire(t, env2, claim("payment", "env2", noon)); seen.Owner != "env1" || seen.Status != persistence.StatusProcessing {
		t.Fatalf("env2 while env1 runs: want its PROCESSING record, got %+v", seen)
	}
	result := []byte("charged once")
	o := paid("")
	o.Result = result
	if err := env1.Complete(t.Context(), running.Lease(), o); err != nil {
		t.Fatal(err)
	}
	copy(result, "overwritten!")

	replays(t, env2, table2, "payment", "charged once", 1)

	table1.down = &persistence.Fault{Op: "acquire", Retryable: true, Err: errors.New("connection refused")}
	replays(t, env1, table1, "payment", "charged once", 0)

	spoil(acquire(t, env1, claim("payment", "env1, later", noon)))
	read, _, err := env1.Read(t.Context(), "payment")
	if err != nil {
		t.Fatal(err)
	}
	spoil(read)
	replays(t, env1, table1, "payment", "charged once", 0)
}

func TestCachedServesWhatItReadAndWhatItMet(t *testing.T) {
	for name, meet := range map[string]func(t *testing.T, c *cached.Store){
		"acquire": func(t *testing.T, c *cached.Store) { acquire(t, c, claim("payment", "another", noon)) },
		"read": func(t *testing.T, c *cached.Store) {
			if _, found, err := c.Read(t.Context(), "payment"); !found || err != nil {
				t.Fatalf("read: found %v, error %v", found, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &table{Memory: persistence.NewMemory()}
			finish(t, s.Memory, "payment", paid("ok"))
			c := cached.New(s, cached.Limits{})
			meet(t, c)
			replays(t, c, s, "payment", "ok", 0)
		})
	}
}

func TestCachedAsksTheStoreAboutWhatIsNotFinished(t *testing.T) {
	for _, status := range []persistence.Status{persistence.StatusProcessing, persistence.StatusPartial} {
		t.Run(string(status), func(t *testing.T) {
			s := &table{Memory: persistence.NewMemory()}
			r := claim("payment", "first", noon).Fresh()
			r.Status = status
			s.Put(r)
			c := cached.New(s, cached.Limits{})
			for want := range 3 {
				if _, _, err := c.Read(t.Context(), "payment"); err != nil {
					t.Fatal(err)
				}
				stranger := claim("payment", fmt.Sprint("stranger", want), noon)
				stranger.Fingerprint = "amount=11"
				if got := acquire(t, c, stranger); got.Status != status {
					t.Errorf("want the record that is %s, got %s", status, got.Status)
				}
				if got := s.requests; got != 2*(want+1) {
					t.Errorf("want %d requests, got %d", 2*(want+1), got)
				}
			}
		})
	}
}

func TestCachedRemembersNoOutcomeThatTheStoreRefused(t *testing.T) {
	for name, refuse := range map[string]func(s *table){
		"the store is unreachable": func(s *table) {
			s.down = &persistence.Fault{Op: "complete", Retryable: true, Err: errors.New("timeout")}
		},
		"the result is too large": func(s *table) { s.down = persistence.ErrTooLarge },
		"the record is gone":      func(s *table) { s.Delete("payment") },
		"the record is another's": func(s *table) {
			r := claim("payment", "somebody", noon).Fresh()
			s.Put(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &table{Memory: persistence.NewMemory()}
			c := cached.New(s, cached.Limits{})
			r := acquire(t, c, claim("payment", "first", noon))
			refuse(s)
			if err := c.Complete(t.Context(), r.Lease(), paid("ok")); err == nil {
				t.Fatal("complete: want an error, got none")
			}
			s.down = nil
			if got := acquire(t, c, claim("payment", "second", noon)); got.Status != persistence.StatusProcessing {
				t.Errorf("want a PROCESSING record, got %s", got.Status)
			}
		})
	}
}

// Found by internal/proof/lincheck. Of two outcomes of one owner the store keeps the
// first, and the cache may have forgotten which that was.
func TestCachedRemembersNoSecondOutcomeOfAnOwner(t *testing.T) {
	forget := func(t *testing.T, c *cached.Store, _ *table, l persistence.Lease) {
		if err := c.Complete(t.Context(), l, paid("first")); err != nil {
			t.Fatal(err)
		}
		other := acquire(t, c, claim("refund", "somebody", noon))
		if err := c.Complete(t.Context(), other.Lease(), paid("other")); err != nil {
			t.Fatal(err)
		}
	}
	miss := func(t *testing.T, c *cached.Store, s *table, l persistence.Lease) {
		if err := s.Memory.Complete(t.Context(), l, paid("first")); err != nil {
			t.Fatal(err)
		}
		s.down = &persistence.Fault{Op: "complete", Retryable: true, Err: errors.New("the reply is lost")}
		if err := c.Complete(t.Context(), l, paid("first")); err == nil {
			t.Fatal("complete: want an error, got none")
		}
		s.down = nil
	}
	for name, first := range map[string]func(*testing.T, *cached.Store, *table, persistence.Lease){
		"the first was dropped":           forget,
		"the reply to the first was lost": miss,
	} {
		t.Run(name, func(t *testing.T) {
			s := &table{Memory: persistence.NewMemory()}
			c := cached.New(s, cached.Limits{Records: 1})
			l := acquire(t, c, claim("payment", "owner", noon)).Lease()
			first(t, c, s, l)
			toldOf(t, c.Complete(t.Context(), l, paid("second")), "first")
			if got := acquire(t, c, claim("payment", "duplicate", noon)); string(got.Result) != "first" {
				t.Errorf("replayed %q, the store has \"first\"", got.Result)
			}
		})
	}
}

// toldOf demands that the owner is told of the result that is there.
func toldOf(t *testing.T, err error, result string) {
	t.Helper()
	if settled, ok := errors.AsType[*persistence.SettledError](err); !ok || string(settled.Record.Result) != result {
		t.Errorf("want to be told of %q, got %v", result, err)
	}
}

// Who is told what is there lets the cache know it too.
func TestCachedRemembersWhatAnOwnerIsTold(t *testing.T) {
	for name, call := range map[string]func(*cached.Store, persistence.Lease) error{
		"complete": func(c *cached.Store, l persistence.Lease) error {
			return c.Complete(t.Context(), l, paid("second"))
		},
		"release": func(c *cached.Store, l persistence.Lease) error { return c.Release(t.Context(), l) },
	} {
		s := &table{Memory: persistence.NewMemory()}
		c := cached.New(s, cached.Limits{})
		l := acquire(t, c, claim("payment", "owner", noon)).Lease()
		if err := s.Memory.Complete(t.Context(), l, paid("first")); err != nil {
			t.Fatal(err)
		}
		toldOf(t, call(c, l), "first")
		s.down = errors.New("the store is asked")
		if got, err := c.Acquire(t.Context(), claim("payment", "duplicate", noon)); err != nil || string(got.Result) != "first" {
			t.Errorf("%s: replayed %q, %v", name, got.Result, err)
		}
	}
}

// Two tries of one owner at once: the one that returns last need not be the one
// that was stored.
func TestCachedRemembersNoOutcomeThatAnotherTryOvertook(t *testing.T) {
	s := &table{Memory: persistence.NewMemory()}
	c := cached.New(s, cached.Limits{})
	l := acquire(t, c, claim("payment", "owner", noon)).Lease()
	s.before = func() {
		s.before = nil
		if err := c.Complete(t.Context(), l, paid("quick")); err != nil {
			t.Error(err)
		}
	}
	toldOf(t, c.Complete(t.Context(), l, paid("slow")), "quick")
	if got := acquire(t, c, claim("payment", "duplicate", noon)); string(got.Result) != "quick" {
		t.Errorf("replayed %q, the store has \"quick\"", got.Result)
	}
}

func TestCachedRemembersThatAResultWasTooLarge(t *testing.T) {
	s := &table{Memory: persistence.NewMemory()}
	c := cached.New(s, cached.Limits{})
	l := acquire(t, c, claim("payment", "owner", noon)).Lease()
	s.down = persistence.ErrTooLarge
	if err := c.Complete(t.Context(), l, paid("huge")); !errors.Is(err, persistence.ErrTooLarge) {
		t.Fatal(err)
	}
	s.down = nil
	omitted := paid("")
	omitted.ResultOmitted = true
	if err := c.Complete(t.Context(), l, omitted); err != nil {
		t.Fatal(err)
	}
	s.down = errors.New("the store is asked")
	if got := acquire(t, c, claim("payment", "duplicate", noon)); !got.ResultOmitted {
		t.Errorf("replayed %+v", got)
	}
}

func TestAnExpiredHitGoesToTheStoreAndIsForgotten(t *testing.T) {
	s := &table{Memory: persistence.NewMemory()}
	c := cached.New(s, cached.Limits{})
	old := finish(t, c, "payment", paid("old"))
	replays(t, c, s, "payment", "old", 0)

	last := acquire(t, c, claim("payment", "in the last second", old.ExpiresAt.Add(999*time.Millisecond)))
	if string(last.Result) != "old" {
		t.Errorf("in the last second: want the old result, got %+v", last)
	}
	next := acquire(t, c, claim("payment", "in the next", old.ExpiresAt.Add(time.Second)))
	if next.Owner != "in the next" || next.Status != persistence.StatusProcessing {
		t.Fatalf("in the next second: want a new record, got %+v", next)
	}
	read, found, err := c.Read(t.Context(), "payment")
	if err != nil || !found || read.Owner != next.Owner {
		t.Errorf("read while the new operation runs: want its record, got %+v, found %v, error %v", read, found, err)
	}

	o := paid("new")
	o.ExpiresAt = next.ExpiresAt
	if err := c.Complete(t.Context(), next.Lease(), o); err != nil {
		t.Fatal(err)
	}
	replays(t, c, s, "payment", "new", 0)
}

func TestAHitWithAnotherFingerprintIsForTheCallerToJudge(t *testing.T) {
	s := &table{Memory: persistence.NewMemory()}
	c := cached.New(s, cached.Limits{})
	done := finish(t, c, "payment", paid("ok"))
	other := claim("payment", "another", noon)
	other.Fingerprint = "amount=11"
	before := s.requests
	got := acquire(t, c, other)
	if diff := cmp.Diff(done, got); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	if !got.Mismatches(other.Fingerprint) {
		t.Error("the answer does not tell that the payload is another")
	}
	if s.requests != before {
		t.Errorf("want no request, got %d", s.requests-before)
	}
}

func TestTheLeastRecentlyUsedRecordIsDroppedFirst(t *testing.T) {
	s := &table{Memory: persistence.NewMemory()}
	c := cached.New(s, cached.Limits{Records: 3})
	for _, key := range []string{"a", "b", "c"} {
		finish(t, c, key, paid(key))
	}
	replays(t, c, s, "a", "a", 0)
	if _, _, err := c.Read(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	finish(t, c, "d", paid("d")) // drops c
	replays(t, c, s, "b", "b", 0)
	replays(t, c, s, "d", "d", 0)
	replays(t, c, s, "a", "a", 0)
	replays(t, c, s, "c", "c", 1) // drops b
	replays(t, c, s, "c", "c", 0)
	replays(t, c, s, "d", "d", 0)
	replays(t, c, s, "a", "a", 0)
	replays(t, c, s, "b", "b", 1)
}

func TestTheCacheHoldsNoMoreBytesThanItMay(t *testing.T) {
	body := strings.Repeat("x", 10_000)
	t.Run("the oldest go", func(t *testing.T) {
		s := &table{Memory: persistence.NewMemory()}
		c := cached.New(s, cached.Limits{Bytes: 25_000})
		for _, key := range []string{"a", "b", "c"} {
			finish(t, c, key, paid(body))
		}
		replays(t, c, s, "b", body, 0)
		replays(t, c, s, "c", body, 0)
		replays(t, c, s, "a", body, 1)
	})
	t.Run("one that alone is too large drives nobody out", func(t *testing.T) {
		s := &table{Memory: persistence.NewMemory()}
		c := cached.New(s, cached.Limits{Bytes: 15_000})
		finish(t, c, "small", paid(body))
		finish(t, c, "large", paid(body+body))
		replays(t, c, s, "small", body, 0)
		replays(t, c, s, "large", body+body, 1)
		replays(t, c, s, "large", body+body, 1)
	})
	t.Run("steps count", func(t *testing.T) {
		s := &table{Memory: persistence.NewMemory()}
		c := cached.New(s, cached.Limits{Bytes: 15_000})
		r := acquire(t, c, claim("payment", "first", noon))
		l := r.Lease()
		l.Steps = map[string][]byte{"reserve": []byte(body)}
		if err := c.Complete(t.Context(), l, paid(body)); err != nil {
			t.Fatal(err)
		}
		replays(t, c, s, "payment", body, 1)
	})
	t.Run("what was replaced counts no more", func(t *testing.T) {
		s := &table{Memory: persistence.NewMemory()}
		c := cached.New(s, cached.Limits{Bytes: 25_000})
		finish(t, c, "other", paid(body))
		for round := range 10 {
			now := noon.Add(time.Duration(round) * 2 * time.Hour)
			o := paid(body)
			o.ExpiresAt = now.Add(time.Hour)
			r := acquire(t, c, claim("payment", fmt.Sprint("owner", round), now))
			if err := c.Complete(t.Context(), r.Lease(), o); err != nil {
				t.Fatal(err)
			}
		}
		replays(t, c, s, "other", body, 0)
	})
}

// finishedAll is a store in which every operation is finished.
type finishedAll struct{ persistence.Store }

func (finishedAll) Acquire(_ context.Context, c persistence.Claim) (persistence.Record, error) {
	r := c.Fresh()
	r.Status, r.LeaseUntil, r.Owner, r.Result = persistence.StatusCompleted, time.Time{}, strings.Clone(c.Owner), []byte(`"paid"`)
	return r, nil
}

// Many small records take more memory than their bytes: the limit counts it all.
func TestTheCacheTakesNoMoreMemoryThanItMay(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const limit = 4 << 20
	before := heap()
	c := cached.New(finishedAll{}, cached.Limits{Records: 1 << 20, Bytes: limit})
	for i := range 50_000 {
		acquire := claim(fmt.Sprintf("payment#%064d", i), fmt.Sprintf("owner-%020d", i), noon)
		if _, err := c.Acquire(t.Context(), acquire); err != nil {
			t.Fatal(err)
		}
	}
	if took := heap() - before; took > limit*5/4 || took < limit/4 {
		t.Errorf("the cache takes %d bytes, and may take %d", took, limit)
	}
	runtime.KeepAlive(c)
}

func TestTheDefaultCacheHolds256Records(t *testing.T) {
	for name, limits := range map[string]cached.Limits{
		"zero":     {},
		"negative": {Records: -1, Bytes: -1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &table{Memory: persistence.NewMemory()}
			c := cached.New(s, limits)
			for i := range 257 {
				finish(t, c, fmt.Sprint(i), paid("ok"))
			}
			replays(t, c, s, "1", "ok", 0)
			replays(t, c, s, "256", "ok", 0)
			replays(t, c, s, "0", "ok", 1)
		})
	}
}

func TestCachedOverAStoreWithoutOtherAbilities(t *testing.T) {
	c := cached.New(plain{persistence.NewMemory()}, cached.Limits{})
	r := acquire(t, c, claim("payment", "first", noon))
	if err := c.Checkpoint(t.Context(), r.Lease(), "reserve", nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("checkpoint: want an error that wraps errors.ErrUnsupported, got %v", err)
	}
	if _, found, err := c.Read(t.Context(), "payment"); found || err != nil {
		t.Errorf("read of a running record: want none, found %v, error %v", found, err)
	}
	if err := c.Complete(t.Context(), r.Lease(), paid("ok")); err != nil {
		t.Fatal(err)
	}
	if got, found, err := c.Read(t.Context(), "payment"); !found || err != nil || string(got.Result) != "ok" {
		t.Errorf("read of a finished record: want it from the cache, got %+v, found %v, error %v", got, found, err)
	}
}

func TestCachedIsUsedByManyAtOnce(t *testing.T) {
	c := cached.New(persistence.NewMemory(), cached.Limits{Records: 4})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				key := fmt.Sprint("payment ", n%10)
				r, err := c.Acquire(t.Context(), claim(key, fmt.Sprintf("owner %d.%d", i, n), noon))
				if err != nil {
					t.Error(err)
					return
				}
				switch {
				case r.Status.Finished():
					if string(r.Result) != key {
						t.Errorf("%s: got the result %q", key, r.Result)
					}
					spoil(r)
				case r.Owner == fmt.Sprintf("owner %d.%d", i, n):
					if err := c.Complete(t.Context(), r.Lease(), paid(key)); err != nil {
						t.Error(err)
					}
				}
				if seen, found, err := c.Read(t.Context(), key); err != nil {
					t.Error(err)
				} else if found {
					spoil(seen)
				}
			}
		})
	}
	all.Wait()
}

// spoil overwrites everything that a record refers to.
func spoil(r persistence.Record) {
	for i := range r.Result {
		r.Result[i] = 'X'
	}
	for name, output := range r.Steps {
		for i := range output {
			output[i] = 'X'
		}
		r.Steps[name+"?"] = nil
	}
}
