// Package overflow keeps the results that are too large for a record in a blob
// store, such as S3 (package s3overflow), and in the record a reference to it.
//
//	blobs, err := s3overflow.New(s3.NewFromConfig(cfg), s3overflow.Config{Bucket: "results"})
//	store, err := overflow.New(table, blobs, overflow.Config{})
//	guard, err := idempotent.New(cached.New(store, cached.Limits{}), …)
//
// # What is stored where
//
// A result goes to the blob store if it is larger than [Config.Inline], or if the store
// behind refuses it as [persistence.ErrTooLarge]. The blob is written first and the
// record second, so a record never refers to what is not there yet. The record then
// holds a [storekit.Envelope] of the form "overflow/1" with the SHA-256 digest and
// the length of the result.
//
// The name of a blob follows from the record's key and owner and the digest ([Name]).
// So a zombie, whose owner is another, never writes to the winner's blob, a write may be
// repeated, and a reference that is copied to another record leads nowhere.
//
// With Compress, dynamostore compresses first: what then fits stays in its record. What
// goes to the blob store goes as it is.
//
// The outputs of steps stay in the record. A run that takes over needs all of them at
// once, and what is left for later steps is reckoned by them (storekit.Sizer). A
// step with a large output had better store it itself, and return where.
//
// # When the blob is not there
//
// What is read is compared with the digest and the length. A blob that is missing or
// has another content never leads to another run: the record comes back as finished
// with its result omitted, so that the engine answers *idempotent.ResultNotStoredError,
// and [Config.OnLost] is told. A blob store that can't be reached is a retryable
// [*persistence.Fault] around [persistence.ErrUnreadable], at which the engine runs
// nothing either, not even if it fails open.
//
// Without this store in front, a reader of the table sees an envelope in place of the
// result, which is no JSON and no text.
//
// If the blob can't be written, the result is refused as [persistence.ErrTooLarge]: the
// engine completes the record without it. The effect has happened, and what is lost is
// the answer to duplicates.
//
// # When blobs go
//
// Nothing deletes the blob of a record that expires: have the blob store do it, later
// than the longest TTL of the operations; [Blobs.Put] is told when the record expires.
// That also removes what else is left over: the blob of a run that died between its two
// writes. One whose lease turns out to be lost, or whose transaction is refused, deletes
// its blob itself if it can.
//
// # The order of stores
//
// A [cached.Store] belongs in front, where it keeps whole results, as far as its
// limits allow, and a replay from memory asks neither store. Behind, it keeps references
// and each replay fetches the blob. An encrypting store (package sealed) belongs in
// front too: the blobs are then encrypted like the results in records. Behind, it would
// encrypt the references only.
//
//	Cached → sealed → overflow → dynamostore
//
// # Cost
//
// With S3 and DynamoDB on demand, a result costs one write unit for each KB in the
// record, and a duplicate as much again, since a failed write costs by what is there;
// in S3 it costs one PUT, and one GET for each duplicate. A PUT costs what eight write
// units do (us-east-1, 2026), and takes some tens of milliseconds. So for results that are often
// larger than 8 KB an Inline of 8 KB is cheaper, while 0 has the fewest requests.
package overflow
