package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/sqlstore"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// A fail-over takes longer than a conflict: what recognises itself is sent again while the
// call has time, over new connections.
func TestStatementsAreSentAgainWhileTheCallHasTime(t *testing.T) {
	const failures = 12 // more than are made without a deadline
	onPostgreSQL(t, func(t *testing.T, d database) {
		for name, call := range map[string]func(context.Context, lab, persistence.Lease) error{
			"complete": func(ctx context.Context, s lab, l persistence.Lease) error {
				return s.Complete(ctx, l, completed("paid"))
			},
			"complete with a write": func(ctx context.Context, s lab, l persistence.Lease) error {
				return s.CompleteWith(ctx, l, completed("paid"), []storekit.Write{sqlstore.Write(func(context.Context, *sql.Tx) error { return nil })})
			},
			"checkpoint": func(ctx context.Context, s lab, l persistence.Lease) error {
				return s.Checkpoint(ctx, l, "reserve", nil)
			},
			"renew": func(ctx context.Context, s lab, l persistence.Lease) error {
				l.Until = now.Add(time.Hour)
				return s.Renew(ctx, l)
			},
			"release": func(ctx context.Context, s lab, l persistence.Lease) error { return s.Release(ctx, l) },
			"acquire": func(ctx context.Context, s lab, l persistence.Lease) error {
				again := claim(l.Owner)
				r, err := s.Acquire(ctx, again)
				if err == nil && r.Owner != l.Owner {
					err = errors.New("somebody else's")
				}
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var failing atomic.Int64
				store := newLab(t, d, losing(d, func(int, string) loss {
					if left := failing.Add(-1); left >= 0 {
						return []loss{request, reply}[left%2]
					}
					return nothing
				}))
				l := acquire(t, store, claim("me")).Lease()
				failing.Store(failures)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := call(ctx, store, l); err != nil || failing.Load() >= 0 {
					t.Errorf("got %v with %d failures to come", err, failing.Load())
				}
			})
		}
	})
}
