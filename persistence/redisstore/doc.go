// Package redisstore keeps idempotency records in Redis 6 or later, or in Valkey.
//
//	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, ReadTimeout: time.Second})
//	store, err := redisstore.New(client, redisstore.Config{})
//
// It keeps the whole contract of the package persistence as long as the server keeps
// what it has acknowledged. Many installations do not, so read "What a fail-over can
// lose" before money depends on it.
//
// # The records
//
// A record is one hash, under [Config.Prefix] and its key, so it is in one slot of a
// cluster. Results and steps are bytes, and come back as they were.
//
//	status           PROCESSING, PARTIAL_SUCCESS, COMPLETED or FAILED
//	owner            token of the acquisition that last took the record
//	lease_until      epoch milliseconds; while PROCESSING only
//	expire_at        epoch seconds
//	fingerprint      if the operation has one
//	result           the result of a finished record
//	result_encoding  "omitted" if the result could not be stored
//	step:<name>      output of a finished step
//	attempt          acquisitions so far
//	version          of this format: 1
//	started_at       when the last run has acquired the record, in epoch milliseconds
//	function         that runs it, and its version
//	request_id       of its invocation
//	event            that it was called with, if that is kept; until it is finished
//
// A key that holds anything else is refused as [persistence.ErrUnreadable], and left
// as it is.
//
// # Time
//
// All decisions are made with the clock readings that claims bring along. The server
// only removes (PEXPIREAT) what has expired, [Config.Grace] after it has: the grace is
// by how much a caller's clock may be behind the server's. A lease never outlives its
// record's expiry, so no record is removed while its lease is live.
//
// # Requests and their cost
//
//	fresh acquire     1 EVALSHA
//	duplicate         1 EVALSHA, which brings the record
//	take-over         2 EVALSHA; also to replace an expired record that is still there
//	complete          1 EVALSHA
//	release           1 EVALSHA
//	checkpoint        1 EVALSHA, which also renews the lease where it says so
//	renewal           1 EVALSHA
//	read              1 HGETALL
//	forget            1 EVALSHA
//	list              1 SCAN for each 500 keys of the database, and 1 EVAL for each record
//
// Each of the five scripts costs a request more (EVAL) when it is new to the server,
// and after a restart, a fail-over or SCRIPT FLUSH. On Redis 7.0 a record with a key
// of 72 bytes and a fingerprint of 64 takes 360 bytes while it runs, and 1 KB when it
// has finished with a result of 200 bytes. Scripts run alone on their server, so a
// result of megabytes keeps everybody waiting: see [Config.MaxValue].
//
// # Permissions
//
// The keys that begin with the prefix, and these commands; scripts may run no others
// than their user:
//
//	ACL SETUSER ikkai on >… ~idempotency:* +evalsha +eval +hgetall +exists +hmget +hset
//	  +hsetnx +hdel +hkeys +del +pexpireat +persist
//
// go-redis itself sends more: SELECT (+select) where the database is another than 0, and a
// cluster client asks for the slots (+cluster|slots) and for the commands (+command). Whoever
// lists records needs +scan.
//
// # The client
//
// [New] refuses a client that ignores the deadlines of contexts, because Lambda ends
// the process at the deadline, and a *redis.Ring, because it moves keys while a server
// is down. Also set ReadTimeout, to a second perhaps: it is how long a reply is waited
// for that will not come, as over a connection that died while the environment was
// frozen. Then, and whenever a connection breaks, go-redis sends the request again
// (MaxRetries), and the store recognises its own write by the owner. All failures but
// those of the contract are a [*persistence.Fault].
//
// # What a fail-over can lose
//
// Replication is asynchronous, in Redis and Valkey alike: the primary acknowledges a
// write before a replica has it. When a replica is promoted, the last writes may be
// gone, and a primary that is cut off may go on acknowledging writes that will be
// thrown away. For an operation this means:
//
//   - A PROCESSING record is lost: a duplicate gets a record of its own and runs while
//     the first still does. The first is told by [persistence.ErrLeaseLost] when it
//     completes, after the effect.
//   - A step or an outcome is lost: the record is as it was before. A step runs again;
//     a finished operation runs again once its lease is over.
//   - A finished record is lost altogether: its next duplicate runs again.
//
// RefuseUnknown helps with a lost outcome only: elsewhere there is no record to be
// careful about. What helps:
//
//   - A durable service. MemoryDB, and ElastiCache for Valkey with synchronous writes,
//     acknowledge a write once it is in a log in several Availability Zones, and lose
//     none in a fail-over, by their documentation. ElastiCache with asynchronous writes
//     may lose the last ten seconds; without the durability option it is as above.
//   - min-replicas-to-write 1 with a short min-replicas-max-lag: a primary that is cut
//     off stops to take writes after so many seconds. That bounds the loss; it does not
//     exclude it. Nor does WAIT, which the store does not send: the replica that has
//     the write need not be the one that is promoted.
//   - A downstream idempotency key (Call.Key of the package idempotent, Call.Token of its package saga),
//     which protects the effect itself, whatever the store has lost.
//   - DynamoDB: the package dynamostore.
//
// A restart of a server without replicas loses what is not on its disk: with appendonly
// yes and appendfsync always nothing, with everysec (the default of appendfsync) about
// a second, with snapshots alone everything since the last one.
//
// # Eviction
//
// The server must have maxmemory-policy noeviction, and enough memory. Every other
// policy removes live records when memory is short, the volatile ones too, since
// records have an expiry; volatile-lru is the default of ElastiCache. Without eviction
// a server that is full refuses new records and steps, as a retryable
// [*persistence.Fault], while complete and release still work.
package redisstore
