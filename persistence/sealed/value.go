package sealed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// form marks the envelopes of this package, and their version.
const (
	family = "sealed/"
	form   = family + "1"
)

// seal returns a value in its envelope.
func (s *Store) seal(ctx context.Context, plaintext []byte, place Place) ([]byte, error) {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	sealed, err := s.sealer.Seal(ctx, plaintext, place)
	if err != nil {
		return nil, err
	}
	return storekit.Envelope(form, sealed), nil
}

// open returns the value in an envelope. Its error is a Fault.
func (s *Store) open(ctx context.Context, op string, stored []byte, place Place) ([]byte, error) {
	plaintext, err := s.opened(ctx, stored, place)
	if err != nil {
		return nil, &persistence.Fault{Op: op, Retryable: retryable(err), Err: fmt.Errorf("%w: %w", persistence.ErrUnreadable, err)}
	}
	return plaintext, nil
}

func (s *Store) opened(ctx context.Context, stored []byte, place Place) ([]byte, error) {
	got, sealed, ok := storekit.OpenEnvelope(stored)
	switch {
	case ok && got == form:
		ctx, cancel := s.limit(ctx)
		defer cancel()
		return s.sealer.Open(ctx, sealed, place)
	case ok && strings.HasPrefix(got, family):
		return nil, fmt.Errorf("%w: it has the form %q", ErrForged, got)
	case s.config.Unsealed == AcceptUnsealed:
		return stored, nil
	default:
		return nil, ErrNotSealed
	}
}

func retryable(err error) bool {
	for _, final := range []error{ErrForged, ErrUnknownKey, ErrNotSealed} {
		if errors.Is(err, final) {
			return false
		}
	}
	return persistence.Retryable(err)
}

// limit bounds a call of the sealer.
func (s *Store) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := s.config.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline)/2)
	}
	return context.WithTimeout(ctx, timeout)
}

// unsealedError says that a result could not be sealed. To the caller that is a result
// which the store can't hold.
type unsealedError struct{ err error }

func (e *unsealedError) Error() string {
	return fmt.Sprintf("sealed: the result could not be sealed: %v", e.err)
}

// Is reports whether target is [persistence.ErrTooLarge].
func (e *unsealedError) Is(target error) bool { return target == persistence.ErrTooLarge }

// Unwrap returns the sealer's error.
func (e *unsealedError) Unwrap() error { return e.err }
