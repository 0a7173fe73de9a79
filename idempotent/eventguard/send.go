package eventguard

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ikkai-go/idempotency"
)

// DeduplicationID returns the MessageDeduplicationId with which to send the
// operation's request with that key to a FIFO queue: operation + "#" + key, or a
// digest of it where SQS would not take that. Two requests never have the same.
//
// It does not make the consumer's guard needless. SQS drops what is sent again
// within five minutes, and only that: a sender that tries again after six minutes,
// or in another queue, and every redelivery reach the consumer as before. Conversely
// a message that is dropped is not run again, whatever has become of the first: to
// have a failed request run again within five minutes, send it with another key.
//
// Lambda's tenant is no part of it, other than of a guard's keys. Where tenants send to
// one queue, a key names its tenant: tenant + "#" + key, since no tenant holds a "#".
//
// The error is an [idempotency.ErrMissing] for an empty key, which would make all
// messages one, or an [idempotency.ErrOperation].
func DeduplicationID(operation, key string) (string, error) {
	if _, err := idempotency.Key(operation, key); err != nil {
		return "", fmt.Errorf("eventguard: deduplication id: %w", err)
	}
	return queueID(operation + "#" + key), nil
}

// GroupID returns the MessageGroupId for the messages that must keep their order
// among each other, such as those of one customer: name itself, or a digest of it
// where SQS would not take it. A name for each request (its key) asks for no order
// at all, and lets none hold up another. The error is an [idempotency.ErrMissing]
// for an empty name.
func GroupID(name string) (string, error) {
	if _, err := idempotency.Key("group", name); err != nil {
		return "", fmt.Errorf("eventguard: group id: %w", err)
	}
	return queueID(name), nil
}

// longest is how many characters SQS takes.
const longest = 128

// acceptable tells whether SQS takes an id: letters, digits and marks of ASCII, and
// no spaces.
func acceptable(text string) bool {
	strange := func(r rune) bool { return r < '!' || r > '~' }
	return len(text) <= longest && !strings.ContainsFunc(text, strange)
}

const digested = "sha256-"

// queueID is injective: what looks like a digest is digested as well.
func queueID(text string) string {
	if acceptable(text) && !strings.HasPrefix(text, digested) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return digested + hex.EncodeToString(sum[:])
}
