package persistence_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

var (
	ctx   = context.Background()
	clock = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
)

func ExampleNewMemory() {
	store := persistence.NewMemory()
	first := persistence.Claim{
		Key:        "payment#1",
		Owner:      "7f3a",
		Now:        clock,
		LeaseUntil: clock.Add(30 * time.Second),
		ExpiresAt:  clock.Add(24 * time.Hour),
	}
	record, _ := store.Acquire(ctx, first)
	fmt.Println("the first call owns the record:", record.Owner == first.Owner)

	second := first
	second.Owner = "c91e"
	record, _ = store.Acquire(ctx, second)
	fmt.Println("the second finds it", record.Status, "by", record.Owner)

	_ = store.Complete(ctx, persistence.Lease{Key: first.Key, Owner: first.Owner}, persistence.Outcome{
		Status:    persistence.StatusCompleted,
		Result:    []byte(`{"charged":true}`),
		ExpiresAt: first.ExpiresAt,
	})
	record, _ = store.Acquire(ctx, second)
	fmt.Println("the second finds it", record.Status, "with", string(record.Result))
	// Output:
	// the first call owns the record: true
	// the second finds it PROCESSING by 7f3a
	// the second finds it COMPLETED with {"charged":true}
}

func ExampleClaim_Judge() {
	found := persistence.Record{
		Key:        "payment#1",
		Status:     persistence.StatusProcessing,
		Owner:      "7f3a",
		LeaseUntil: clock.Add(30 * time.Second),
		ExpiresAt:  clock.Add(time.Hour),
	}
	judgements := map[persistence.Judgement]string{
		persistence.Held:   "held: it is the answer",
		persistence.Owned:  "owned: it is this claim's own",
		persistence.Vacant: "vacant: a fresh record replaces it",
		persistence.Stale:  "stale: it may be taken over",
	}
	for _, later := range []time.Duration{0, 30 * time.Second, 31 * time.Second, 2 * time.Hour} {
		claim := persistence.Claim{Key: found.Key, Owner: "c91e", Now: clock.Add(later)}
		fmt.Println(later, judgements[claim.Judge(found)])
	}
	repeated := persistence.Claim{Key: found.Key, Owner: found.Owner, Now: clock}
	fmt.Println("repeated", judgements[repeated.Judge(found)])
	// Output:
	// 0s held: it is the answer
	// 30s held: it is the answer
	// 31s stale: it may be taken over
	// 2h0m0s vacant: a fresh record replaces it
	// repeated owned: it is this claim's own
}

func ExampleRecord_Execution() {
	suspended := persistence.Record{Status: persistence.StatusProcessing, Owner: "arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/a/0f0e#7f3a"}
	fmt.Println(suspended.Execution())
	// Output:
	// arn:aws:lambda:eu-west-1:123456789012:function:orders:7/durable-execution/a/0f0e
}
