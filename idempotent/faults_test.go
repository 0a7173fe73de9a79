package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// outage is a way in which DynamoDB is not there.
type outage struct {
	effect    dynamotest.Effect
	retryable bool
}

func (o outage) strike(db *dynamotest.DB) {
	db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: o.effect})
}

var outages = map[string]outage{
	"network":          {dynamotest.LoseRequest(), true},
	"access denied":    {dynamotest.Fail("AccessDeniedException", "not authorized to perform dynamodb:PutItem", http.StatusBadRequest), false},
	"no such table":    {dynamotest.Fail("ResourceNotFoundException", "Requested resource not found", http.StatusBadRequest), false},
	"throttling":       {dynamotest.Throttle(), true},
	"conflict":         {dynamotest.TransactionConflict(), true},
	"internal failure": {dynamotest.FailBefore(), true},
	"lost replies":     {dynamotest.LoseReply(), true},
}

// omitItems makes a database answer failed conditions as DAX and older endpoints do.
func omitItems(db *dynamotest.DB) {
	db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.OmitItem()})
}

// Whatever happens to any one request, the function runs once, its caller gets
// the result, and the next caller gets a replay: nobody is locked out by a write
// of their own.
func TestAnyOneRequestMayGoWrong(t *testing.T) {
	effects := map[string]func() dynamotest.Effect{
		"reply lost":          dynamotest.LoseReply,
		"request lost":        dynamotest.LoseRequest,
		"500 after applying":  dynamotest.FailAfter,
		"500 before applying": dynamotest.FailBefore,
		"throttled":           dynamotest.Throttle,
		"conflict":            dynamotest.TransactionConflict,
		"delayed before":      func() dynamotest.Effect { return dynamotest.DelayBefore(time.Hour) },
		"delayed after":       func() dynamotest.Effect { return dynamotest.DelayAfter(time.Hour) },
	}
	for name, effect := range effects {
		for _, itemless := range []bool{false, true} {
			for index := 1; index <= 4; index++ {
				t.Run(fmt.Sprintf("%s/itemless=%v/request %d", name, itemless, index), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						db, store := lab.NewDynamo(t)
						if itemless {
							omitItems(db)
						}
						db.Inject(dynamotest.Fault{Request: index, Do: effect()})
						guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
						runs := 0
						call := func() (string, error) {
							return idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) {
								runs++
								return fmt.Sprint("run ", runs), nil
							})
						}
						for caller := range 3 {
							if got, err := call(); err != nil || got != "run 1" {
								t.Errorf("caller %d got %q, %v", caller, got, err)
							}
						}
						if runs != 1 {
							t.Errorf("ran %d times", runs)
						}
					})
				})
			}
		}
	}
}

var errTryAgain = errors.New("try again")

// A caller whose acquire failed for good gives its claim up, so that its own
// retry is not locked out by a write whose reply was lost.
func TestALostAcquireIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		db.Inject(dynamotest.Fault{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.LoseReply()})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		run := func(context.Context) (string, error) { return "ran", nil }
		_, err := idempotent.Do(within(t, time.Minute), guard, "k", run)
		var failed *idempotent.StoreError
		if !errors.As(err, &failed) || failed.Executed || !failed.Retryable {
			t.Fatalf("got %v, want a StoreError of a function that did not run", err)
		}
		db.ClearFaults()
		if got, err := idempotent.Do(within(t, time.Minute), guard, "k", run); err != nil || got != "ran" {
			t.Errorf("its retry got %q, %v", got, err)
		}
	})
}

// The same where the reply is so late that the caller's own time is up.
func TestAnAcquireThatOutlivesItsCallerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		db.Inject(dynamotest.Fault{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.DelayAfter(time.Hour)})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Lease: time.Hour, MinLease: time.Hour})
		run := func(context.Context) (string, error) { return "ran", nil }
		if _, err := idempotent.Do(within(t, 3*time.Second), guard, "k", run); !errors.Is(err, idempotent.ErrStore) {
			t.Fatalf("got %v, want ErrStore", err)
		}
		db.ClearFaults()
		if got, err := idempotent.Do(within(t, 3*time.Second), guard, "k", run); err != nil || got != "ran" {
			t.Errorf("its retry got %q, %v", got, err)
		}
	})
}

// A result that could not be recorded is still the caller's, with an error that
// says that the function has run. The record bounds what can happen next: locked
// for the lease, then run again.
func TestAResultThatCannotBeRecordedReachesItsCaller(t *testing.T) {
	for _, policy := range []bool{false, true} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				db.Inject(dynamotest.Fault{Operation: "UpdateItem", Times: dynamotest.Always, Do: dynamotest.LoseRequest()})
				var seen lab.EventLog
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{FailOpen: policy, Observe: seen.Observe})
				runs := 0
				call := func() (string, error) {
					return idempotent.Do(within(t, 10*time.Second), guard, "k", func(context.Context) (string, error) {
						runs++
						return fmt.Sprint("run ", runs), nil
					})
				}
				got, err := call()
				if got != "run 1" {
					t.Errorf("got %q", got)
				}
				var failed *idempotent.StoreError
				executed := errors.As(err, &failed) && failed.Executed && string(failed.Result) == `"run 1"`
				if closed := !policy; executed != closed || !closed && err != nil {
					t.Errorf("got %v", err)
				}
				if kinds := seen.Kinds(); len(kinds) != 1 || kinds[0] != idempotent.EventNotStored {
					t.Errorf("events %v, want not stored", kinds)
				}
				db.ClearFaults()
				if _, err := call(); !errors.Is(err, idempotent.ErrInProgress) || runs != 1 {
					t.Errorf("within the lease: %v after %d runs", err, runs)
				}
				time.Sleep(12 * time.Second) // virtual
				if got, err := call(); err != nil || got != "run 2" {
					t.Errorf("after the lease: %q, %v", got, err)
				}
			})
		})
	}
}

