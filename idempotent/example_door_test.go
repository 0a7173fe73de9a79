package idempotent_test

import (
	"context"
	"fmt"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
)

// The record of a customer's request, for whoever looks after it: ikkai show takes the key.
func ExampleGuard_RecordKey() {
	guard := newGuard(idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("payment_id")})
	fmt.Println(guard.RecordKey(context.Background(), []byte(`{"payment_id": "p-1", "amount": 10}`)))
	// Output: payment#ace8d836441cc07dbc22bbe18664d32a8d1a67e7c03f67b85181dfab020d4583 <nil>
}

// A door of one's own: an adapter for a source that delivers many requests at once. Those of
// one request run one after another; none is begun that there is no time for.
func ExampleGuard_Identify() {
	guard := newGuard(idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("payment_id")})
	deliver := func(ctx context.Context, payloads ...string) {
		calls := guard.Batch(ctx, 0) // they share the time that there is
		lanes := make(map[string][]idempotent.Identity)
		for _, payload := range payloads {
			id := calls.Identify([]byte(payload))
			lanes[id.Request()] = append(lanes[id.Request()], id)
		}
		fmt.Println(len(payloads), "payloads,", len(lanes), "requests")
		for _, lane := range lanes {
			for _, id := range lane {
				err := calls.DoAs(ctx, id, func(context.Context) error {
					fmt.Println("paying")
					return nil
				})
				fmt.Println(idempotent.VerdictOf(err).Code)
			}
		}
	}
	deliver(context.Background(), `{"payment_id": "p-1"}`, `{"payment_id": "p-1"}`)
	// Output:
	// 2 payloads, 1 requests
	// paying
	// completed
	// completed
}
