// Package downstream names things for the services that a guarded function calls:
// by names that are the same in every try of a request, so that those services
// recognise the second try too.
package downstream

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// ID is a short name made from a key and what else tells the thing from others: 32
// hexadecimal digits, which say nothing about either.
func ID(parts ...string) string {
	text, _ := json.Marshal(parts) // texts always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
