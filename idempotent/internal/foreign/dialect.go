// Package foreign is how a guard sees the way in which another toolkit recognises requests.
package foreign

import "time"

// Dialect is another toolkit's way to recognise requests, for operations that share
// their records with it. Package powertools has those of Powertools for AWS Lambda.
// Implementations are safe for concurrent use.
type Dialect interface {
	// Identify returns the record key and the fingerprint of a JSON payload; the
	// fingerprint is empty where nothing is compared. The error wraps
	// idempotency.ErrMissing where the toolkit finds no key in the payload; what
	// that means is the guard's Config.RunWithoutKey.
	Identify(payload []byte) (key, fingerprint string, err error)

	// Key returns the record key of a request whose key is a string that the caller
	// has chosen: the key of a payload from which just this string is selected. An
	// error that wraps idempotency.ErrMissing says that it is no key.
	Key(value string) (string, error)

	// Expiry returns the whole second at which a record expires that is to last until
	// then.
	Expiry(until time.Time) time.Time
}
