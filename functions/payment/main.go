// Command payment is the Lambda function behind POST /payments of an HTTP API. A
// payment whose request arrives twice is charged once.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	handler, err := wire(context.Background())
	if err != nil {
		slog.Error("payment: can't start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

// wire builds the function from its environment: IDEMPOTENCY_TABLE and
// PAYMENTS_TABLE, what the AWS SDK reads, and the simulated provider's settings.
func wire(ctx context.Context) (lambda.Handler, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	client := dynamodb.NewFromConfig(aws)
	store, err := dynamostore.New(client, dynamostore.Config{Table: os.Getenv("IDEMPOTENCY_TABLE")})
	if err != nil {
		return nil, fmt.Errorf("IDEMPOTENCY_TABLE: %w", err)
	}
	payments, err := newTable(client, os.Getenv("PAYMENTS_TABLE"))
	if err != nil {
		return nil, fmt.Errorf("PAYMENTS_TABLE: %w", err)
	}
	provider, err := newSimulatedProvider(payments, os.Getenv("SIMULATED_PROVIDER"), os.Getenv("PROVIDER_IDEMPOTENT"))
	if err != nil {
		return nil, err
	}
	return newFunction(store, payments, provider)
}
