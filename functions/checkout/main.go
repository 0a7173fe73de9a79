// Command checkout is the Lambda function behind POST /checkouts of an HTTP API:
// it reserves the goods, charges the card and confirms by e-mail. A checkout that
// arrives twice, or dies anywhere, goes on where it stopped, and the goods are back
// where the card is declined.
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
		slog.Error("checkout: can't start", "error", err)
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
		idempotencyTable:   os.Getenv("IDEMPOTENCY_TABLE"),
		salesTable:         os.Getenv("SALES_TABLE"),
		simulatedProvider:  os.Getenv("SIMULATED_PROVIDER"),
		providerIdempotent: os.Getenv("PROVIDER_IDEMPOTENT"),
		simulatedMail:      os.Getenv("SIMULATED_MAIL"),
		mailIdempotent:     os.Getenv("MAIL_IDEMPOTENT"),
	})
}
