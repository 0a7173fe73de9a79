// Package persistence is the contract between the idempotency engine and
// whatever remembers its records: what a store must do, and nothing about how.
//
// A record moves through one small machine. Every arrow is a single atomic,
// conditional step of the store, and every arrow but the first two asks who
// owns the record:
//
//	                 Acquire                 Complete
//	absent/expired ───────────▶ PROCESSING ───────────▶ COMPLETED | FAILED
//	                             ▲  │   ▲                (replayed until
//	     Acquire: the lease is   │  │   │ Acquire         ExpiresAt)
//	     over (compare-and-swap) └──┤   │
//	                                │   └────────── PARTIAL_SUCCESS
//	                                │ Release              ▲
//	                                ├──────────────────────┘  finished steps
//	                                └──▶ absent               no steps
//
// [Store] has three methods. [Checkpointer], [Renewer] and [Reader] are abilities a
// store may have besides. [Memory] is the reference store and serves tests. Below this
// package are the stores for production, and what is put in front of any of them: package
// cached keeps finished records at hand, sealed encrypts, overflow keeps large results
// elsewhere. Who writes a store finds what it is made of in package storekit, and the rules
// that it must keep, in a form that can be run, in package storetest.
//
// # Time
//
// Stores never read a clock. Now, LeaseUntil and ExpiresAt arrive as data in
// [Claim] and [Outcome], so one decision is made with one reading, and tests
// need no waiting. Leases count in whole milliseconds and expiry in whole
// seconds, because those are the units of DynamoDB's records; see
// [Record.LeaseLive] and [Record.Expired], which every store shares.
//
// This package imports the standard library only.
package persistence
