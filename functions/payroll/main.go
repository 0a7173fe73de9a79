// Command payroll is the Lambda function that a schedule starts each month to pay the
// salaries. It may be killed half-way, and started any number of times: nobody is paid
// twice, and who is left is paid by the next start, which Lambda makes by itself.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/payroll/salaries"
)

func main() {
	slog.SetDefault(lambdacontext.NewLogger())
	function, err := wire(context.Background())
	if err != nil {
		slog.Error("payroll: can't start", "error", err)
		os.Exit(1)
	}
	lambda.Start(function)
}

// wire builds the function from its environment: the settings, and what the AWS
// SDK reads.
func wire(ctx context.Context) (function, error) {
	aws, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	return newFunction(dynamodb.NewFromConfig(aws), salaries.Settings{
		IdempotencyTable: os.Getenv("IDEMPOTENCY_TABLE"),
		PayrollTable:     os.Getenv("PAYROLL_TABLE"),
		SimulatedBank:    os.Getenv("SIMULATED_BANK"),
		BankIdempotent:   os.Getenv("BANK_IDEMPOTENT"),
	})
}
