package main

import (
	"context"
	"fmt"
)

// Provider charges customers.
type Provider interface {
	// Charge takes the order's amount from its customer and returns the charge's
	// ID. The key is the idempotency key: tries of one order have the same. A
	// *DeclinedError is final, and errOtherOrder refuses a key that was used for
	// something else; after any other error nobody knows whether the customer was
	// charged.
	Charge(ctx context.Context, key string, o order) (id string, err error)
}

// DeclinedError says that the provider has refused an order for good.
type DeclinedError struct{ Reason string }

func (e *DeclinedError) Error() string { return fmt.Sprintf("the payment was declined: %s", e.Reason) }
