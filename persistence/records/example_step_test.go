package records_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
)

// saleOfTheNight has a checkout that died an hour ago, in a step that must run at most once.
func saleOfTheNight() (*records.Desk, records.Record) {
	ctx := context.Background()
	store := persistence.NewMemory()
	died := night.Add(-time.Hour)
	record, _ := store.Acquire(ctx, persistence.Claim{
		Key: "checkout#91", Owner: "o", Now: died, LeaseUntil: died.Add(time.Minute), ExpiresAt: died.Add(24 * time.Hour), Run: persistence.Run{StartedAt: died},
	})
	_ = store.Checkpoint(ctx, record.Lease(), "charge:started", []byte(`{}`))
	desk, err := records.New(store, records.Config{Now: func() time.Time { return night }})
	if err != nil {
		panic(err)
	}
	shown, err := desk.Show(ctx, "checkout#91")
	if err != nil {
		panic(err)
	}
	return desk, shown
}

// settled plans a settlement and carries it out.
func settled(s records.Settlement) {
	desk, shown := saleOfTheNight()
	plan, err := desk.Settle(context.Background(), shown, s)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := plan.Do(context.Background())
	fmt.Print(after.State)
	for _, step := range after.Steps {
		fmt.Print(", ", step.Name, " ", step.Phase)
	}
	fmt.Println(",", err)
}

// The provider says that it has charged.
func ExampleFinishStep() {
	settled(records.FinishStep("charge", []byte(`"ch_1"`)))
	// Output: partial, charge finished, <nil>
}

// The provider knows of no charge: the step may run.
func ExampleDeclineStep() {
	settled(records.DeclineStep("charge"))
	// Output: partial, charge declined, <nil>
}

// Only what a failed request has yet to undo can be said to be undone.
func ExampleUndoStep() {
	settled(records.UndoStep("charge"))
	// Output: records: checkout#91 is died: it has not failed for good, so its steps are not to be undone
}

// Somebody has made the sale by hand, and nobody knows the answer.
func ExampleCompleteWithoutResult() {
	settled(records.CompleteWithoutResult())
	// Output: completed, charge started, <nil>
}

func ExampleFail() {
	settled(records.Fail("SoldOut", "there are none left"))
	// Output: failed, charge started, <nil>
}

// A page at a time, for a screen.
func ExampleDesk_Page() {
	desk, _ := saleOfTheNight()
	cursor := ""
	for {
		page, err := desk.Page(context.Background(), records.Filter{Operation: "checkout", PageSize: 10}, cursor)
		if err != nil {
			panic(err)
		}
		for _, record := range page.Records {
			fmt.Println(record.Key, record.State, record.Stuck)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	// Output: checkout#91 died outcome_unknown
}