// The handler's own error is what its caller gets, whatever becomes of the record.
func TestAFailedReleaseNeverHidesTheFunctionsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		db.Inject(dynamotest.Fault{Operation: "DeleteItem", Times: dynamotest.Always, Do: dynamotest.FailBefore()})
		var seen lab.EventLog
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Observe: seen.Observe})
		_, err := idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) { return "", errTryAgain })
		if err != errTryAgain {
			t.Errorf("got %v, want the function's own error", err)
		}
		if kinds := seen.Kinds(); len(kinds) != 1 || kinds[0] != idempotent.EventStoreFailed {
			t.Errorf("events %v, want store failed", kinds)
		}
	})
}

// A late duplicate of an acquiring write, whose caller has given up, can leave a
// record that nobody owns. Its lease bounds it.
func TestALateDuplicateOfAnAcquireIsBoundedByItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		var held dynamotest.Held
		db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.ApplyLater(&held)})
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		runs := 0
		call := func() error {
			_, err := idempotent.Do(within(t, 10*time.Second), guard, "k", func(context.Context) (string, error) {
				runs++
				return "", errTryAgain
			})
			return err
		}
		if err := call(); err != errTryAgain { // the SDK's second try wins; the record is released
			t.Fatal(err)
		}
		if late := held.Release(); len(late) != 1 || !late[0].Applied {
			t.Fatalf("the duplicate: %+v", late)
		}
		if err := call(); !errors.Is(err, idempotent.ErrInProgress) {
			t.Errorf("with the orphan there: %v", err)
		}
		time.Sleep(12 * time.Second) // virtual
		if err := call(); err != errTryAgain || runs != 2 {
			t.Errorf("after its lease: %v, %d runs", err, runs)
		}
	})
}

// Late duplicates of all other writes change nothing, whenever they arrive.
func TestLateDuplicatesOfLaterWritesChangeNothing(t *testing.T) {
	for _, operation := range []string{"UpdateItem", "DeleteItem"} {
		t.Run(operation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := lab.NewDynamo(t)
				var held dynamotest.Held
				db.Inject(dynamotest.Fault{Operation: operation, Do: dynamotest.ApplyLater(&held)})
				guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
				runs := 0
				call := func() (string, error) {
					return idempotent.Do(within(t, 10*time.Second), guard, "k", func(context.Context) (string, error) {
						if runs++; operation == "DeleteItem" && runs == 1 {
							return "", errTryAgain
						}
						return fmt.Sprint("run ", runs), nil
					})
				}
				_, _ = call()
				want, err := call()
				if err != nil {
					t.Fatal(err)
				}
				held.Release()
				if got, err := call(); err != nil || got != want {
					t.Errorf("after the duplicate: %q, %v, want %q", got, err, want)
				}
			})
		})
	}
}

// Where the environment was frozen between the store's reply and the function,
// until the lease was over, the function must not start.
func TestAFrozenEnvironmentDoesNotStartAfterItsLease(t *testing.T) {
	for name, deadline := range map[string]bool{"the timer has fired": true, "the timer has not fired": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := persistence.NewMemory()
				var seen lab.EventLog
				guard := lab.NewKeylessGuard(t, freezing(memory), idempotent.Config{Lease: time.Minute, Observe: seen.Observe})
				ctx := context.Background()
				if deadline {
					ctx = within(t, time.Minute)
				}
				_, err := idempotent.Do(ctx, guard, "k", func(context.Context) (string, error) {
					t.Error("ran")
					return "", nil
				})
				if !errors.Is(err, idempotent.ErrNotStarted) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want ErrNotStarted", err)
				}
				if kinds := seen.Kinds(); len(kinds) != 1 || kinds[0] != idempotent.EventReleased {
					t.Errorf("events %v, want released", kinds)
				}
				if records := memory.Records(); len(records) > 0 {
					t.Errorf("left %+v", records)
				}
			})
		})
	}
}

// freezing is a store whose replies reach an environment only after it was frozen
// for an hour.
func freezing(behind persistence.Store) persistence.Store {
	return lab.Around(behind, func(op, _ string, do func() error) error {
		if op == "acquire" {
			defer time.Sleep(time.Hour) // virtual
		}
		return do()
	})
}

// A record that can't be understood stops everything, even where the guard is
// configured to fail open: what it stands for is not known.
func TestAnUnreadableRecordIsNeverRunOver(t *testing.T) {
	store := lab.Before(persistence.NewMemory(), "acquire", func() error {
		return &persistence.Fault{Op: "acquire", Err: persistence.ErrUnreadable}
	})
	guard := lab.NewKeylessGuard(t, store, idempotent.Config{FailOpen: true})
	_, err := idempotent.Do(t.Context(), guard, "k", func(context.Context) (string, error) {
		t.Error("ran")
		return "", nil
	})
	if !errors.Is(err, persistence.ErrUnreadable) || !errors.Is(err, idempotent.ErrStore) {
		t.Errorf("got %v", err)
	}
}
