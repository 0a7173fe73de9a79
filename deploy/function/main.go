// Command payout is a Lambda function that does what it is asked once, however often it is asked.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func main() {
	// JSON lines with the request's id. The alarms count lines by the attributes that the guard writes.
	slog.SetDefault(lambdacontext.NewLogger())
	function, err := wire(context.Background())
	if err != nil {
		slog.Error("payout: can't start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}

// wire builds the function from its environment: IDEMPOTENCY_TABLE, and what the AWS SDK reads.
func wire(ctx context.Context) (lambda.Handler, error) {
	store, _, err := dynamostore.FromEnvironment(ctx)
	if err != nil {
		return nil, err
	}
	return newFunction(store, standIn{})
}

// standIn is where the client of your service belongs.
type standIn struct{}

func (standIn) Do(ctx context.Context, key, what string) (string, error) {
	slog.InfoContext(ctx, "payout: done, if this were real", "what", what)
	sum := sha256.Sum256([]byte(key)) // the same for the same key, as the real one must answer
	return hex.EncodeToString(sum[:8]), nil
}
