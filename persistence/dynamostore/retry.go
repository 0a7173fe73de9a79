package dynamostore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

const (
	busyTries  = 6
	firstPause = 50 * time.Millisecond
)

// request makes one request and returns the item that its answer brings.
type request func(context.Context) (item, error)

// retryBusy repeats a request that the table was too busy for. The SDK repeats
// throttled requests a few times and conflicts with a transaction not at all,
// but both are a matter of moments. It stays within the context's deadline.
func retryBusy(ctx context.Context, send request) (item, error) {
	found, err := send.once(ctx)
	for try, pause := 1, firstPause; try < busyTries && busy(err); try, pause = try+1, 2*pause {
		timer := time.NewTimer(pause/2 + jitter(pause/2))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
		found, err = send.once(ctx)
	}
	return found, err
}

// once sends a request. The last answer outlives the context's deadline: it says more
// than "deadline exceeded".
func (send request) once(ctx context.Context) (item, error) {
	var last error
	found, err := send(context.WithValue(ctx, lastAnswer{}, &last))
	if err != nil && ctx.Err() != nil && last != nil && !errors.Is(err, last) {
		return nil, errors.Join(last, err) // the SDK was cut short while it paused
	}
	return found, err
}

// jitter is a random time shorter than limit. It comes from the source that the
// SDK's own pauses use, because that one can be seeded (testing/cryptotest): a
// simulation of many callers can then be replayed.
func jitter(limit time.Duration) time.Duration {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return time.Duration(binary.NativeEndian.Uint64(random[:]) % uint64(limit))
}

// limitRequests bounds each try that the SDK makes. Without a bound it waits for
// an answer until the context ends, which is when Lambda kills the process. A try
// that is too late is repeated by the SDK like one whose connection broke: whether
// it was applied is not known, and a write recognises itself.
func limitRequests(timeout time.Duration) func(*dynamodb.Options) {
	limit := middleware.FinalizeMiddlewareFunc("RequestTimeout", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		limited, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		out, metadata, err := next.HandleFinalize(limited, in)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			err = &lateError{timeout}
		}
		if tried, ok := ctx.Value(triesKey{}).(*tries); ok && err != nil {
			tried.note(err)
		}
		if last, ok := ctx.Value(lastAnswer{}).(*error); ok && err != nil && ctx.Err() == nil {
			*last = err
		}
		return out, metadata, err
	})
	insert := func(stack *middleware.Stack) error { return stack.Finalize.Insert(limit, "Retry", middleware.After) }
	return func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, insert) }
}

// lastAnswer is the context's key of where a try leaves its error.
type lastAnswer struct{}

// lateError is that of a request without an answer. The SDK asks it whether to
// try again.
type lateError struct{ timeout time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("no answer within %v", e.timeout) }

// RetryableError implements the SDK's retry.RetryableError.
func (e *lateError) RetryableError() bool { return true }
