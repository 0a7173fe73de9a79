package main

import (
	"context"
	"errors"

	"github.com/ikkai-go/idempotency/functions/internal/simulated"
)

// simulatedProvider is a payment provider that keeps its ledger in the payments
// table, a row "charge#…" for each charge made.
type simulatedProvider struct{ *simulated.Service }

// Charge implements [Provider].
func (p simulatedProvider) Charge(ctx context.Context, key string, o order) (string, error) {
	id, err := p.Do(ctx, key, o.row())
	switch {
	case errors.Is(err, simulated.ErrRefused):
		return "", &DeclinedError{Reason: "insufficient funds"}
	case errors.Is(err, simulated.ErrOtherRequest):
		return "", errOtherOrder
	}
	return id, err
}
