package eventguard

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Backoff gives a message that comes back a visibility timeout of its own: a failed one comes
// back later each time, and one that another environment is running when that may be over, so
// that waiting for it uses up no deliveries. The zero Backoff leaves all of them to the queue.
type Backoff struct {
	// Change changes when messages of a queue are visible again: at most ten in a call, each
	// in flight. Package sqsvisibility has one. Its error is logged, and changes nothing else:
	// the messages come back when the queue says. It has to end with its context, which leaves
	// time for the answer, and must be safe for concurrent use. Nil is no back-off.
	Change func(ctx context.Context, queueARN string, messages []Delay) error

	// First is after how long a message comes back that has been received once. It doubles
	// with each time, up to Longest; half of it is random. Where another run of the request is
	// under way, the message comes back when the lease of that is over, and each time after
	// four times as long. Defaults to 30 seconds, and to 15
	// minutes. Longest is at most eleven hours, since SQS hides a message for no longer than
	// twelve, counted from when it was received.
	First, Longest time.Duration
}

// Delay says when a message is to be visible again.
type Delay struct {
	// ReceiptHandle is that of the delivery.
	ReceiptHandle string
	// After is how long from now; whole seconds.
	After time.Duration
}

const (
	defaultFirst      = 30 * time.Second
	defaultLongest    = 15 * time.Minute
	longestVisibility = 11 * time.Hour
	// mostDelays is what SQS takes in one request.
	mostDelays = 10
)

func (b Backoff) withDefaults() Backoff {
	b.Longest = cmp.Or(b.Longest, max(defaultLongest, b.First))
	b.First = cmp.Or(b.First, min(defaultFirst, b.Longest))
	return b
}

// problem says what is wrong with a Backoff as it was given; empty where nothing is.
func (b Backoff) problem() string {
	given := b
	b = b.withDefaults()
	switch {
	case given.Change == nil && (given.First != 0 || given.Longest != 0):
		return "is without Change, and does nothing"
	case b.First < time.Second || b.Longest < b.First || b.Longest > longestVisibility:
		return "wants a First of at least a second, and a Longest that is not shorter, nor longer than eleven hours"
	}
	return ""
}

// after is when a message is to come back that was received so often; zero where the queue
// decides: what would get the same answer again is in no hurry, and gets no later to the
// dead-letter queue.
func (b Backoff) after(v idempotent.Verdict, err error, receives int) time.Duration {
	if !v.Retry {
		return 0
	}
	again := max(receives, 1) - 1
	held, ok := errors.AsType[*idempotent.InProgressError](err)
	if !ok {
		wait := grown(b.First, again, b.Longest)
		return ceilSeconds(min(max(wait-rand.N(wait/2+1), v.After), b.Longest))
	}
	// A run that has died is not in the way any more then. One that still is has renewed its
	// lease since, and is asked for four times later: so the five deliveries that a queue
	// should have at least outlast any run of a Lambda function.
	left := max(time.Until(held.LeaseUntil), v.After, b.First)
	return ceilSeconds(min(grown(left, 2*again, b.Longest)+rand.N(b.First), b.Longest))
}

// grown is a duration doubled so often, up to a limit.
func grown(d time.Duration, times int, limit time.Duration) time.Duration {
	for ; times > 0 && d < limit; times-- {
		d *= 2
	}
	return min(d, limit)
}

func ceilSeconds(d time.Duration) time.Duration {
	return max((d + time.Second - 1).Truncate(time.Second), time.Second)
}

// delays says when the failed messages of an event come back, by queue. Those of a FIFO queue
// that were held back come back with the one that has failed: a group is delivered no sooner
// than the last of its messages is visible.
func (b Backoff) delays(messages []events.SQSMessage, errs []error) map[string][]Delay {
	later := make(map[string][]Delay)
	ofGroup := make(map[any]time.Duration)
	for i, message := range messages {
		if errs[i] == nil {
			continue
		}
		group := groupOf(message)
		after := ofGroup[group]
		if group == nil || !errors.Is(errs[i], ErrHeldBack) {
			after = b.after(verdictOf(errs[i]), errs[i], received(message))
			ofGroup[group] = after
		}
		if after > 0 && message.ReceiptHandle != "" {
			later[message.EventSourceARN] = append(later[message.EventSourceARN], Delay{message.ReceiptHandle, after})
		}
	}
	return later
}

// received is how often a message was received, as far as SQS knows.
func received(message events.SQSMessage) int {
	n, err := strconv.Atoi(message.Attributes["ApproximateReceiveCount"])
	if err != nil {
		return 1
	}
	return n
}

// backOff changes when the failed messages of an event are visible again, as far as there is
// time left for that. The answer is the same whatever comes of it.
func (p processor) backOff(ctx context.Context, messages []events.SQSMessage, errs []error) {
	if p.config.Backoff.Change == nil {
		return
	}
	ctx, cancel := spare(ctx)
	defer cancel()
	var later map[string][]Delay
	err := contain(func() error { // errors are the user's
		later = p.config.Backoff.delays(messages, errs)
		return nil
	})
	if err != nil {
		p.unchanged(ctx, "", len(messages), err)
	}
	for queue, delays := range later {
		for len(delays) > 0 {
			some, err := delays[:min(mostDelays, len(delays))], ctx.Err()
			if err == nil {
				err = contain(func() error { return p.config.Backoff.Change(ctx, queue, some) })
			} else {
				some = delays // there may be thousands
			}
			if err != nil {
				p.unchanged(ctx, queue, len(some), err)
			}
			delays = delays[len(some):]
		}
	}
}

// unchanged tells that messages come back when their queue says.
func (p processor) unchanged(ctx context.Context, queue string, messages int, err error) {
	_ = contain(func() error { // and so are loggers
		p.logger().LogAttrs(ctx, slog.LevelWarn, "idempotency: visibility unchanged",
			slog.String("event", "visibility_unchanged"), slog.String("queue", queue), slog.Int("messages", messages), slog.Any("error", err))
		return nil
	})
}

// spare is half of the time until the context's deadline, and two seconds at most: the answer
// must not be late for what only makes it better.
func spare(ctx context.Context) (context.Context, context.CancelFunc) {
	const most = 2 * time.Second
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithTimeout(ctx, most)
	}
	return context.WithTimeout(ctx, min(most, time.Until(deadline)/2))
}
