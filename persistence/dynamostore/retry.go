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
	maxPause   = 400 * time.Millisecond
	// Of what is throttled the share that gets through is what there is room for, so who asks
	// more often gets more of it. Those that hold a record ask more often than claims.
	maxThrottledPause = 2 * firstPause
)

// request makes one request and returns the item that its answer brings.
type request func(context.Context) (item, error)

// Requests are repeated by two loops. The inner one is the SDK's, with the retryer that the
// client was given: it has its own pauses, its own end, and a quota that all calls of an
// environment share. What was throttled it leaves alone
// ([ownPauses]). The outer one is here. It begins where the inner one has given up, for whatever
// reason, and its pauses grow from one such end to the next, so that a table in
// trouble is asked a few times a second by each call. What it repeats, and for how long,
// depends on what the request is.

// patience is how a request is repeated.
type patience func(request, context.Context) (item, error)

// retryBusy repeats a request that the table was too busy for, a few times: it was throttled, or
// has met a transaction, and both are a matter of moments.
func (send request) retryBusy(ctx context.Context) (item, error) {
	return send.repeat(ctx, func(try int, err error) bool { return try < busyTries && busy(err) })
}

// persist repeats a write that recognises itself until the context's time is over: it has
// been decided already, by an effect that has happened as a rule, and the next one will not
// find out. It gives up where an answer is a refusal. Without a deadline it is repeated as
// often as one that the table is too busy for.
func (send request) persist(ctx context.Context) (item, error) {
	_, limited := ctx.Deadline()
	return send.persistFor(ctx, limited)
}

// untilThrottled is persist for a write that there is something else to do for where it is
// throttled.
func (send request) untilThrottled(ctx context.Context) (item, error) {
	_, limited := ctx.Deadline()
	return send.repeat(ctx, func(try int, err error) bool {
		return (limited || try < busyTries) && passing(err) && !throttled(err)
	})
}

// persistFor is persist with a context whose deadline may be another than the caller's.
func (send request) persistFor(ctx context.Context, limited bool) (item, error) {
	return send.repeat(ctx, func(try int, err error) bool {
		return (limited || try < busyTries) && passing(err)
	})
}

// repeat sends a request, and again while that says so of its last error. It stays within
// the context's deadline, and does not sleep until it: the last try is made halfway there.
func (send request) repeat(ctx context.Context, again func(try int, err error) bool) (item, error) {
	found, err := send.once(ctx)
	for try, pause := 1, firstPause; err != nil && ctx.Err() == nil && again(try, err); try, pause = try+1, min(2*pause, maxPause) {
		if throttled(err) {
			pause = min(pause, maxThrottledPause)
		}
		if !rest(ctx, pause) {
			return nil, err
		}
		found, err = send.once(ctx)
	}
	return found, err
}

// rest pauses for half of that time at least, and less than all of it. It returns false, and early, where there is
// no time for another try.
func rest(ctx context.Context, pause time.Duration) bool {
	rest := pause/2 + jitter(pause/2)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= rest {
		if rest = time.Until(deadline) / 2; rest < firstPause/2 {
			return false
		}
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once sends a request. The last answer outlives the context's deadline: it says more
// than "deadline exceeded".
func (send request) once(ctx context.Context) (item, error) {
	tried, watching := ctx.Value(triesKey{}).(*tries)
	if !watching {
		ctx, tried = watched(ctx)
	}
	tried.last = nil
	found, err := send(ctx)
	if last := tried.last; err != nil && ctx.Err() != nil && last != nil && !errors.Is(err, last) {
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
		if err == nil {
			return out, metadata, nil
		}
		if tried, ok := ctx.Value(triesKey{}).(*tries); ok {
			tried.note(err)
			if ctx.Err() == nil {
				tried.last = err
			}
		}
		return out, metadata, err
	})
	insert := func(stack *middleware.Stack) error { return stack.Finalize.Insert(limit, "Retry", middleware.After) }
	return func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, insert) }
}

// lateError is that of a request without an answer. The SDK asks it whether to
// try again.
type lateError struct{ timeout time.Duration }

func (e *lateError) Error() string { return fmt.Sprintf("no answer within %v", e.timeout) }

// RetryableError implements the SDK's retry.RetryableError.
func (e *lateError) RetryableError() bool { return true }
