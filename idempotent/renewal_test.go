package idempotent_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A run that lasts for many leases keeps its record, and pays one write for each half of
// a lease; one that is over within half a lease pays nothing.
func TestALongRunKeepsItsRecord(t *testing.T) {
	for name, test := range map[string]struct {
		deadline time.Duration // 0 is none
		lasts    time.Duration
		renewals int
	}{
		"short":                  {lasts: 29 * time.Second},
		"short, with a deadline": {deadline: 15 * time.Minute, lasts: 29 * time.Second},
		"long":                   {lasts: 10*time.Minute - time.Second, renewals: 19},
		"long, with a deadline":  {deadline: 15 * time.Minute, lasts: 10*time.Minute - time.Second, renewals: 19},
		"to its deadline":        {deadline: 3 * time.Minute, lasts: 178 * time.Second, renewals: 4},
		"with a near deadline":   {deadline: time.Minute, lasts: 58 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				other := lab.NewKeylessGuard(t, lab.NewStoreOn(t, db), idempotent.Config{})
				ctx := t.Context()
				if test.deadline > 0 {
					ctx = within(t, test.deadline)
				}
				got, err := idempotent.Do(ctx, guard, "k", func(ctx context.Context) (string, error) {
					for left := test.lasts; left > 0; left -= time.Second {
						if time.Sleep(min(left, time.Second)); ctx.Err() != nil {
							t.Fatal(context.Cause(ctx))
						}
						_, err := idempotent.Do(t.Context(), other, "k", func(context.Context) (string, error) { return "second", nil })
						if !errors.Is(err, idempotent.ErrInProgress) {
							t.Fatalf("a duplicate got %v", err)
						}
					}
					return "first", nil
				})
				if err != nil || got != "first" {
					t.Errorf("got %q, %v", got, err)
				}
				updates := 0
				for _, r := range db.Requests() {
					if r.Operation == "UpdateItem" {
						updates++
					}
				}
				if want := test.renewals + 1; updates != want {
					t.Errorf("%d updates, want %d", updates, want)
				}
			})
		})
	}
}

// Whoever dies locks its key for no longer than its lease, however far its deadline is.
func TestADeadRunLocksItsKeyForALease(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		died := lab.NewKeylessGuard(t, lab.Dying(store, errBroken), idempotent.Config{})
		ctx := within(t, 15*time.Minute)
		if _, err := idempotent.Do(ctx, died, "k", func(context.Context) (string, error) { return "", nil }); err == nil {
			t.Fatal("it has not died")
		}
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		run := func(context.Context) (string, error) { return "second", nil }
		if time.Sleep(time.Minute); true {
			if _, err := idempotent.Do(ctx, guard, "k", run); !errors.Is(err, idempotent.ErrInProgress) {
				t.Errorf("within the lease: %v", err)
			}
		}
		time.Sleep(time.Millisecond)
		if got, err := idempotent.Do(ctx, guard, "k", run); err != nil || got != "second" {
			t.Errorf("after the lease: %q, %v", got, err)
		}
	})
}

// Where the table can't be reached, the function's context ends with the lease that was
// confirmed last, by the fastest clock; a write that gets through in time saves it.
func TestTheContextEndsWithTheConfirmedLease(t *testing.T) {
	for name, test := range map[string]struct {
		outage, want time.Duration // from the first renewal on; when the context ends
	}{
		"for good":     {outage: time.Hour, want: 59 * time.Second},
		"a little":     {outage: 20 * time.Second, want: 5 * time.Minute},
		"just in time": {outage: 28 * time.Second, want: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				var seen lab.EventLog
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{Observe: seen.Observe})
				started := time.Now()
				_, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(ctx context.Context) (string, error) {
					db.Inject(dynamotest.Fault{Operation: "UpdateItem", Times: dynamotest.Always, Do: dynamotest.FailBefore()})
					time.AfterFunc(30*time.Second+test.outage, db.ClearFaults)
					select {
					case <-ctx.Done():
						return "", context.Cause(ctx)
					case <-time.After(5 * time.Minute):
						return "done", nil
					}
				})
				if lasted := time.Since(started).Truncate(time.Second); lasted != test.want {
					t.Errorf("ran for %v, want %v (%v)", lasted, test.want, err)
				}
				if failed := slices.Contains(seen.Kinds(), idempotent.EventStoreFailed); failed != (err != nil) {
					t.Errorf("reported: %v, got %v", failed, err)
				}
			})
		})
	}
}

// A run whose record is somebody else's hears of it at its next renewal, and nothing of
// it is recorded.
func TestARefusedRenewalEndsTheRun(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.Named[int]("a"))})
		started := time.Now()
		_, err := idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
			call, _ := idempotent.CallFrom(ctx)
			usurp(t, store, call.Key)
			<-ctx.Done()
			if cause := context.Cause(ctx); !errors.Is(cause, idempotent.ErrLeaseLost) {
				t.Errorf("ended by %v", cause)
			}
			_, err := lab.Named[int]("a").Run(ctx, func(context.Context, saga.Call) (int, error) {
				t.Error("a superseded owner ran a step")
				return 0, nil
			})
			return "", err
		})
		if !errors.Is(err, idempotent.ErrLeaseLost) || time.Since(started) != 30*time.Second {
			t.Errorf("got %v after %v", err, time.Since(started))
		}
	})
}

// usurp gives a record to somebody else, as somebody does who edits the table.
func usurp(t *testing.T, store persistence.Store, key string) {
	t.Helper()
	claim := persistence.Claim{
		Key: key, Owner: "usurper", Now: time.Now().Add(2 * time.Hour),
		LeaseUntil: time.Now().Add(3 * time.Hour), ExpiresAt: time.Now().Add(30 * time.Hour),
	}
	if r, err := store.Acquire(t.Context(), claim); err != nil || r.Owner != claim.Owner {
		t.Fatalf("%+v, %v", r, err)
	}
}

// A checkpoint renews the lease, so that a run with steps needs no other renewal.
func TestACheckpointRenewsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Steps: saga.Steps(lab.FamilyNamed[int]("part/"))})
		_, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(ctx context.Context) (string, error) {
			for _, name := range []string{"part/1", "part/2", "part/3", "part/4", "part/5", "part/6"} {
				_, err := lab.Named[int](name).Run(ctx, func(context.Context, saga.Call) (int, error) {
					time.Sleep(25 * time.Second)
					return 1, nil
				})
				if err != nil {
					return "", err
				}
			}
			return "done", nil
		})
		if err != nil {
			t.Error(err)
		}
		if n := len(db.Requests()); n != 1+6+1 {
			t.Errorf("%d requests, want an acquire, six checkpoints and a completion", n)
		}
	})
}

func TestLeasesOfWholeRunsAreNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{LeaseWholeRuns: true})
		_, err := idempotent.Do(within(t, 15*time.Minute), guard, "k", func(context.Context) (string, error) {
			time.Sleep(10 * time.Minute)
			return "", nil
		})
		if n := len(db.Requests()); err != nil || n != 2 {
			t.Errorf("%d requests, %v", n, err)
		}
	})
}
