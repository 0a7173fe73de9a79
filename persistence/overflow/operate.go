package overflow

import (
	"context"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

var _ storekit.Opener = (*Store)(nil)

// Open implements [storekit.Opener]: it puts the result in the place of a reference.
func (s *Store) Open(ctx context.Context, r persistence.Record) (persistence.Record, error) {
	return s.load(ctx, "open", r)
}
