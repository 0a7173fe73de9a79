// Package records is the operator's view of what a store remembers: which requests are stuck,
// since when, in which function, what they have done, and what to do about them.
//
//	desk, err := records.New(store, records.Config{})
//	for record, err := range desk.List(ctx, records.Filter{Stuck: true}) { … }
//
// The store is the one that the functions use, fronts and all (sealed, overflow), so that what
// is settled by hand is kept as if a run had done it. It needs the abilities of package storekit:
// DynamoDB, Redis, SQL and [persistence.Memory] have them.
//
// # Nothing is done at once
//
// [Desk.Settle], [Desk.Forget] and [Desk.Resume] take a record as it was shown, and return a
// [Plan]: what would be done, in words, or an error that says why it can't. Only [Plan.Do] does
// it, if the record is still what was shown. Otherwise it changes nothing, and its
// [*ChangedError] has the record as it is now.
//
// A run under way is never touched: while a lease is live, all of them refuse with a
// [*RunningError]. That holds by the operator's clock, which may be wrong by [Config.Margin],
// and by the store, which compares owner, status and lease.
//
// # What an operator's write is to everybody else
//
// Settling takes the record over, as a run would that finds a dead one, and then records what the
// operator knows: the outcome, or an entry of a step. From the first of these writes a run that
// comes back after all has lost its lease, and is told so. Once begun, a settlement goes on though
// the caller's context ends, for [Config.Hold] at most. Where the operator's process dies between
// the writes the record is PROCESSING for that time, and then that of a run that has died, also
// where it was given up before: a guard that refuses unknown outcomes leaves it to be settled again.
//
// A record that is forgotten is gone: the next request runs. An environment that has a finished
// record in its memory (cached.Store) goes on replaying it until it ends.
package records
