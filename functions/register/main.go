// Command register is the Lambda function behind POST /users of an HTTP API. A
// registration that arrives twice makes one account and sends one welcome mail, and
// no e-mail address has two accounts, whatever becomes of the idempotency records.
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
		slog.Error("register: can't start", "error", err)
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
		eventSource:      os.Getenv("EVENT_SOURCE"),
		idempotencyTable: os.Getenv("IDEMPOTENCY_TABLE"),
		usersTable:       os.Getenv("USERS_TABLE"),
		simulatedMail:    os.Getenv("SIMULATED_MAIL"),
		mailIdempotent:   os.Getenv("MAIL_IDEMPOTENT"),
	})
}
