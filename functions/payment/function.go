package main

import (
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// operation is part of every key that this function has stored; renaming it
// would run open requests again.
const operation = "payment"

var (
	// requestKey is what a client repeats when it tries again. A body that is not
	// sent as JSON is delivered in base64; it gives no key and is refused.
	requestKey = idempotency.MustJMESPath(`headers."idempotency-key" || powertools_json(body).payment_id`)

	// requestContent is what must then be the same. It also keeps customers apart
	// who happen to choose the same key: the second one is refused.
	requestContent = idempotency.MustJMESPath(`powertools_json(body).[amount, currency, customer]`)
)

// newFunction is the function as Lambda runs it: the handler, guarded, with the
// guard's refusals turned into HTTP responses.
func newFunction(store persistence.Store, payments *table, provider Provider) (lambda.Handler, error) {
	guard, err := idempotent.New(store, idempotent.Config{
		Operation:   operation,
		Key:         requestKey,
		Fingerprint: requestContent,
	})
	if err != nil {
		return nil, err
	}
	h := &handler{payments: payments, provider: provider}
	return refusals{guard.Handler(h.create)}, nil
}
