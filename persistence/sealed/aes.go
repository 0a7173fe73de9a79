package sealed

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
)

// Key is a key of [AES].
type Key struct {
	// ID is stored beside each value that the key has sealed. It is not secret, and
	// has at most 255 bytes.
	ID string
	// Secret is 32 random bytes.
	Secret []byte
}

// String leaves the secret out.
func (k Key) String() string { return "key " + k.ID }

// AES is a [Sealer] with keys in the process: AES-256 in Galois/Counter Mode, with random
// nonces.
type AES struct {
	current string // ID
	keys    map[string]cipher.AEAD
}

var _ Sealer = (*AES)(nil)

const keySize = 32 // bytes; of AES-256

// NewAES returns a sealer that seals with the current key, and opens with the others too.
func NewAES(current Key, others ...Key) (*AES, error) {
	a := &AES{current: current.ID, keys: make(map[string]cipher.AEAD)}
	for _, key := range append([]Key{current}, others...) {
		if _, known := a.keys[key.ID]; known || len(key.ID) > maxID {
			return nil, fmt.Errorf("%w: %v: an ID comes once and has at most %d bytes", ErrConfig, key, maxID)
		}
		aead, err := newAEAD(key.Secret)
		if err != nil {
			return nil, fmt.Errorf("%w: %v: %w", ErrConfig, key, err)
		}
		a.keys[key.ID] = aead
	}
	return a, nil
}

const maxID = 255 // bytes; so that one byte tells the length

// Seal implements [Sealer].
func (a *AES) Seal(_ context.Context, plaintext []byte, place Place) ([]byte, error) {
	head := append([]byte{byte(len(a.current))}, a.current...)
	return seal(a.keys[a.current], head, plaintext, place), nil
}

// Open implements [Sealer].
func (a *AES) Open(_ context.Context, sealed []byte, place Place) ([]byte, error) {
	if len(sealed) == 0 || len(sealed) < 1+int(sealed[0]) {
		return nil, ErrForged
	}
	id, rest := string(sealed[1:1+int(sealed[0])]), sealed[1+int(sealed[0]):]
	aead, known := a.keys[id]
	if !known {
		return nil, fmt.Errorf("%w: %q", ErrUnknownKey, id)
	}
	return open(aead, rest, place)
}

// Overhead implements [Sealer].
func (a *AES) Overhead() int { return 1 + len(a.current) + a.keys[a.current].Overhead() }

func newAEAD(secret []byte) (cipher.AEAD, error) {
	if len(secret) != keySize {
		return nil, fmt.Errorf("the secret has %d bytes, and must have %d", len(secret), keySize)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal appends the sealed plaintext to a head.
func seal(aead cipher.AEAD, head, plaintext []byte, place Place) []byte {
	return aead.Seal(head, nil, plaintext, place.Bytes()) //nolint:gosec // this AEAD makes its nonces itself
}

func open(aead cipher.AEAD, sealed []byte, place Place) ([]byte, error) {
	plaintext, err := aead.Open(nil, nil, sealed, place.Bytes())
	if err != nil {
		return nil, errors.Join(ErrForged, err)
	}
	return plaintext, nil
}
