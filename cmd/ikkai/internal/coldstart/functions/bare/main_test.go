package main

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/cmd/ikkai/internal/coldstart/functions/payment"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// newFunction has a table of its own.
func newFunction(t *testing.T) function {
	t.Helper()
	db := dynamotest.New(t)
	f := function{client: db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }), table: "idempotency"}
	if err := dynamostore.CreateTable(t.Context(), f.client, dynamostore.Config{Table: f.table}); err != nil {
		t.Fatal(err)
	}
	return f
}

var (
	order   = payment.Order{PaymentID: "p-1", Amount: 1205}
	receipt = payment.Receipt{PaymentID: "p-1", Charged: 1205}
)

func TestARepeatedOrderIsAnsweredFromItsRecord(t *testing.T) {
	f := newFunction(t)
	again := order
	again.Amount = 99 // which shows who answers
	for _, o := range []payment.Order{order, again} {
		if got, err := f.charge(t.Context(), o); got != receipt || err != nil {
			t.Errorf("charged %+v, %v, want %+v", got, err, receipt)
		}
	}
}

func TestAnOrderIsNotChargedWhereItsRecord(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, *function){
		"is in progress": func(t *testing.T, f *function) {
			if _, err := f.begin(t.Context(), "payment#p-1"); err != nil {
				t.Fatal(err)
			}
		},
		"has no table": func(_ *testing.T, f *function) { f.table = "nowhere" },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunction(t)
			prepare(t, &f)
			if got, err := f.charge(t.Context(), order); err == nil {
				t.Errorf("charged %+v, want an error", got)
			}
		})
	}
}
