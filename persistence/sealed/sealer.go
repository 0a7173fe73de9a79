package sealed

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/ikkai-go/idempotency/persistence"
)

// Sealer encrypts and authenticates values. All methods are safe for concurrent use.
//
// An error may be a [*persistence.Fault] that says whether the call can succeed later.
// [ErrForged] and [ErrUnknownKey] never do; any other error counts as one that can.
type Sealer interface {
	// Seal returns the plaintext encrypted, such that it opens in that place only.
	Seal(ctx context.Context, plaintext []byte, place Place) ([]byte, error)

	// Open returns what was sealed. [ErrForged] for what was not sealed, or not in
	// that place.
	Open(ctx context.Context, sealed []byte, place Place) ([]byte, error)

	// Overhead is by how many bytes at most a sealed value is longer than its plaintext.
	Overhead() int
}

// Why a value does not open.
var (
	ErrForged     = errors.New("sealed: the value was not sealed here, or has changed since")
	ErrUnknownKey = errors.New("sealed: the value was sealed with an unknown key")
	ErrNotSealed  = errors.New("sealed: the value is not sealed")
)

// Place is where a value belongs.
type Place struct {
	// Key of the record.
	Key string
	// Owner and Status of the finished record whose result the value is. Empty for the
	// output of a step, which stays while owners change.
	Owner  string
	Status persistence.Status
	// Step is the name of the step whose output the value is.
	Step string
}

func resultOf(l persistence.Lease, status persistence.Status) Place {
	return Place{Key: l.Key, Owner: l.Owner, Status: status}
}

func outputOf(key, step string) Place { return Place{Key: key, Step: step} }

// Bytes returns the place as associated data. No two places have the same.
func (p Place) Bytes() []byte {
	b := []byte("ikkai sealed/1")
	for _, field := range []string{p.Key, p.Owner, string(p.Status), p.Step} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return b
}

// Context returns the place as the encryption context of AWS KMS: in CloudTrail it tells
// which record somebody has opened. It is not secret, and neither is a record's key.
func (p Place) Context() map[string]string {
	c := map[string]string{"idempotency_key": p.Key}
	if p.Step != "" {
		c["step"] = p.Step
	}
	return c
}
