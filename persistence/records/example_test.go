package records_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// night is when somebody is called.
var night = time.Date(2026, 12, 3, 3, 0, 0, 0, time.UTC)

// storeOfTheNight has a payment whose run has died an hour ago.
func storeOfTheNight() persistence.Store {
	store := persistence.NewMemory()
	died := night.Add(-time.Hour)
	_, _ = store.Acquire(context.Background(), persistence.Claim{
		Key: "payment#7a8c", Owner: "o", Now: died, LeaseUntil: died.Add(time.Minute), ExpiresAt: died.Add(24 * time.Hour),
		Run: persistence.Run{StartedAt: died, Function: "payment:7", RequestID: "6bc28136"},
	})
	return store
}

// Which requests are stuck, since when, in which function?
func ExampleDesk_List() {
	desk, err := records.New(storeOfTheNight(), records.Config{Now: func() time.Time { return night }})
	if err != nil {
		panic(err)
	}
	for record, err := range desk.List(context.Background(), records.Filter{Stuck: true}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(record.Key, record.Stuck, night.Sub(record.StartedAt), record.Function, record.RequestID)
	}
	// Output: payment#7a8c run_died 1h0m0s payment:7 6bc28136
}

// The bank says that the payment was made. The plan says what would be done about it; it is
// done only if the record still is what was shown.
func ExampleDesk_Settle() {
	ctx := context.Background()
	desk, err := records.New(storeOfTheNight(), records.Config{Now: func() time.Time { return night }})
	if err != nil {
		panic(err)
	}
	shown, err := desk.Show(ctx, "payment#7a8c")
	if err != nil {
		panic(err)
	}
	plan, err := desk.Settle(ctx, shown, records.Complete([]byte(`{"payment":"p-1"}`)))
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	after, err := plan.Do(ctx)
	fmt.Println(after.State, err)
	// Output:
	// payment#7a8c: the state is died.
	// Take the record over from its owner, who has lost it from then on (attempt 2).
	// Record that the request has succeeded, with a result of 17 bytes; duplicates are told so for 24h0m0s.
	// Note: it is written in the clear, which functions with a store that seals (package sealed) refuse: settle theirs with a store like theirs.
	// completed <nil>
}

func ExampleDesk_Forget() {
	ctx := context.Background()
	desk, err := records.New(storeOfTheNight(), records.Config{Now: func() time.Time { return night }})
	if err != nil {
		panic(err)
	}
	shown, err := desk.Show(ctx, "payment#7a8c")
	if err != nil {
		panic(err)
	}
	plan, err := desk.Forget(ctx, shown)
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	// Output:
	// payment#7a8c: the state is died.
	// Remove the record: the next request with its key runs as if there had been none.
	// Note: whether its run has had its effect is not known; it may have it twice then.
}

// A request is sent again without its client. The function's own guard keeps it from running
// twice.
func ExampleDesk_Resume() {
	ctx := context.Background()
	store := storeOfTheNight()
	desk, err := records.New(store, records.Config{Now: func() time.Time { return night }})
	if err != nil {
		panic(err)
	}
	shown, err := desk.Show(ctx, "payment#7a8c")
	if err != nil {
		panic(err)
	}
	plan, err := desk.Resume(ctx, shown, records.Resumption{
		Event: []byte(`{"order_id":"1"}`),
		Invoke: func(ctx context.Context, _ []byte) error { // in the place of a guarded handler
			r, err := store.Acquire(ctx, persistence.Claim{Key: "payment#7a8c", Owner: "p", Now: night, LeaseUntil: night.Add(time.Minute), ExpiresAt: night.Add(time.Hour)})
			if err != nil {
				return err
			}
			return store.Complete(ctx, r.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(`"paid"`), ExpiresAt: night.Add(time.Hour)})
		},
	})
	if err != nil {
		panic(err)
	}
	after, err := plan.Do(ctx)
	fmt.Println(after.State, after.Attempt, err)
	// Output: completed 2 <nil>
}
