// Package storetest proves that a [persistence.Store] keeps its contract, and shows how
// to write one.
//
// # How to write a store
//
// All that a store needs of the service it stands on is one conditional write: replace
// what I have seen, unless somebody else has been faster. A condition on a version, an
// item or a row will do, and so will a lock or a script in the server. The example of
// this package is a complete store on a key-value service.
//
// Acquire: check the claim (Claim.Check), look what is there, let Claim.Judge decide, and
// carry the verdict out with the conditional write. If that is refused, look again. A
// service that can decide in one request, such as "insert unless there is one that has
// not expired", may do so, as long as it decides the same.
//
//	Vacant   write Claim.Fresh; nothing of an expired record survives
//	Stale    write Claim.TakeOver, if owner, status and lease are those just seen
//	Owned    an earlier try of this claim was applied: the record is the answer
//	Held     the record is the answer
//
// The others are one conditional write each. Their condition is the owner:
//
//	Complete    PROCESSING and mine → Outcome.Of; finished and mine → Outcome.Recorded
//	Release     mine and not finished → absent, or PARTIAL_SUCCESS with its steps
//	Checkpoint  PROCESSING and mine → one step more; a step that is there stays
//	Renew       PROCESSING and mine → Lease.Renewed
//
// For anyone else the answer is [persistence.ErrLeaseLost]; only Release of a record
// that is gone is done. An owner who has settled its record before, and otherwise than it
// wants to now, is told what is there by a [*persistence.SettledError].
//
// What goes wrong most often:
//
//   - An own write that was applied while its reply was lost looks like somebody else's.
//     Ask the owner, and nothing else: who finds its own token has won.
//   - Clocks. A store reads none; it compares the data of claims and records, in whole
//     milliseconds for leases and whole seconds for expiries (Record.LeaseLive,
//     Record.Expired). Whatever removes expired records must be slower than that.
//   - A record that can't be understood is not an absent one. Nothing may run in its
//     place: a [*persistence.Fault] around [persistence.ErrUnreadable].
//   - Too large is not a failure of the service. It is told before anything is written,
//     with [persistence.ErrTooLarge], so that the operation can still be completed.
//   - Everything that fails below is a [*persistence.Fault] which says whether the same
//     call may succeed later, also a context that is over.
//   - Results and outputs are bytes: not text, not JSON, and perhaps empty. Nothing is
//     shared with the caller.
//
// The abilities of a store are interfaces of their own: [persistence.Checkpointer] for
// steps, [persistence.Renewer] for runs that outlast a lease, [persistence.Reader] where looking is cheaper than claiming,
// [storekit.BatchReader] where looking at many is cheaper than at each, [storekit.Sizer] if records hold only so much, [storekit.Transactor] if the
// application's writes can commit with the record. A store that changes what goes
// through it to another one embeds a [storekit.Front] and keeps that one's abilities.
//
// # How to prove it
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
// Rules about checkpoints need a [persistence.Checkpointer], rules about renewals a
// [persistence.Renewer], rules about looking a [persistence.Reader], about looking at many records at
// once a [storekit.BatchReader], and rules about sizes a [storekit.Sizer]. Rules about records that no Acquire of this toolkit writes, such as one
// without a lease, need a way to put them there: let the store that you hand to the suite be
// a [Planter]. Rules about transactions need writes in the store's own terms: let it be a
// [Ledger]. A rule whose need is not met is skipped by name, and the log says so; it is not
// a passed rule.
//
// # What is not proved
//
// A store that passes keeps the contract in the situations of the rules. Whether
// it does so when replies get lost between the store and its server is for tests
// of its own, with faults below it. What the suite can see of that is that every
// method may be repeated (rules repeat/… and those that end in /again).
package storetest
