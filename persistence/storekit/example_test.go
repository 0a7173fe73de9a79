package storekit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/cached"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var ctx = context.Background()

// claimOf is a claim of one key by an owner.
func claimOf(owner string) persistence.Claim {
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	return persistence.Claim{
		Key: "payment#1", Owner: owner,
		Now: now, LeaseUntil: now.Add(time.Minute), ExpiresAt: now.Add(time.Hour),
	}
}

// counted is a store that counts the claims that reach another one. All else, and all
// abilities, are those of the store behind.
type counted struct {
	storekit.Front
	claims atomic.Int64
}

func (c *counted) Acquire(ctx context.Context, claim persistence.Claim) (persistence.Record, error) {
	c.claims.Add(1)
	return c.Front.Acquire(ctx, claim)
}

// A decorator embeds a Front and overrides what it changes.
func ExampleFront() {
	store := &counted{Front: storekit.NewFront(persistence.NewMemory())}
	record, _ := store.Acquire(ctx, claimOf("first"))
	_ = store.Checkpoint(ctx, record.Lease(), "reserve", []byte("box 7")) // passed on
	record, _ = store.Acquire(ctx, claimOf("second"))
	fmt.Println(store.claims.Load(), "claims, the record is of the", record.Owner, "with", string(record.Steps["reserve"]))
	// Output: 2 claims, the record is of the first with box 7
}

// forgetful hides every ability of a store but those of the contract.
type forgetful struct{ persistence.Store }

// A store in front has an ability only if the store behind has it too.
func ExampleAble() {
	memory := persistence.NewMemory()
	for _, store := range []persistence.Store{
		memory,
		cached.New(memory, cached.Limits{}),
		cached.New(forgetful{memory}, cached.Limits{}),
	} {
		_, keepsSteps := storekit.Able[persistence.Checkpointer](store)
		_, commits := storekit.Able[storekit.Transactor](store)
		fmt.Println(keepsSteps, commits)
	}
	// Output:
	// true false
	// true false
	// false false
}

// reversed keeps results backwards, in envelopes that say so.
type reversed struct{ storekit.Front }

func (r reversed) Complete(ctx context.Context, l persistence.Lease, o persistence.Outcome) error {
	o.Result = storekit.Envelope("reversed/1", reverse(o.Result))
	return r.Front.Complete(ctx, l, o)
}

func (r reversed) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	record, err := r.Front.Acquire(ctx, c)
	if form, content, ok := storekit.OpenEnvelope(record.Result); ok && form == "reversed/1" {
		record.Result = reverse(content)
	}
	return record, err
}

func reverse(b []byte) []byte {
	turned := make([]byte, len(b))
	for i, c := range b {
		turned[len(b)-1-i] = c
	}
	return turned
}

// What a store in front makes of a value can't be taken for the value.
func ExampleEnvelope() {
	memory := persistence.NewMemory()
	fmt.Println("holds envelopes:", storekit.HoldsEnvelopes(memory))

	store := reversed{storekit.NewFront(memory)}
	record, _ := store.Acquire(ctx, claimOf("first"))
	_ = store.Complete(ctx, record.Lease(), persistence.Outcome{Status: persistence.StatusCompleted, Result: []byte("paid")})

	replayed, _ := store.Acquire(ctx, claimOf("second"))
	fmt.Println("with the store in front:", string(replayed.Result))
	bare, _ := memory.Acquire(ctx, claimOf("third"))
	form, content, ok := storekit.OpenEnvelope(bare.Result)
	fmt.Println("without it:", form, string(content), ok)
	// Output:
	// holds envelopes: true
	// with the store in front: paid
	// without it: reversed/1 diap true
}

// insert is a write in the terms of a store, and insertRow what that offers its users.
type insert string

func insertRow(ctx context.Context, row insert) error {
	few := func(all []storekit.Write) error {
		if len(all) > 2 {
			return errors.New("a transaction takes 2 rows")
		}
		return nil
	}
	return storekit.Enlist(ctx, few, row)
}

// The engine collects what a run enlists, and hands it to the store in the end.
func ExampleEnlist() {
	fmt.Println("outside of a run:", insertRow(ctx, "order 1"))

	enlistment := new(storekit.Enlistment)
	run := storekit.WithEnlistment(ctx, enlistment)
	_ = insertRow(run, "of an attempt that was undone")
	enlistment.Drop()
	_ = insertRow(run, "order 1")
	_ = insertRow(run, "stock of 7")
	fmt.Println("one too many:", insertRow(run, "mail"))
	fmt.Println("to be committed:", enlistment.Close())

	err := insertRow(run, "late")
	fmt.Println("afterwards:", errors.Is(err, persistence.ErrNotEnlisted))
	// Output:
	// outside of a run: persistence: nothing to enlist a write with: no guarded call whose store commits writes
	// one too many: a transaction takes 2 rows
	// to be committed: [order 1 stock of 7]
	// afterwards: true
}

// A constructor tells at once what the first call would panic of.
func ExampleIsNil() {
	var client *strings.Builder // of a constructor whose error nobody has looked at
	fmt.Println(storekit.IsNil(client), storekit.IsNil(new(strings.Builder)))
	// Output: true false
}
