package storetest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storetest"
)

// In a test file of your store this is TestStore, and go test does the rest.
func ExampleRun() {
	TestStore := func(t *testing.T) {
		storetest.Run(t, func(*testing.T) persistence.Store {
			return persistence.NewMemory() // your store
		})
	}
	fmt.Printf("%T\n", TestStore)
	// Output: func(*testing.T)
}

// In a test file of your store this finds what no rule is about: random calls, played on it and
// on the reference store.
func ExampleCompare() {
	TestHistories := func(t *testing.T) {
		storetest.Compare(t, persistence.NewMemory(), 1000, 1) // your store
	}
	fmt.Printf("%T\n", TestHistories)
	// Output: func(*testing.T)
}

// forgetful loses the owner of a release, as stores do that delete by key.
type forgetful struct{ *persistence.Memory }

func (f forgetful) Release(_ context.Context, l persistence.Lease) error {
	f.Delete(l.Key)
	return nil
}

// Outside of a test, check the rules one by one.
func ExampleRules() {
	store := forgetful{persistence.NewMemory()}
	for _, rule := range storetest.Rules() {
		if rule.Needs != storetest.NeedsNothing {
			continue
		}
		if err := rule.Check(context.Background(), store); err != nil {
			fmt.Println("broken:", rule.Name)
		}
	}
	// Output:
	// broken: lease/invalid
	// broken: release/owner-only
	// broken: release/finished
	// broken: zombie/release
	// broken: race/release
	// broken: context/release
}

// planted adds to a store what the rules about foreign records need.
type planted struct{ *persistence.Memory }

func (p planted) Plant(_ context.Context, r persistence.Record) error {
	p.Put(r)
	return nil
}

func ExamplePlanter() {
	store := planted{persistence.NewMemory()}
	for _, rule := range storetest.Rules() {
		if rule.Needs == storetest.NeedsPlanter {
			fmt.Println(rule.Name, rule.Check(context.Background(), store))
		}
	}
	// Output:
	// lease/no-end <nil>
	// lease/outlives-expiry <nil>
	// lease/nobody <nil>
	// renew/endless <nil>
	// read-many/unreadable <nil>
}
