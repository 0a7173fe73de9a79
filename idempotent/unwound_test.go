package idempotent_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/internal/relay"
	"github.com/ikkai-go/idempotency/persistence"
)

// Leases are renewed on a goroutine of the guard's. What does not return there ends the call as it
// would anywhere else, when the function has returned, and not the process; what the function has
// done by then is recorded.
func TestWhatDoesNotReturnFromARenewalEndsTheCall(t *testing.T) {
	for way, ends := range map[string]func(){"a panic": func() { panic("broken") }, "an ended goroutine": runtime.Goexit} {
		for _, path := range []string{"the store", "an observer"} {
			t.Run(path+", "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory := persistence.NewMemory()
					store := lab.Before(memory, "renew", func() error {
						if path == "the store" {
							ends()
						}
						return nil
					})
					done := callThatRenews(t, store, idempotent.Config{Observe: func(_ context.Context, e idempotent.Event) {
						if e.Kind == idempotent.EventRenewed && path == "an observer" {
							ends()
						}
					}})
					if done.Returned() || way == "a panic" != done.Panicked {
						t.Errorf("the call ended with %+v", done)
					}
					if r := memory.Records(); len(r) != 1 || r[0].Status != persistence.StatusCompleted {
						t.Errorf("left %+v", r)
					}
				})
			})
		}
	}
}

// callThatRenews lasts for longer than half a lease, but for its context.
func callThatRenews(t *testing.T, store persistence.Store, config idempotent.Config) relay.Ending {
	guard := lab.NewKeylessGuard(t, store, config)
	return relay.Run(func() {
		_, _ = idempotent.Do(t.Context(), guard, "k", func(ctx context.Context) (string, error) {
			select {
			case <-ctx.Done(): // nobody renews the lease
			case <-time.After(5 * time.Minute):
				t.Error("the function was not told that its lease is not renewed")
			}
			return "paid", nil
		})
	})
}
