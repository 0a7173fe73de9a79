package persistence_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// What a store does with a claim, without anybody else and without a table: look what is
// there, ask the claim, and carry out what it says.
func ExampleClaim() {
	records := make(map[string]persistence.Record)
	acquire := func(c persistence.Claim) (persistence.Record, error) {
		if err := c.Check(); err != nil {
			return persistence.Record{}, err
		}
		found, exists := records[c.Key]
		judgement := persistence.Vacant
		if exists {
			judgement = c.Judge(found)
		}
		switch judgement {
		case persistence.Vacant:
			records[c.Key] = c.Fresh()
		case persistence.Stale:
			records[c.Key] = c.TakeOver(found)
		}
		return records[c.Key].Clone(), nil
	}
	first := persistence.Claim{Key: "payment#1", Owner: "7f3a", Now: clock, LeaseUntil: clock.Add(time.Minute), ExpiresAt: clock.Add(time.Hour)}
	second := first
	second.Owner, second.Now, second.LeaseUntil = "c91e", clock.Add(2*time.Minute), clock.Add(3*time.Minute)
	for _, c := range []persistence.Claim{first, second, {Key: "payment#1"}} {
		record, err := acquire(c)
		fmt.Println(record.Owner, record.Attempt, err)
	}
	// Output:
	// 7f3a 1 <nil>
	// c91e 2 <nil>
	//  0 persistence: invalid argument: claim without an owner
}

// A claim that refuses unknown outcomes leaves the record of a run that died alone.
func ExampleClaim_refuseUnknown() {
	store := persistence.NewMemory()
	store.Put(persistence.Record{
		Key: "payment#1", Status: persistence.StatusProcessing, Owner: "7f3a", Attempt: 1,
		LeaseUntil: clock.Add(-time.Minute), ExpiresAt: clock.Add(time.Hour),
	})
	claim := persistence.Claim{Key: "payment#1", Owner: "c91e", Now: clock, LeaseUntil: clock.Add(time.Minute), ExpiresAt: clock.Add(time.Hour)}
	claim.RefuseUnknown = true
	record, _ := store.Acquire(ctx, claim)
	fmt.Println("refusing:", record.Owner, record.Status)
	claim.RefuseUnknown = false
	record, _ = store.Acquire(ctx, claim)
	fmt.Println("running again:", record.Owner, record.Status, "after", record.TookOver)
	// Output:
	// refusing: 7f3a PROCESSING
	// running again: c91e PROCESSING after PROCESSING
}

// A run died after its effect, and somebody has found out what the effect was. The record is
// settled in the name of the owner it has; package records does this with more care.
func ExampleOutcome() {
	store := persistence.NewMemory()
	store.Put(persistence.Record{
		Key: "payment#1", Status: persistence.StatusProcessing, Owner: "7f3a", Attempt: 1,
		LeaseUntil: clock.Add(-time.Minute), ExpiresAt: clock.Add(time.Hour),
	})
	stuck, _, _ := store.Read(ctx, "payment#1")
	found := persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte(`{"charged":true}`), ExpiresAt: clock.Add(24 * time.Hour)}
	fmt.Println("an outcome:", found.Check())
	fmt.Println("settled:", store.Complete(ctx, stuck.Lease(), found))

	settled, _, _ := store.Read(ctx, "payment#1")
	fmt.Println(settled.Status, string(settled.Result), found.Recorded(settled), settled.Status.Finished())
	fmt.Println("what a cache may remember:", string(found.Of(stuck.Lease()).Result))

	declined := persistence.Outcome{Status: persistence.StatusFailed, Result: []byte("declined")}
	err := store.Complete(ctx, stuck.Lease(), declined)
	if other, ok := errors.AsType[*persistence.SettledError](err); ok {
		fmt.Println("a second finding comes too late:", string(other.Record.Result))
	}
	// Output:
	// an outcome: <nil>
	// settled: <nil>
	// COMPLETED {"charged":true} true true
	// what a cache may remember: {"charged":true}
	// a second finding comes too late: {"charged":true}
}

// A renewal moves the end of the lease on, and never back.
func ExampleLease() {
	record := persistence.Record{Key: "payment#1", Status: persistence.StatusProcessing, Owner: "7f3a", LeaseUntil: clock.Add(time.Minute), ExpiresAt: clock.Add(90 * time.Second)}
	lease := record.Lease()
	fmt.Println(lease.Check(), lease.CheckStep("reserve"), errors.Is(lease.CheckRenewal(), persistence.ErrInvalid))

	lease.Until = clock.Add(2 * time.Minute)
	until, expiresAt := lease.Renewal()
	fmt.Println("asked for:", until.Sub(clock), expiresAt.Sub(clock))
	renewed := lease.Renewed(record)
	lease.Until = clock.Add(time.Second)
	renewed = lease.Renewed(renewed)
	fmt.Println("the record has:", renewed.LeaseUntil.Sub(clock), renewed.ExpiresAt.Sub(clock))
	// Output:
	// <nil> <nil> true
	// asked for: 2m0s 2m0s
	// the record has: 2m0s 2m0s
}

// What a record means depends on when it is looked at.
func ExampleRecord() {
	record := persistence.Record{
		Key: "payment#1", Status: persistence.StatusProcessing, Owner: "7f3a", Fingerprint: "amount=10",
		LeaseUntil: clock.Add(time.Minute), ExpiresAt: clock.Add(time.Hour),
	}
	for _, later := range []time.Duration{0, 2 * time.Minute, 2 * time.Hour} {
		now := clock.Add(later)
		fmt.Printf("%-6v live %-5t expired %t\n", later, record.LeaseLive(now), record.Expired(now))
	}
	fmt.Println("another payload:", record.Mismatches("amount=11"))
	// Output:
	// 0s     live true  expired false
	// 2m0s   live false expired false
	// 2h0m0s live false expired true
	// another payload: true
}

// Tests set records as they are, look at all of them, and remove them.
func ExampleMemory() {
	store := persistence.NewMemory()
	for _, key := range []string{"b", "a", "c"} {
		store.Put(persistence.Record{Key: key, Status: persistence.StatusCompleted})
	}
	store.Delete("b") // as a table's TTL does
	for _, record := range store.Records() {
		fmt.Println(record.Key, record.Status)
	}
	seen, _, _ := store.Read(ctx, "a")
	fmt.Println("forgotten by hand:", store.Forget(ctx, seen), len(store.Records()))
	// Output:
	// a COMPLETED
	// c COMPLETED
	// forgotten by hand: <nil> 1
}

// The same keys are refused by every store, also where they are only read.
func ExampleLease_CheckKey() {
	for _, key := range []string{"payment#1", "", "a\x00b", "\xff"} {
		fmt.Printf("%q %t\n", key, persistence.Lease{Key: key}.CheckKey() == nil)
	}
	// Output:
	// "payment#1" true
	// "" false
	// "a\x00b" false
	// "\xff" false
}
