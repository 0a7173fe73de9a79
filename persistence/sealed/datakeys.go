package sealed

import (
	"context"
	"encoding/binary"
	"fmt"
)

// DataKeys makes data keys under a key that never leaves its service, as AWS KMS does
// with GenerateDataKey and Decrypt. Safe for concurrent use; errors as with [Sealer].
type DataKeys interface {
	// Generate returns a new key of 32 bytes, and the same wrapped by the service, in at
	// most 512 bytes.
	Generate(ctx context.Context, place Place) (key, wrapped []byte, err error)

	// Unwrap returns the key that Generate has wrapped for the place. [ErrForged] for what
	// it has not.
	Unwrap(ctx context.Context, wrapped []byte, place Place) (key []byte, err error)
}

// Envelope is a [Sealer] for envelope encryption: each value is sealed like by [AES],
// with a data key of its own, and stored together with that key as it was wrapped.
type Envelope struct{ keys DataKeys }

var _ Sealer = (*Envelope)(nil)

// NewEnvelope returns a sealer with data keys, which [New] asks for.
func NewEnvelope(keys DataKeys) *Envelope { return &Envelope{keys} }

const (
	maxWrapped  = 512     // bytes
	wrappedSize = 2       // bytes, for the length of the wrapped key
	gcmOverhead = 12 + 16 // bytes; nonce and tag
)

// Seal implements [Sealer].
func (e *Envelope) Seal(ctx context.Context, plaintext []byte, place Place) ([]byte, error) {
	key, wrapped, err := e.keys.Generate(ctx, place)
	if err != nil {
		return nil, err
	}
	if len(wrapped) > maxWrapped {
		return nil, fmt.Errorf("the wrapped key has %d bytes, and may have %d", len(wrapped), maxWrapped)
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	head := append(binary.BigEndian.AppendUint16(nil, uint16(len(wrapped))), wrapped...)
	return seal(aead, head, plaintext, place), nil
}

// Open implements [Sealer].
func (e *Envelope) Open(ctx context.Context, sealed []byte, place Place) ([]byte, error) {
	if len(sealed) < wrappedSize {
		return nil, ErrForged
	}
	size, rest := int(binary.BigEndian.Uint16(sealed)), sealed[wrappedSize:]
	if size > maxWrapped || size > len(rest) {
		return nil, ErrForged
	}
	key, err := e.keys.Unwrap(ctx, rest[:size], place)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(key)
	if err != nil {
		return nil, err
	}
	return open(aead, rest[size:], place)
}

// Overhead implements [Sealer].
func (e *Envelope) Overhead() int { return wrappedSize + maxWrapped + gcmOverhead }
