package storekit

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
)

// Refresher is a [persistence.Reader] that remembers records, and can be asked past its memory.
type Refresher interface {
	// Refresh is Read, of the store behind.
	Refresh(ctx context.Context, key string) (persistence.Record, bool, error)
}

// BatchReader is a [persistence.Reader] that looks at many records for less than one by one.
type BatchReader interface {
	// ReadMany returns records of some keys, each once and in no order, and writes nothing. What
	// it says of a record is what Read says, so nothing but a finished, unexpired one may be
	// relied on. A record that it does not return may be there all the same: it can't be read,
	// which loses none of the others, it is dear to get, or there was no room or no time for it.
	// How much it brings is bounded (see [ReadInParts]). Keys may repeat; those that no record can
	// have are left out. With an error it returns what it has found before; where the context is
	// over, that is a [*persistence.Fault] which may be repeated.
	ReadMany(ctx context.Context, keys []string) ([]persistence.Record, error)
}

// Sizer is a [persistence.Checkpointer] whose records hold only so much, and that knows
// beforehand how much.
type Sizer interface {
	// Room is how many bytes the next step of the record of a lease can take besides
	// l.Steps and l.Reserve; negative if these are too large already. A step takes
	// the length of its name and of its output, and [StepOverhead].
	Room(l persistence.Lease) int
}

// StepOverhead is what a step takes of a record in addition to its name and its
// output, in bytes.
const StepOverhead = 1

// Literal is a store that may keep results as values of somebody else's format, which
// has no envelopes. A store that is none keeps whatever bytes it is given.
type Literal interface {
	// HoldsEnvelopes tells whether the store can keep an [Envelope].
	HoldsEnvelopes() bool
}

// HoldsEnvelopes tells whether a store can keep an [Envelope]. What is put in front of
// one that can't, and makes envelopes, would lose every result.
func HoldsEnvelopes(s persistence.Store) bool {
	literal, ok := s.(Literal)
	return !ok || literal.HoldsEnvelopes()
}
