// Command wrapped charges a payment once, with the toolkit.
package main

import (
	"context"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	function, err := newFunction(dynamodb.NewFromConfig(cfg), os.Getenv("IDEMPOTENCY_TABLE"))
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(function)
}

func newFunction(client *dynamodb.Client, table string) (lambda.Handler, error) {
	store, err := dynamostore.New(client, dynamostore.Config{Table: table})
	if err != nil {
		return nil, err
	}
	guard, err := idempotent.New(store, idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id"),
	})
	if err != nil {
		return nil, err
	}
	return guard.Handler(payment.Charge), nil
}
