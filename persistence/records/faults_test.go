package records_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// TestAnOperatorWhoDiesInBetweenHarmsNothing lets each request of a plan be the last one that is
// sent, with and without having arrived. The same plan is carried out again then, or a new one
// when the hold is over, or a client's retry comes first.
func TestAnOperatorWhoDiesInBetweenHarmsNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		act    act
		steps  map[string]string
		status persistence.Status // in the end; none is gone
	}{
		{"complete", settle(records.Complete([]byte("1"))), nil, persistence.StatusCompleted},
		{"finish a step", settle(records.FinishStep("charge", []byte("1"))), map[string]string{"charge:started": "{}"}, persistence.StatusPartial},
		{"forget", forget, nil, ""},
	} {
		requests := 0 // of the plan, without a fault
		for last := 0; last <= requests; last++ {
			for arrived, effect := range map[string]dynamotest.Effect{"lost": dynamotest.LoseRequest(), "unanswered": dynamotest.LoseReply()} {
				for _, next := range []string{"same plan", "new plan", "client"} {
					if last == 0 && (arrived == "unanswered" || next != "same plan") {
						continue
					}
					t.Run(fmt.Sprintf("%s/request %d %s/%s", c.name, last, arrived, next), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							time.Sleep(time.Until(now)) // the bubble's clock
							db, store := embedded.Store(t, dynamostore.Config{})
							died(t, store, c.steps)
							desk := newDesk(t, store, records.Config{Now: time.Now})
							plan, err := c.act(t.Context(), desk, show(t, desk))
							if err != nil {
								t.Fatal(err)
							}
							db.ResetLog()
							if last > 0 {
								db.Inject(
									dynamotest.Fault{Nth: last, Do: effect},
									dynamotest.Fault{Nth: last + 1, Times: dynamotest.Always, Do: dynamotest.LoseRequest()},
								)
							}
							_, err = plan.Do(t.Context())
							if last == 0 {
								requests = len(db.Requests())
							}
							if (err == nil) != (last == 0) {
								t.Fatalf("it has ended with %v", err)
							}
							db.ClearFaults()
							goOn(t, next, c.act, plan, desk, store)
							r, found, err := store.Read(t.Context(), key)
							if err != nil || found != (c.status != "") || r.Status != c.status {
								t.Errorf("the record is %+v (%v)", r, err)
							}
						})
					})
				}
			}
		}
	}
}

// goOn brings what an operator has begun to its end.
func goOn(t *testing.T, next string, a act, plan *records.Plan, desk *records.Desk, store *dynamostore.Store) {
	t.Helper()
	switch next {
	case "same plan":
		if _, err := plan.Do(t.Context()); err != nil {
			t.Errorf("once more it ends with %v", err)
		}
		return
	case "client":
		time.Sleep(2 * time.Minute)
		r, err := store.Acquire(t.Context(), claim(key, "client", time.Now()))
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Owner != "client" && r.Status.Finished():
			return // it gets what the operator has recorded
		case r.Owner != "client":
			t.Fatalf("the client is turned away by %+v", r)
		}
		if _, err := plan.Do(t.Context()); wordOf(err) != "changed" {
			t.Errorf("beside the client's run it ends with %v", err)
		}
		time.Sleep(10 * time.Minute) // the client's run has died, too
	default:
		time.Sleep(2 * time.Minute)
	}
	shown, err := desk.Show(t.Context(), key)
	var gone *records.NotFoundError
	switch {
	case errors.As(err, &gone):
		return
	case err != nil:
		t.Fatal(err)
	case shown.State != records.StateDied:
		return // it has arrived
	}
	got := outcomeOf(t, desk, shown, a)
	recorded := len(shown.Steps) > 0 && shown.Steps[0].Phase == records.PhaseFinished
	if recorded && got == "refused" { // the step is there: the next request goes on with it
		if got = outcomeOf(t, desk, shown, give(store)); got != "done" {
			t.Errorf("going on ends with %q", got)
		}
		return
	}
	if got != "done" {
		t.Errorf("a new plan ends with %q", got)
	}
}

// give resumes a record with a run that gives it up again.
func give(store *dynamostore.Store) act {
	return func(ctx context.Context, d *records.Desk, r records.Record) (*records.Plan, error) {
		return d.Resume(ctx, r, records.Resumption{Event: []byte("{}"), Invoke: func(ctx context.Context, _ []byte) error {
			run, err := store.Acquire(ctx, claim(key, "resumed", time.Now()))
			if err != nil {
				return err
			}
			return store.Release(ctx, run.Lease())
		}})
	}
}
