package overflow

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"
)

// Blobs keeps contents under names. All methods are safe for concurrent use and may be
// repeated.
//
// An error may be a [*persistence.Fault] that says whether the call can succeed later;
// any other counts as one that can.
type Blobs interface {
	// Put keeps the content under the name at least until expiresAt; zero is forever.
	// The same name always comes with the same content.
	Put(ctx context.Context, name string, content []byte, expiresAt time.Time) error

	// Get returns the content of a name. [ErrMissing] where there is none: only if that
	// is certain, because its result then counts as lost. It reads at most limit bytes,
	// and need not return more of a content that is longer.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)

	// Delete removes a name; it is done, with a nil error, also where there is none.
	Delete(ctx context.Context, name string) error
}

// Why a result is lost: see [LostError].
var (
	ErrMissing = errors.New("overflow: there is no such blob")
	ErrChanged = errors.New("overflow: the blob is not the result that was stored")
)

// LostError says that a finished record refers to a result that is not there any more.
type LostError struct {
	// Key of the record.
	Key string
	// Name of the blob.
	Name string
	// Err is [ErrMissing] or [ErrChanged].
	Err error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("overflow: the result of %s (blob %s) is lost: %v", e.Key, e.Name, e.Err)
}

// Unwrap returns why.
func (e *LostError) Unwrap() error { return e.Err }

// Name returns the name of the blob of a result: the hexadecimal SHA-256 of the record's
// key, a slash, and that of the result's digest and the owner. So one key's blobs
// share a folder, and a key that is readable shows in no name.
func Name(key, owner string, digest [sha256.Size]byte) string {
	return fmt.Sprintf("%x/%x", sha256.Sum256([]byte(key)), sha256.Sum256(append(digest[:], owner...)))
}
