package idempotent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Callers that a throttled table has turned away come back at different times, and are told the
// truth: nothing has happened.
func TestCallersOfAThrottledTableComeBackApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, store := lab.NewDynamo(t)
		guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		db.Inject(dynamotest.Fault{Operation: "PutItem", Times: dynamotest.Always, Do: dynamotest.Throttle()})
		times := make(map[time.Duration]bool)
		const callers = 8
		for range callers {
			began := time.Now()
			_, err := idempotent.Do(t.Context(), guard, "1", func(context.Context) (string, error) {
				t.Error("it has run")
				return "", nil
			})
			v := idempotent.VerdictOf(err)
			if !errors.Is(err, idempotent.ErrStore) || v.Done != idempotent.DoneNothing || !v.Retry || v.After < time.Second || v.After >= 3*time.Second {
				t.Errorf("%v: %+v", err, v)
			}
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("it took %v to say so", took)
			}
			times[v.After] = true
		}
		if len(times) < callers/2 {
			t.Errorf("they come back at %v", times)
		}
	})
}
