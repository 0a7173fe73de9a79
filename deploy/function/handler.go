package main

import (
	"context"
	"errors"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
)

// operation begins every key that this function stores, as in "payout#7a8c…". Its permissions are
// for these keys only (dynamodb:LeadingKeys), so a new name has to be one there, too. Open requests would run again.
const operation = "payout"

// request is what the function is invoked with.
type request struct {
	// ID is made by the caller: the same whenever it sends this request again, and no other's.
	ID     string `json:"id"`
	Amount int64  `json:"amount"` // in cents
}

// receipt is what the caller gets, and gets again for the same request.
type receipt struct {
	Number string `json:"number"`
}

// service does what must not be done twice. It has to know keys: one call or many with a key are one effect.
type service interface {
	Do(ctx context.Context, key, what string) (id string, err error)
}

// newFunction returns what Lambda runs: the handler, guarded. The test makes it in the same way.
func newFunction(store persistence.Store, s service) (lambda.Handler, error) {
	guard, err := idempotent.New(store, idempotent.Config{
		Operation:   operation,
		Key:         idempotency.MustJMESPath("id"),
		Fingerprint: idempotency.MustJMESPath("[amount]"), // the same id with another amount is refused
	})
	if err != nil {
		return nil, err
	}
	h := &handler{service: s}
	return guard.Handler(h.handle), nil
}

type handler struct {
	service service
}

// handle runs once for a request, unless a run dies in the middle: then it runs again, from the start. So whatever it
// calls gets the request's key, which is the same in every run.
func (h *handler) handle(ctx context.Context, r request) (receipt, error) {
	if r.Amount <= 0 {
		// Nothing will make this request a good one: the refusal is recorded, and repeated.
		return receipt{}, idempotent.Permanent(errors.New("the amount is not positive"))
	}
	number, err := h.service.Do(ctx, idempotent.DownstreamKey(ctx), "payout")
	if err != nil {
		return receipt{}, err // nothing is recorded: the next try runs
	}
	return receipt{Number: number}, nil
}
