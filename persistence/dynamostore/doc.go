// Package dynamostore keeps idempotency records in a DynamoDB table.
//
//	store, client, err := dynamostore.FromEnvironment(ctx) // the table is $IDEMPOTENCY_TABLE
//	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
//
// # The table
//
// A string partition key and a TTL attribute; [CreateTable] makes one for local
// use, and template.yaml of this module shows the deployed form. The attributes
// of a record, all of which can be renamed ([Attributes]):
//
//	idempotency_key  S   partition key
//	status           S   PROCESSING, PARTIAL_SUCCESS, COMPLETED or FAILED
//	owner            S   token of the acquisition that last took the record
//	lease_until      N   epoch milliseconds; while PROCESSING only
//	expire_at        N   epoch seconds; the table's TTL attribute
//	fingerprint      S   if the operation has one
//	result           S   the result; B if it is not text, or compressed
//	result_encoding  S   "omitted" if the result could not be stored, "gzip" if it is compressed
//	steps            M   finished steps
//	attempt          N   acquisitions so far
//	version          N   of this format: 1
//	started_at       N   when the last run has acquired the record, in epoch milliseconds
//	function         S   that runs it, and its version: "payment:7"
//	request_id       S   of its invocation
//	event            S   that it was called with, if that is kept (B if not text); until it is finished
//
// The records of several applications can share a table with a sort key: see
// [Config.PartitionValue].
//
// # Requests and their cost
//
// With on-demand or provisioned capacity, a write costs one unit for each KB
// of the larger of the item before and after, begun KBs counting whole; a write
// whose condition fails costs the same as one that succeeds.
//
//	fresh acquire     1 PutItem
//	duplicate         1 PutItem whose condition fails; the record comes with the failure
//	take-over         1 such PutItem, 1 UpdateItem
//	complete          1 UpdateItem
//	release           1 DeleteItem; with finished steps 1 UpdateItem instead
//	checkpoint        1 UpdateItem, which also renews the lease where it says so
//	renewal           1 UpdateItem
//	with n writes     1 TransactWriteItems instead, two units for each KB of each of the n+1 items
//	at once           1 TransactWriteItems; 1 PutItem without writes
//	read              1 GetItem, eventually consistent: half a read unit for each 4 KB
//	look ahead        1 BatchGetItem for each 100 records: half a read unit for each 4 KB of each
//	list              1 Scan, or Query, for each MB that is looked at: 128 read units
//	forget            1 DeleteItem
//	warm              1 such GetItem, where [Store.Warm] is called: half a read unit
//
// A condition that fails on no item at all costs one consistent GetItem more: to
// complete or release a record that is gone. So does every failed condition at an
// endpoint that does not return the item (DAX, older emulators).
//
// # Transactions
//
// An effect in DynamoDB, in this table or another one of the same account and Region,
// can be made part of the record's own write: then it has happened exactly if the
// record says so. [Enlist] adds it to the guarded call that is running:
//
//	err := dynamostore.Enlist(ctx, dynamostore.Write{
//		Update: &types.Update{…},
//		OnRefused: func(there map[string]types.AttributeValue) error { return ErrSoldOut },
//	})
//
// All that a call has enlisted is committed when it completes, in one
// TransactWriteItems whose first write is the record's, conditional on the owner as
// ever. A run that has lost its lease commits nothing. If the transaction is refused
// for the sake of a write, the error is a [*persistence.RefusedError] with its index,
// around what OnRefused has made of it, or a [*ConditionError] or [*ItemError].
// Conflicts with other transactions are retried until the call's time is over.
//
// Transactions are limited to 100 items, 99 of them the application's, and 4 MB.
// They are serializable within the Region; global tables carry them over write by
// write. Package rows makes writes for common needs. [Apply] carries writes out that
// belong to no record.
//
// # Permissions
//
// dynamodb:PutItem, dynamodb:UpdateItem, dynamodb:DeleteItem and
// dynamodb:GetItem on the table, and dynamodb:BatchGetItem where batches look ahead
// (idempotent.Config.NoLookAhead). Whoever lists records needs dynamodb:Scan, or dynamodb:Query
// where the table has a sort key; functions don't. Transactions need no permission of their own, but the
// permissions of the enlisted writes on their tables: dynamodb:PutItem,
// dynamodb:UpdateItem, dynamodb:DeleteItem and dynamodb:ConditionCheckItem.
//
// # Failures
//
// The SDK repeats a request whose reply was lost; the store then recognises its
// own write by the owner. A request that is not answered at all counts as lost
// after [Config.RequestTimeout]. A transaction carries a token, and is applied once
// however often it is sent.
//
// So what the SDK gives up on, after a few tries or because the quota of retries that all
// calls of an environment share is used up, is sent again here, until the context's
// deadline: server errors, conflicts of transactions, broken connections and
// answers that don't come. That holds for what recognises itself: the writes of records,
// and transactions. The client's own retryer is as it was given; it is the inner loop, and
// its tries and pauses come first. The outer one begins again after a pause of 50 ms, which
// grows to 400 ms. Reads are left to the client's retryer. Without a
// deadline six times have to do. A refusal (no permission, no table, a condition) is told at
// once.
//
// # Throttling
//
// What is throttled the client's retryer does not repeat: its pauses of up to two and four
// seconds are most of the time that a call has, and come out of that quota. It still limits
// its rate where it does (adaptive mode). Here, writes of who holds a record are sent again
// every 100 ms at most, until the deadline. A claim looks what is there before it is sent again: a
// finished record, or a run under way, answers it by an eventually consistent read, and for
// ten seconds the claims of that key look first. One that finds nothing is given up after four tries,
// in about a second, and at once where the partition is too hot to be read as well. So in a storm of
// one key its duplicates read, and what a table bears of writes is left to others and to
// those who have something to record. docs/scale.md in the repository shows what that comes to.
//
// All else is a [*persistence.Fault]; of a claim or a transaction that DynamoDB has refused in
// every try, or of a transaction that it has cancelled in the end, it says that nothing was written.
package dynamostore
