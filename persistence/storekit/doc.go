// Package storekit is what stores are made of, and what engines and tools ask of them
// beyond the contract in package persistence. Who guards a function needs none of it.
//
// # A store in front of another one
//
// A store that changes what goes through it (package sealed, package overflow, one that
// counts requests) embeds a [Front], overrides what it changes, and so keeps the abilities
// of the store behind:
//
//	type counted struct {
//		storekit.Front
//		requests atomic.Int64
//	}
//
//	func (c *counted) Acquire(ctx context.Context, claim persistence.Claim) (persistence.Record, error) {
//		c.requests.Add(1)
//		return c.Front.Acquire(ctx, claim)
//	}
//
// What it makes of results and steps goes into an [Envelope], so that nobody takes it for
// the value itself once the store in front is gone.
//
// # Abilities
//
// The contract has three methods. What else a store can do are interfaces of their own:
// [persistence.Reader], [persistence.Checkpointer] and [persistence.Renewer] beside the
// contract, and here [Transactor] (writes of the application commit with the record),
// [BatchReader] (many records in one request), [Sizer] (records hold only so much), [Refresher] (records are remembered) and [Literal]
// (results are somebody else's values). [Able] finds one through all stores in front.
//
// # Writes that commit with a record
//
// A store that is a Transactor offers a function of its own, in its own terms, that calls
// [Enlist]. The engine opens an [Enlistment] for each run and each step, and hands what was
// enlisted to the store when that ends.
//
// # For operators
//
// [Lister], [Forgetter] and [Opener] are what package records asks of a store.
package storekit
