// Package downstream names things for the services that a guarded function calls:
// by names that are the same in every try of a request, so that those services
// recognise the second try too.
package downstream

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Key is the key of the guarded request. With the guards switched off there is
// none, and every run is a request of its own.
func Key(ctx context.Context) string {
	call, guarded := idempotent.CallFrom(ctx)
	if !guarded {
		return rand.Text()
	}
	return call.Key
}

// StepKey is the key of the step, or of the compensation, that is being run. With the
// guards switched off there is none, as there is no [Key].
func StepKey(ctx context.Context) string {
	step, within := idempotent.StepFrom(ctx)
	if _, guarded := idempotent.CallFrom(ctx); !within || !guarded {
		return rand.Text()
	}
	return step.Token
}

// ID is a short name made from a key and what else tells the thing from others: 32
// hexadecimal digits, which say nothing about either.
func ID(parts ...string) string {
	text, _ := json.Marshal(parts) // texts always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
