// Package explore drives an idempotency protocol through every interleaving of a
// few callers, faults and instants, and checks the protocol's promises in every
// state. What it drives is the code that ships, not a model of it: the engine, the
// store and the embedded DynamoDB's conditions.
//
// A [System] is a table and the protocol that its callers follow. An execution
// runs it in a testing/synctest bubble. Every caller is a goroutine that stops
// wherever it depends on the world: before a request is applied, before its reply
// arrives, and inside the guarded function; a [Saga] also in each step, compensation
// and question whether a step has happened. The renewals of a lease, and steps beside
// others, are goroutines that stop in the same way. When all of them have stopped, the
// explorer takes one of the possible steps:
//
//   - a request is applied, or its reply arrives;
//   - the function that a caller is in returns, fails, fails for good or panics;
//   - a fault: the request is lost, and may be applied any time later; its reply is
//     lost; it is applied and a copy stays in the network; no try of a call is answered
//     until its time is over; the table refuses a transaction; the process dies;
//   - time passes until the next instant at which a lease, an expiry or a
//     context ends, by anybody's clock;
//   - the table's TTL removes the expired record;
//   - a caller goes by what its answer says, and repeats its request.
//
// [Run] tries all of them, depth first, by running the system again from the
// start for every new path. Two paths that lead to the same state are followed
// once: a state is the table, the network, the clock, and for every caller all that
// it has been told. The bounds are the number of callers and of faults; time and retries
// are bounded by the protocol itself.
package explore
