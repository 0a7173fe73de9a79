// Package storetest proves that a [persistence.Store] keeps its contract.
//
// # How to prove your store
//
// Give [Run] a function that opens your store, from a test of yours:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) persistence.Store {
//			return mystore.New(connect(t))
//		})
//	}
//
// Every rule of [Rules] is then a subtest under its own name, such as
// TestStore/complete/owner-only, and a broken one says what it expected and
// what it saw.
//
// The store may be shared, and it may hold other records: each rule makes up
// keys that begin with "storetest/" and hold a random token. Rules remove
// nothing behind them. Nothing waits either: all times are data, and they lie in
// the year 2100 or after it, where no clock of yours, and no process that
// removes expired records, interferes. If one does, the rules fail, and they
// should: see "Time" in the package persistence.
//
// Run the suite with the race detector on, and against a store as slow and as
// far away as the real one: the rules named race/… can only catch what the
// machine lets overlap.
//
// # What a store need not have
//
// Rules about checkpoints need a [persistence.Checkpointer], rules about looking
// need a [persistence.Reader]. Rules about records that no Acquire of this
// toolkit writes, such as one without a lease, need a way to put them there: let
// the store that you hand to the suite be a [Planter]. A rule whose need is not
// met is skipped by name, and the log says so; it is not a passed rule.
//
// # What is not proved
//
// A store that passes keeps the contract in the situations of the rules. Whether
// it does so when replies get lost between the store and its server is for tests
// of its own, with faults below it. What the suite can see of that is that every
// method may be repeated (rules repeat/… and those that end in /again).
package storetest
