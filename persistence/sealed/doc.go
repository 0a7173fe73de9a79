// Package sealed keeps results, and the outputs of steps, encrypted in any store. They
// are sealed before they leave the process and opened after they come back, so the
// store, its backups and its operators see ciphertext.
//
//	sealer, err := sealed.NewAES(sealed.Key{ID: "2026-03", Secret: secret})
//	store, err := sealed.New(table, sealer, sealed.Config{})
//
// # What is sealed, and what is not
//
// Sealed are the results of operations, recorded failures, the outputs of steps, and events that
// are kept (one that can't be sealed is not kept). Keys
// and fingerprints are not: they are SHA-256 digests (unless the operation keeps its
// keys readable), which say whether two payloads are the same, and which whoever can
// guess a payload can check. Names of steps, owners, times and lengths are not either,
// nor are the writes that an application enlists.
//
// # What a sealed value is bound to
//
// A value opens only in its [Place]. A result is bound to the key of its record, its
// owner and its status: it can't be moved to another record, nor a failure be made a
// success. The output of a step is bound to the key and the step's name. It outlives its
// owner, so whoever can write to the table can bring back the output of an earlier run
// of the same key; and can, as ever, delete records, or bring back a whole one.
//
// # When a value does not open
//
// Then nothing runs in its place. The error is a [*persistence.Fault] around
// [persistence.ErrUnreadable] and one of [ErrForged], [ErrUnknownKey], [ErrNotSealed] or
// the sealer's own, at which the engine runs nothing, not even if it fails open. A
// claim that has got a record whose steps do not open gives it up again; the steps stay.
//
// A result that can't be sealed is not stored in the clear: it is refused as
// [persistence.ErrTooLarge], and the engine completes the record without it. The output
// of a step that can't be sealed is a [*persistence.Fault].
//
// Without this store in front, a reader of the table sees a [storekit.Envelope] of
// the form "sealed/1", which is no JSON and no text.
//
// # Keys
//
// [AES] has its keys in the process: AES-256-GCM with random nonces, of the standard
// library. A key may seal 2^32 values (NIST SP 800-38D, 8.3): to rotate, give all
// environments the new key as another one to open with, then make it the current one.
// [DataKeys] is for a service that keeps the keys, such as AWS KMS, as envelope
// encryption: each value has a data key of its own, which is stored beside it, wrapped by
// the service. That costs one call to the service for each value that is sealed and for
// each that is opened; the steps of a record are opened whenever somebody meets it.
//
// # The order of stores
//
// A [cached.Store] in front keeps plaintext in the memory of the process, which
// has held it anyway, and opens each result once. Behind, it keeps ciphertext, and each
// replay opens it. A store for large results (package overflow) belongs behind: in front,
// its blobs would be in the clear. Ciphertext does not compress, so dynamostore's
// Compress saves nothing behind.
//
//	Cached → sealed → overflow → dynamostore
//
// # Introducing it
//
// Begin with [AcceptUnsealed], which replays what is there, and go back to the default
// when the longest TTL of the operations is over. While the first deployment is under
// way, environments without the store in front refuse what the new ones have written.
package sealed
