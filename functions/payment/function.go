package main

import (
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// operation is part of every key that this function has stored; renaming it
// would run open requests again.
const operation = "payment"

// settings are the function's environment variables.
type settings struct {
	eventSource        string
	idempotencyTable   string
	paymentsTable      string
	keyScope           string
	simulatedProvider  string
	providerIdempotent string
}

// newFunction returns what Lambda runs: the handler, guarded.
func newFunction(client *dynamodb.Client, s settings) (function any, err error) {
	store, err := dynamostore.New(client, dynamostore.Config{Table: s.idempotencyTable})
	if err != nil {
		return nil, fmt.Errorf("IDEMPOTENCY_TABLE: %w", err)
	}
	payments, err := ledger.New(client, s.paymentsTable)
	if err != nil {
		return nil, fmt.Errorf("PAYMENTS_TABLE: %w", err)
	}
	provider, err := simulated.New(payments, "charge", s.simulatedProvider, s.providerIdempotent)
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_PROVIDER: %w", err)
	}
	scope, err := keyScope(s.keyScope)
	if err != nil {
		return nil, err
	}
	guard, err := idempotent.New(store, idempotent.Config{Operation: operation})
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
	return httpevent.Guard(api, s.eventSource, h.create)
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
