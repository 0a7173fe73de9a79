package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// execution is the durable execution that a call belongs to: one request that is made of
// many invocations of the function, one after the other, and may take a year. Its record is
// the execution's from the first invocation to the last: a later one takes it over at once,
// and whoever had it before can record nothing any more.
type execution struct {
	arn     string
	started time.Time // zero where it is not known
	resumes bool      // there have been invocations before
}

// longestExecution is the longest ExecutionTimeout that Lambda takes.
const longestExecution = 31_622_400 * time.Second

// prefix is how the owners of all claims of the execution begin. An ARN has no number sign.
func (x *execution) prefix() string { return strings.ReplaceAll(x.arn, "#", "%23") + "#" }

// claim makes a claim one of the execution: for as long as that may live, since nothing is
// written when it is suspended, and nobody but its owner can tell that it is over.
func (x *execution) claim(c *persistence.Claim) {
	if x == nil {
		return
	}
	c.Execution = x.prefix()
	c.Owner = c.Execution + c.Owner
}

// leaseEnd is when nothing of the execution can be under way any more.
func (x *execution) leaseEnd(now time.Time, timeout time.Duration) time.Time {
	started := x.started
	if started.IsZero() || started.After(now) {
		started = now
	}
	return ceil(started.Add(timeout), time.Millisecond)
}

// errExecutionFailed is the failure of an execution that has answered with it: nothing of it
// is invoked again.
var errExecutionFailed = errors.New("idempotent: the durable execution has failed")

// entering marks a context that is a durable function's own, so that all that are made of it
// are known, too. Nothing in there tells whether the execution is suspended: its SDK says it by
// an error like others, which the function may drop, and answers PENDING all the same.
func entering(ctx context.Context) context.Context {
	if _, durable := ctx.(interface {
		ExecutionArn() string
		IsReplaying() bool
	}); durable {
		return context.WithValue(ctx, enteredKey{}, true)
	}
	return ctx
}

type enteredKey struct{}

// errInside is the answer to a call in a durable function, beside its steps.
var errInside = &ConfigError{Field: "Call.context", Problem: "is a durable function's own, in which nobody can tell a suspension from an end: " +
	"wrap the whole durable handler with Guard.Handler, and guard what a durable step does with the context of that step"}

// within returns the context of a durable function, in which nothing can be enlisted: its steps
// do not run again, and what one of them had enlisted would be lost with its invocation.
func (x *execution) within(ctx context.Context) context.Context {
	if x == nil {
		return ctx
	}
	return storekit.WithEnlistment(ctx, nil)
}

// refuseDurable refuses what a durable function can't have.
func (g *Guard) refuseDurable(ctx context.Context, of *execution) error {
	switch {
	case of == nil && ctx.Value(enteredKey{}) != nil:
		return errInside
	case of == nil:
		return nil
	case g.config.Steps != nil:
		return &ConfigError{Field: "Steps", Problem: "are declared, and the function is durable: its steps are those of its execution"}
	case g.config.OnlyEnlists:
		return &ConfigError{Field: "OnlyEnlists", Problem: "is set, and the function is durable: nothing can be enlisted in it: see docs/durable.md"}
	default:
		return nil
	}
}

// resultLost tells whether a finished record is the execution's own, whose answer has been lost,
// and does not have the result. The function does: its steps return what they have returned.
func (x *execution) resultLost(r persistence.Record) bool {
	return x != nil && r.Status == persistence.StatusCompleted && r.ResultOmitted && strings.HasPrefix(r.Owner, x.prefix())
}

// answerAgain runs the function of an execution whose record is finished, for its answer.
func (g *Guard) answerAgain(ctx context.Context, b budget, r persistence.Record, run body) error {
	if err := b.late(ctx, r.Key); err != nil {
		return err
	}
	g.report(ctx, Event{Kind: EventResumed, Key: r.Key, Attempt: r.Attempt})
	c := g.newCalling(r.Key, r.Attempt)
	_, err := g.runWithout(ctx, b, c, g.openUnrecorded(b, c), run, new(effect))
	return err
}

// suspend leaves the record to the execution, as it is: its next invocation finds it.
func (t *tenure) suspend(ctx context.Context, cause error) {
	t.settled = true
	if isSuspension(cause) {
		cause = nil // as it should be
	}
	t.report(ctx, EventSuspended, cause)
}

// unrecorded is the error of a call that has failed, where its record does not say so. An
// execution ends with the answer that it has failed, and then nobody would ever give its key up:
// with an error it is invoked again.
func (t *tenure) unrecorded(op string, failure, err error) error {
	if errors.Is(err, persistence.ErrLeaseLost) {
		return &LeaseLostError{Key: t.record.Key, Failure: failure, Err: err}
	}
	return &StoreError{Op: op, Key: t.record.Key, Retryable: persistence.Retryable(err), Err: err}
}

// instant is a time as the durable execution service writes it: a text, or a number since
// 1970, of milliseconds or seconds.
type instant struct{ time.Time }

// UnmarshalJSON implements [json.Unmarshaler]. What it can't read is the zero time.
func (i *instant) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		i.Time, _ = time.Parse(time.RFC3339Nano, text)
		return nil
	}
	const milliseconds = 1e11 // as seconds it would be the year 5138
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n > 0 {
		if n < milliseconds {
			n *= 1000
		}
		i.Time = time.UnixMilli(int64(n))
	}
	return nil
}
