package eventguard

import (
	"context"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// window is the time in which the records of a batch run. Zero times are no limit.
type window struct {
	lastStart time.Time // when a record may be started at the latest
	end       time.Time // when the contexts of running ones end
}

const (
	answering = time.Second // kept for settling the last records and answering
	starting  = 2           // times as long, by default, a record must have
	fraction  = 10          // of the time that there is, answering takes no more than that
)

// window divides the time that there is until the function's deadline. Lambda
// kills a function that has not answered by then, and the whole batch fails.
func (c Config) window(ctx context.Context) window {
	deadline, ok := ctx.Deadline()
	if !ok {
		return window{}
	}
	left := max(deadline.Sub(wallClock()), 0)
	answer := min(answering, left/fraction)
	reserve := starting * answer
	if c.Reserve > 0 {
		reserve = max(min(c.Reserve, left/2), answer)
	}
	return window{lastStart: deadline.Add(-reserve), end: deadline.Add(-answer)}
}

// late says that it is too late to start a record, if it is. The clock is read each
// time: the timer of a frozen environment's context need not have fired.
func (w window) late(ctx context.Context) error {
	err := ctx.Err()
	if err == nil && !w.lastStart.IsZero() && !wallClock().Before(w.lastStart) {
		err = context.DeadlineExceeded
	}
	if err == nil {
		return nil
	}
	call, _ := idempotent.CallFrom(ctx)
	return &idempotent.NotStartedError{Key: call.Key, Err: err}
}

// bound is the context of a function. The lease is not bound by it: a function
// that goes on all the same is protected until Lambda kills it.
func (w window) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if w.end.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, w.end)
}

// wallClock is the time without Go's monotonic reading, which stands still while
// an environment is frozen.
func wallClock() time.Time { return time.Now().Round(0) }
