// Package queuesim simulates the event sources that deliver in batches, and the
// part of Lambda that polls them: a queue with visibility timeouts, receive counts,
// a dead-letter queue and the group locks of FIFO, a shard that is read on from its
// lowest failure, and a Kafka topic of which just the failures come again. It is for
// tests and the demo.
//
// It reads the clock of package time, so it runs in virtual time inside a
// testing/synctest bubble. Where a service leaves a choice, it takes the one that
// is harder on a consumer; the liberties of a standard queue are taken by a seed
// (QueueConfig.Seed). All types are safe for concurrent use.
package queuesim
