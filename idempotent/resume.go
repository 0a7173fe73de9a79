package idempotent

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/idempotent/internal/journal"
	"github.com/ikkai-go/idempotency/internal/resumption"
)

// errOtherRecord is why a kept event is not run that has another key than its record has.
var errOtherRecord = errors.New("the event was sent to resume a record, and has another key: Operation, Key or Dialect have changed since it was kept; it would run as a new request")

// resumesOther tells whether the invocation is to resume a record (package persistence/records),
// and this call, its outermost, would run beside it under a key of its own: then what the first
// run has done would be done again. Calls that the function makes of other operations are
// not meant.
func (g *Guard) resumesOther(ctx context.Context, key string) bool {
	caller, ok := lambdacontext.FromContext(ctx)
	if !ok {
		return false
	}
	want := resumption.Wanted(caller.ClientContext.Custom)
	switch {
	case want == "", want == key, journal.FrameFrom(ctx) != nil:
		return false
	default:
		return g.config.KeepEvent || strings.HasPrefix(want, g.config.Operation+"#")
	}
}
