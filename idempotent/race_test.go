package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// 200 callers of one key: one runs, and each of the others is told to come back
// or gets a replay.
func TestTwoHundredCallersOfOneKeyRunOnce(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		guard := newTestGuard(t, store, idempotent.Config{})
		var runs, replays, inProgress atomic.Int32
		handler := guard.Handler(func(context.Context, order) (string, error) {
			runs.Add(1)
			return "done", nil
		})
		start := make(chan struct{})
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				<-start
				response, err := handler.Invoke(t.Context(), []byte(`{"id":"1"}`))
				switch {
				case err == nil && string(response) == `"done"`:
					replays.Add(1)
				case errors.Is(err, idempotent.ErrInProgress):
					inProgress.Add(1)
				default:
					t.Errorf("got %s, %v", response, err)
				}
			})
		}
		close(start)
		callers.Wait()
		if runs.Load() != 1 || replays.Load()+inProgress.Load() != 200 || replays.Load() < 1 {
			t.Errorf("%d runs, %d answers, %d in progress", runs.Load(), replays.Load(), inProgress.Load())
		}
	})
}

// With patience every one of them gets the one answer.
func TestTwoHundredPatientCallersGetOneAnswer(t *testing.T) {
	lab.InVirtualTime(t, func(t *testing.T, store persistence.Store) {
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{Wait: time.Minute})
		var runs atomic.Int32
		var callers sync.WaitGroup
		for range 200 {
			callers.Go(func() {
				got, err := idempotent.Do(within(t, 2*time.Minute), guard, "k", func(context.Context) (int32, error) {
					time.Sleep(3 * time.Second) // virtual
					return runs.Add(1), nil
				})
				if err != nil || got != 1 {
					t.Errorf("got %v, %v", got, err)
				}
			})
		}
		callers.Wait()
	})
}

// 50 guards with configs of their own share one store and never a record.
func TestFiftyGuardsShareAStore(t *testing.T) {
	lab.OnEveryStore(t, func(t *testing.T, store persistence.Store) {
		var callers sync.WaitGroup
		for i := range 50 {
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{
				Operation: fmt.Sprint("operation-", i),
				TTL:       time.Duration(i+1) * time.Hour,
				Lease:     time.Duration(i+1) * time.Minute,
				ClockSkew: time.Duration(i+1) * time.Millisecond,
				ReadFirst: i%2 == 0,
			})
			for range 4 {
				callers.Go(func() {
					got, err := idempotent.Do(t.Context(), guard, "the same key", func(context.Context) (int, error) { return i, nil })
					if !errors.Is(err, idempotent.ErrInProgress) && (err != nil || got != i) {
						t.Errorf("operation %d got %d, %v", i, got, err)
					}
				})
			}
		}
		callers.Wait()
	})
}

// Concurrent invocations of one handler, as Lambda managed instances make them,
// never mix up their responses: neither those of a function nor those of a
// handler that lambda.NewHandler made, whose responses share a buffer.
func TestConcurrentInvocationsKeepTheirResponses(t *testing.T) {
	echo := func(_ context.Context, o order) (order, error) { return o, nil }
	for name, handler := range map[string]any{"function": echo, "handler": lambda.NewHandler(echo)} {
		t.Run(name, func(t *testing.T) {
			guarded := newTestGuard(t, persistence.NewMemory(), idempotent.Config{}).Handler(handler)
			var callers sync.WaitGroup
			for i := range 200 {
				callers.Go(func() {
					payload := fmt.Sprintf(`{"id":"id-%d","amount":%d}`, i, i+1)
					for range 3 {
						if got, err := guarded.Invoke(t.Context(), []byte(payload)); err != nil || string(got) != payload {
							t.Errorf("got %s, %v, want %s", got, err, payload)
						}
					}
				})
			}
			callers.Wait()
		})
	}
}
