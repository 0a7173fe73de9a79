package cached_test

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
)

var (
	ctx   = context.Background()
	clock = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
)

// metered shows every request that reaches the store.
type metered struct{ *persistence.Memory }

func (m metered) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	fmt.Println("request by", c.Owner)
	return m.Memory.Acquire(ctx, c)
}

func ExampleNew() {
	store := cached.New(metered{persistence.NewMemory()}, cached.Limits{Records: 100})
	claim := persistence.Claim{
		Key:        "payment#1",
		Owner:      "first",
		Now:        clock,
		LeaseUntil: clock.Add(30 * time.Second),
		ExpiresAt:  clock.Add(24 * time.Hour),
	}
	record, _ := store.Acquire(ctx, claim)
	_ = store.Complete(ctx, record.Lease(), persistence.Outcome{
		Status:    persistence.StatusCompleted,
		Result:    []byte("charged"),
		ExpiresAt: claim.ExpiresAt,
	})
	for _, owner := range []string{"second", "third"} {
		claim.Owner = owner
		record, _ = store.Acquire(ctx, claim)
		fmt.Println(owner, "gets", string(record.Result))
	}
	// Output:
	// request by first
	// second gets charged
	// third gets charged
}
