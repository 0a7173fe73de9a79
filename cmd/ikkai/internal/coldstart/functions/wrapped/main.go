// Command wrapped charges a payment once, with the toolkit.
package main

import (
	"context"
	"log"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

func main() {
	store, _, err := dynamostore.FromEnvironment(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	function, err := newFunction(store)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(function)
}

func newFunction(store persistence.Store) (lambda.Handler, error) {
	guard, err := idempotent.New(store, idempotent.Config{
		Operation: "payment",
		Key:       idempotency.MustJMESPath("payment_id"),
	})
	if err != nil {
		return nil, err
	}
	return guard.Handler(payment.Charge), nil
}
