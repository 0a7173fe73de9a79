package idempotent_test

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// A durable function is one request made of many invocations. While its execution is suspended,
// another one of the same order is turned away.
func ExampleGuard_Handler_durable() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{
		Operation: "checkout",
		Key:       idempotency.MustJMESPath("order_id"),
	})
	if err != nil {
		panic(err)
	}
	answer := `{"Status":"PENDING"}`
	checkout := func(context.Context, []byte) ([]byte, error) { // what durable.Wrap returns
		fmt.Println("invoked")
		return []byte(answer), nil
	}
	handler := guard.Handler(checkout) // for lambda.Start
	invoke := func(execution string) {
		const event = `{"DurableExecutionArn":"arn:aws:lambda:eu-west-1:123456789012:function:checkout:1/durable-execution/%s/1","CheckpointToken":"t",` +
			`"InitialExecutionState":{"Operations":[{"Id":"1","Type":"EXECUTION","ExecutionDetails":{"InputPayload":"{\"order_id\":\"o1\"}"}}]}}`
		response, err := handler.Invoke(context.Background(), fmt.Appendf(nil, event, execution))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %.20s…\n", execution, response)
	}
	invoke("first")
	invoke("second")
	answer = `{"Status":"SUCCEEDED","Result":"\"receipt\""}`
	invoke("first")
	invoke("second")
	// Output:
	// invoked
	// first: {"Status":"PENDING"}…
	// second: {"Status":"FAILED","…
	// invoked
	// first: {"Status":"SUCCEEDED…
	// second: {"Status":"SUCCEEDED…
}
