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
// requests ([Peer.Config], an [idempotent.Dialect]), and what both need to agree with
// the settings of the function that is replaced ([Options]).
//
// # Exactness
//
// Keys are the peer's, byte for byte, for the settings and payloads that this package
// accepts; what it can't have exactly, it refuses. At construction that is an
// [*OptionError]; for a payload it is an error that matches [ErrInexact], and the
// function does not run. Nothing is approximated, because a key that differs protects
// from nothing.
//
// Use [idempotent.Guard.Handler], which sees the event as Lambda delivers it.
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
