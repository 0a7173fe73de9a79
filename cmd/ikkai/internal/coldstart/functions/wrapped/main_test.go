package main

import (
	"testing"

	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestARepeatedOrderIsAnsweredFromItsRecord(t *testing.T) {
	client := dynamotest.New(t).Client()
	if err := dynamostore.CreateTable(t.Context(), client, dynamostore.Config{Table: "idempotency"}); err != nil {
		t.Fatal(err)
	}
	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		t.Fatal(err)
	}
	function, err := newFunction(store)
	if err != nil {
		t.Fatal(err)
	}
	const receipt = `{"payment_id":"p-1","charged":1205}`
	for _, event := range []string{
		`{"payment_id":"p-1","amount":1205}`,
		`{"payment_id":"p-1","amount":99}`, // whose amount shows who answers
	} {
		if got, err := function.Invoke(t.Context(), []byte(event)); string(got) != receipt || err != nil {
			t.Errorf("charged %s, %v, want %s", got, err, receipt)
		}
	}
}
