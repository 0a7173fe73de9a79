// Package powertools lets a guarded function share its records with functions that use
// Powertools for AWS Lambda (Python or TypeScript), so that a team can move from them
// one function at a time: a request that either side has finished is replayed by the
// other, and one that either side is working on is refused by the other.
//
//	peer, err := powertools.Python(powertools.Options{
//		FunctionName: "orders",            // of the function that is replaced
//		Function:     "app.lambda_handler", // what its decorator stood on
//		EventKey:     "powertools_json(body).order_id",
//		Table:        dynamostore.Config{Table: "idempotency"},
//	})
//	store, err := peer.Store(client)
//	guard, err := idempotent.New(store, peer.Config(idempotent.Config{Operation: "orders"}))
//	lambda.Start(guard.Handler(handle))
//
// A [Peer] has three parts: the table's format ([Peer.Store]), the way to recognise
// requests ([Peer.Config], a dialect), and what both need to agree with
// the settings of the function that is replaced ([Options]).
//
// # Exactness
//
// Keys are the peer's, byte for byte, for the settings and payloads that this package
// accepts; what it can't have exactly, it refuses. At construction that is an
// [*OptionError]; for a payload it is an error that matches [ErrInexact], and the
// function does not run. Nothing is approximated, because a key that differs protects
// from nothing. The same errors bound what an expression may cost. A result that would
// come back as another value is left out of the record, and duplicates are told so.
//
// Where Lambda isolates tenants, a guard's keys have the tenant and the peer's have not:
// nothing is shared then, unless [idempotent.Config] has TenantsShareRecords.
//
// Use [idempotent.Guard.Handler], which sees the event as Lambda delivers it.
//
// # Why there is another JMESPath
//
// One parser and interpreter serve both languages here. They are not those of this
// module's own expressions (package idempotency), and joining them would be no simpler:
// those take their grammar from go-jmespath, decide before the first event which places
// of the payload are read and whether the key is stable, and decode only these, exactly.
// Here nearly the opposite is wanted: whatever the peer does, down to what it accepts
// besides the grammar, on whole values of its language, with the order of members,
// undefined, lists that sort() changes and floats that overflow. Shared would be the
// names of the nodes; at stake would be the stored keys of both.
//
// # What sharing does not protect from
//
// Powertools completes and deletes records without looking at who owns them. A run of
// theirs that outlives its lease can therefore overwrite or delete a record of ours;
// ours never overwrites theirs. Steps and sagas are refused on such a table
// ([Store] is no [persistence.Checkpointer]): their take-over of a record forgets what
// it holds. docs/powertools.md shows the interleavings, and the way to leave the shared
// table behind.
package powertools
