package main

import (
	"fmt"
	"net/http"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/metrics"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
)

// operation is part of every key that this function has stored; renaming it
// would run open requests again.
const operation = "payment"

// newFunction returns what Lambda runs: the handler, guarded.
func newFunction(p wiring.Parts) (function any, err error) {
	payments, err := p.Ledger("PAYMENTS_TABLE")
	if err != nil {
		return nil, err
	}
	provider, err := p.Service(payments, "charge", "PROVIDER")
	if err != nil {
		return nil, err
	}
	scope, err := keyScope(p.Setting("KEY_SCOPE"))
	if err != nil {
		return nil, err
	}
	guard, err := idempotent.New(p.Store, metrics.Watch(idempotent.Config{Operation: operation}))
	if err != nil {
		return nil, err
	}
	api, err := httpguard.New(guard, httpguard.Config{
		Scope:   scope,
		BodyKey: idempotency.MustJMESPath("payment_id"), // of clients that can't send the header
		Compare: idempotency.MustJMESPath("[amount, currency, customer]"),
		Settled: settled,
	})
	if err != nil {
		return nil, err
	}
	h := &handler{payments: payments, provider: simulatedProvider{provider}}
	return httpevent.Guard(api, p.Setting("EVENT_SOURCE"), h.create)
}

// keyScope says whose keys the clients send. There is no default: a function that
// was deployed without the setting would give one client another's payment.
func keyScope(setting string) (httpguard.Scope, error) {
	switch setting {
	case "jwt":
		return httpguard.ByJWTSubject(), nil
	case "none": // for demonstrations, which have no authorizer
		return httpguard.Unscoped(), nil
	default:
		return httpguard.Scope{}, fmt.Errorf("KEY_SCOPE is %q, which is neither jwt nor none", setting)
	}
}

// settled tells which answers a key is spent on: a payment, and a card declined. It
// is not spent on a slip of the pen (422), nor on an order that the provider knows
// under this key with other content: the right one may still come.
func settled(status int) bool {
	return status != http.StatusUnprocessableEntity && httpguard.Settled(status)
}
