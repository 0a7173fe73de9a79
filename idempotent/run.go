package idempotent

import (
	"context"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/persistence"
)

// runOf is what a record says of the run of a call: who looks for it in the logs finds it by
// function and request. Outside of Lambda neither is known. When it starts is fixed when the
// record is acquired.
func runOf(ctx context.Context) (run persistence.Run) {
	if lambdacontext.FunctionName != "" {
		run.Function = lambdacontext.FunctionName + ":" + lambdacontext.FunctionVersion
	}
	if caller, ok := lambdacontext.FromContext(ctx); ok {
		run.RequestID = caller.AwsRequestID
	}
	return run
}
