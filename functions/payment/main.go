// Command payment is the Lambda function behind POST /payments of an HTTP API. A
// payment whose request arrives twice is charged once.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	function, err := wire(context.Background())
	if err != nil {
		slog.Error("payment: can't start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}

// wire builds the function from its environment: the settings, and what the AWS
// SDK reads.
func wire(ctx context.Context) (function any, err error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return newFunction(dynamodb.NewFromConfig(aws), settings{
		eventSource:        os.Getenv("EVENT_SOURCE"),
		idempotencyTable:   os.Getenv("IDEMPOTENCY_TABLE"),
		paymentsTable:      os.Getenv("PAYMENTS_TABLE"),
		keyScope:           os.Getenv("KEY_SCOPE"),
		simulatedProvider:  os.Getenv("SIMULATED_PROVIDER"),
		providerIdempotent: os.Getenv("PROVIDER_IDEMPOTENT"),
	})
}
