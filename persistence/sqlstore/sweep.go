package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
)

// Sweep removes records that have expired before a point in time, limit of them at most,
// the oldest first, and returns how many it has removed. It is housekeeping: expired
// records count as absent whether they are there or not. Call it from a scheduled
// function, again while it returns limit; several may run at once.
//
// The point in time should lie behind the clock by more than clocks differ: who removes a
// record that has not expired by somebody else's clock lets that one run again. An hour
// costs nothing.
func (s *Store) Sweep(ctx context.Context, expiredBefore time.Time, limit int) (removed int, err error) {
	if limit < 1 {
		return 0, fmt.Errorf("%w: a sweep of at most %d records", persistence.ErrInvalid, limit)
	}
	done, err := s.db.ExecContext(ctx, s.statement.expire, expiredBefore.Unix(), expiredBefore.UnixMilli(), limit)
	if err != nil {
		return 0, fault("sweep", err)
	}
	rows, err := done.RowsAffected()
	return int(rows), fault("sweep", err)
}
