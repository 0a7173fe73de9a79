package idempotent

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
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

// executionFrom returns the execution that the context of a durable function belongs to.
// Contexts that are made of it do not tell.
func executionFrom(ctx context.Context) *execution {
	durable, ok := ctx.(interface{ ExecutionArn() string })
	if !ok || durable.ExecutionArn() == "" {
		return nil
	}
	x := &execution{arn: durable.ExecutionArn()}
	if replay, ok := ctx.(interface{ IsReplaying() bool }); ok {
		x.resumes = replay.IsReplaying()
	}
	return x
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
