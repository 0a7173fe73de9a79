package idempotent_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// A duplicate that waits gets the answer of the run it duplicates; one that has
// waited long enough is told so.
func TestADuplicateWaitsForTheOutcome(t *testing.T) {
	tests := map[string]struct {
		takes, patience time.Duration
		err             error
		kinds           []idempotent.EventKind
	}{
		"in time":      {2 * time.Second, 3 * time.Second, nil, []idempotent.EventKind{idempotent.EventExecuted, idempotent.EventWaited, idempotent.EventReplayed}},
		"too late":     {5 * time.Second, 3 * time.Second, idempotent.ErrInProgress, []idempotent.EventKind{idempotent.EventWaited, idempotent.EventInProgress, idempotent.EventExecuted}},
		"not at all":   {5 * time.Second, 0, idempotent.ErrInProgress, []idempotent.EventKind{idempotent.EventInProgress, idempotent.EventExecuted}},
		"at the brink": {3 * time.Second, 3 * time.Second, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen lab.EventLog
				memory := persistence.NewMemory()
				guard := lab.NewKeylessGuard(t, memory, idempotent.Config{Wait: test.patience, Observe: seen.Observe})
				go func() {
					_, _ = idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
						time.Sleep(test.takes) // virtual
						return "first", nil
					})
				}()
				synctest.Wait()
				started := time.Now()
				got, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
					return "second", nil
				})
				if waited := time.Since(started); waited > test.patience {
					t.Errorf("waited %v of %v", waited, test.patience)
				}
				time.Sleep(time.Minute) // virtual: let the first end
				if name == "at the brink" {
					return // either answer is right; only the limit matters
				}
				if !errors.Is(err, test.err) || err == nil && got != "first" {
					t.Errorf("got %q, %v", got, err)
				}
				if kinds := seen.Kinds(); !slices.Equal(kinds, test.kinds) {
					t.Errorf("events %v, want %v", kinds, test.kinds)
				}
			})
		})
	}
}

// Waiting costs reads, not writes, where the store can read.
func TestWaitingOnlyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Wait: 10 * time.Second})
		go func() {
			_, _ = idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
				time.Sleep(5 * time.Second) // virtual
				return "first", nil
			})
		}()
		synctest.Wait()
		db.ResetLog()
		if got, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
			return "second", nil
		}); err != nil || got != "first" {
			t.Errorf("got %q, %v", got, err)
		}
		writes := 0
		for _, r := range db.Requests() {
			if r.Operation == "PutItem" {
				writes++
			}
		}
		if writes != 1 {
			t.Errorf("the waiting duplicate wrote %d times, want its one failed put", writes)
		}
	})
}

// A waiting duplicate takes over from a run that dies, as soon as its lease ends.
func TestAWaitingDuplicateTakesOverFromADeadRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := persistence.NewMemory()
		guard := lab.NewKeylessGuard(t, memory, idempotent.Config{Wait: 20 * time.Second})
		die(t, guard, "k", 3*time.Second)
		started := time.Now()
		got, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
			return "second", nil
		})
		if err != nil || got != "second" {
			t.Fatalf("got %q, %v", got, err)
		}
		if waited := time.Since(started); waited < 4*time.Second || waited > 6*time.Second {
			t.Errorf("took over after %v, want soon after the lease of 3 s and the allowance of 1 s", waited)
		}
	})
}

// A waiting duplicate leaves when its own context does.
func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guard := lab.NewKeylessGuard(t, persistence.NewMemory(), idempotent.Config{Wait: time.Minute})
		die(t, guard, "k", time.Minute)
		ctx, cancel := context.WithCancel(within(t, time.Minute))
		time.AfterFunc(time.Second, cancel)
		_, err := idempotent.Do(ctx, guard, "k", func(context.Context) (string, error) { return "second", nil })
		if !errors.Is(err, idempotent.ErrInProgress) {
			t.Errorf("got %v, want ErrInProgress", err)
		}
	})
}

// die leaves the record that a killed environment leaves: acquired, and nobody
// there to settle it.
func die(t *testing.T, guard *idempotent.Guard, key string, timeout time.Duration) {
	t.Helper()
	started := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	end := make(chan struct{})
	t.Cleanup(func() { cancel(); close(end) })
	go func() {
		_, _ = idempotent.Do(ctx, guard, key, func(context.Context) (string, error) {
			close(started)
			<-end
			return "dead", nil
		})
	}()
	<-started
}

// The longer a run has been under way, the later to ask again, also where its lease was
// renewed meanwhile; but not later than when the lease is over.
func TestALongRunIsAskedForLessAndLessOften(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		var run sync.WaitGroup
		run.Go(func() {
			_, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(context.Context) (string, error) {
				time.Sleep(5 * time.Minute) // virtual
				return "", nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		started := time.Now()
		for _, test := range []struct{ at, want time.Duration }{
			{0, time.Second}, {5 * time.Second, 5 * time.Second}, {20 * time.Second, 20 * time.Second},
			{40 * time.Second, 30 * time.Second}, {4 * time.Minute, 30 * time.Second},
		} {
			time.Sleep(time.Until(started.Add(test.at))) // virtual
			_, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(context.Context) (string, error) { return "", nil })
			busy, ok := errors.AsType[*idempotent.InProgressError](err)
			if !ok || busy.RetryAfter != test.want {
				t.Errorf("after %v: %v, want to ask again in %v", test.at, err, test.want)
			}
		}
		run.Wait()
	})
}

// The record of another writer says not when its run is over: it is asked for each second, until it expires.
func TestARecordWithoutALeaseIsLockedUntilItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := persistence.NewMemory()
		guard := lab.NewKeylessGuard(t, memory, idempotent.Config{})
		key, _ := idempotency.Key("payment", "k")
		memory.Put(persistence.Record{Key: key, Status: persistence.StatusProcessing, ExpiresAt: time.Now().Add(10 * time.Minute)})
		run := func(context.Context) (string, error) { return "ran", nil }

		_, err := idempotent.Do(within(t, time.Minute), guard, "k", run)
		if busy, ok := errors.AsType[*idempotent.InProgressError](err); !ok || busy.RetryAfter != time.Second {
			t.Errorf("got %v, want to ask again in a second", err)
		}
		time.Sleep(10*time.Minute + time.Second) // virtual
		if got, err := idempotent.Do(within(t, time.Minute), guard, "k", run); err != nil || got != "ran" {
			t.Errorf("after the expiry: got %q, %v", got, err)
		}
	})
}
