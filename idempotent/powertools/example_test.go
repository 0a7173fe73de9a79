package powertools_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// A Python function has completed an order; the Go function that replaces it replays
// the result, and does new orders itself, for both.
func ExamplePython() {
	ctx := context.Background()
	peer, err := powertools.Python(powertools.Options{
		FunctionName: "orders",
		Function:     "app.lambda_handler",
		EventKey:     "powertools_json(body).order_id",
		Version:      "3.37.0",
		Table:        dynamostore.Config{Table: "idempotency"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	db := dynamotest.Open()
	if err := dynamostore.CreateTable(ctx, db.Client(), peer.Table()); err != nil {
		fmt.Println(err)
		return
	}
	// What the Python function has written for order o-1.
	if err := db.Seed("idempotency", map[string]types.AttributeValue{
		"id":         &types.AttributeValueMemberS{Value: "orders.app.lambda_handler#cbcbdb948de16bfe7e49a81f91500ab1"},
		"status":     &types.AttributeValueMemberS{Value: "COMPLETED"},
		"expiration": &types.AttributeValueMemberN{Value: "4102444800"},
		"data":       &types.AttributeValueMemberS{Value: `{"paid": 5}`},
	}); err != nil {
		fmt.Println(err)
		return
	}

	store, err := peer.Store(db.Client())
	if err != nil {
		fmt.Println(err)
		return
	}
	guard, err := idempotent.New(store, peer.Config(idempotent.Config{Operation: "orders"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := guard.Handler(func(context.Context, map[string]string) (map[string]int, error) {
		fmt.Println("paying")
		return map[string]int{"paid": 7}, nil
	})
	for _, order := range []string{"o-1", "o-2", "o-2"} {
		response, err := handler.Invoke(ctx, fmt.Appendf(nil, `{"body": "{\"order_id\": \"%s\"}"}`, order))
		fmt.Println(order, string(response), err)
	}
	// Output:
	// o-1 {"paid": 5} <nil>
	// paying
	// o-2 {"paid":7} <nil>
	// o-2 {"paid":7} <nil>
}

// Before the switch: does an event have the key that the table has for it?
func ExampleTypeScript() {
	peer, err := powertools.TypeScript(powertools.Options{
		FunctionName: "orders",
		EventKey:     "[user, order.id]",
		Validation:   "order",
		Table:        dynamostore.Config{Table: "idempotency"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	event := []byte(`{"user": "u-1", "order": {"id": 17, "Qty": 2.0, "amount": 12.50}}`)
	hashed, err := peer.HashInput(event)
	fmt.Println(hashed, err)
	key, validation, err := peer.Identify(event)
	fmt.Println(key, validation, err)
	// Output:
	// ["u-1",17] <nil>
	// orders#fQP+mTttgsF/IxrTwMtrXQ== O14/rdDEyg255DU+BGXcOg== <nil>
}

// What can't be had exactly is refused, not approximated.
func ExampleOptions() {
	_, err := powertools.TypeScript(powertools.Options{
		FunctionName: "orders",
		EventKey:     "decrypt(token)", // a function of the application's own
		Hash:         "ripemd160",
		Table:        dynamostore.Config{Table: "idempotency"},
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, powertools.ErrInexact))
	// Output:
	// powertools: Options.EventKey "decrypt(token)": the function "decrypt" is not one of JMESPath's or Powertools' own
	// powertools: Options.Hash "ripemd160" is not one of blake2b512, blake2s256, md5, sha1, sha224, sha256, sha3-224, sha3-256, sha3-384, sha3-512, sha384, sha512, sha512-224, sha512-256
	// true
}

// The key of a request that is known by a string, such as a header.
func ExamplePeer_Key() {
	peer, err := powertools.Python(powertools.Options{KeyPrefix: "orders", EventKey: "order_id", Table: dynamostore.Config{Table: "idempotency"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	one, err := peer.Key("o-1")
	fmt.Println(one, err)
	same, _, err := peer.Identify([]byte(`{"order_id": "o-1"}`))
	fmt.Println(same, err)
	// Output:
	// orders#cbcbdb948de16bfe7e49a81f91500ab1 <nil>
	// orders#cbcbdb948de16bfe7e49a81f91500ab1 <nil>
}
