package operate

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// skew is how far this machine's clock was ahead of DynamoDB's when that answered last, by the
// answer's Date, which has whole seconds. Whether a lease is over is judged by this machine's clock:
// one that is ahead takes live runs for dead ones. The SDK signs by the service's clock where
// they differ, so that requests do not fail for it.
type skew struct{ ahead atomic.Int64 }

func (s *skew) watch(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("ikkai:skew", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleInitialize(ctx, in)
		server, told := awsmiddleware.GetServerTime(metadata)
		answered, known := awsmiddleware.GetResponseAt(metadata)
		if told && known {
			s.ahead.Store(int64(answered.Sub(server)))
		}
		return out, metadata, err
	}), middleware.Before)
}

// check refuses to write by a clock that is wrong by more than a margin.
func (s *skew) check(margin time.Duration) error {
	ahead := time.Duration(s.ahead.Load())
	if ahead > margin+time.Second || -ahead > margin {
		return fmt.Errorf("this machine's clock is %v from DynamoDB's, and may be wrong by %v (--margin): a run under way would be taken for one that has died. Nothing was done; set the clock", ahead.Round(time.Second).Abs(), margin)
	}
	return nil
}
