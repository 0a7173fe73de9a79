package records_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// scattered is a table whose records are in segments of their own, as DynamoDB's are, and a page
// of which costs a unit.
type scattered struct{ *persistence.Memory }

func (s scattered) List(ctx context.Context, q storekit.Query) (storekit.Page, error) {
	page := storekit.Page{Units: 1}
	for _, r := range s.Records() {
		if int(r.Key[len(r.Key)-1])%max(1, q.Segments) == q.Segment {
			page.Records = append(page.Records, r)
		}
	}
	return page, ctx.Err()
}

// TestWhatNeverEndsKeepsNoSweepFromTheRest has ten requests, none of which is ever ended or
// changed, and sweeps that come to three of them, or to two units of the table: all of them
// have their turn.
func TestWhatNeverEndsKeepsNoSweepFromTheRest(t *testing.T) {
	for name, c := range map[string]struct {
		sweep     records.Sweep
		scattered bool
	}{
		"three events":           {sweep: records.Sweep{Limit: 3}},
		"three events, segments": {sweep: records.Sweep{Limit: 3}, scattered: true},
		"two units":              {sweep: records.Sweep{MaxUnits: 2}, scattered: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := persistence.NewMemory()
				for n := range 10 {
					claimed := claim(fmt.Sprintf("payment#%d", n), "owner", time.Now())
					claimed.Event = []byte(theEvent)
					if _, err := memory.Acquire(t.Context(), claimed); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(20 * time.Minute)
				var store persistence.Store = memory
				if c.scattered {
					store = scattered{memory}
				}
				sent := make(map[string]int)
				c.sweep.Send = func(_ context.Context, r records.Record, _ []byte) error {
					sent[r.Key]++
					return errors.New("not reached")
				}
				for range 100 {
					if _, sum, err := swept(t, store, c.sweep); err != nil || !sum.Partly {
						t.Fatalf("%+v, %v", sum, err)
					}
				}
				if len(sent) != 10 {
					t.Errorf("a hundred sweeps have sent %v", sent)
				}
			})
		})
	}
}
