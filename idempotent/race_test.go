package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

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

// A handler of lambda.NewHandler that calls itself would wait for its own turn, without a
// deadline for ever. A function may call itself with another request, and with its own it is a
// duplicate of itself.
func TestAHandlerThatCallsItself(t *testing.T) {
	for name, own := range map[string]struct {
		wrap func(any) any
		want error
	}{
		"handler":  {func(f any) any { return lambda.NewHandler(f) }, idempotent.ErrConfig},
		"function": {func(f any) any { return f }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var guarded lambda.Handler
			guarded = newTestGuard(t, persistence.NewMemory(), idempotent.Config{}).Handler(own.wrap(func(ctx context.Context, o order) (order, error) {
				if o.Amount == 0 {
					return o, nil
				}
				_, err := guarded.Invoke(ctx, fmt.Appendf(nil, `{"id":"id-%d"}`, o.Amount))
				return o, err
			}))
			if _, err := guarded.Invoke(t.Context(), []byte(`{"id":"outer","amount":1}`)); !errors.Is(err, own.want) {
				t.Errorf("the error is %v, want %v", err, own.want)
			}
		})
	}
}
