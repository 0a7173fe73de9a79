package main

import (
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// operation is part of every key that this function has stored.
const operation = "checkout"

// The steps, under the names that records have them. A step that is renamed is
// another step: keep the old name here until no record has it.
const (
	stepReserve = "reserve-stock"
	stepCharge  = "charge"
	stepConfirm = "e-mail"
)

// settings are the function's environment variables.
type settings struct {
	idempotencyTable   string
	salesTable         string
	simulatedProvider  string
	providerIdempotent string
	simulatedMail      string
	mailIdempotent     string
}

// newFunction returns what Lambda runs: the handler, guarded.
func newFunction(client *dynamodb.Client, s settings) (function any, err error) {
	store, err := dynamostore.New(client, dynamostore.Config{Table: s.idempotencyTable})
	if err != nil {
		return nil, fmt.Errorf("IDEMPOTENCY_TABLE: %w", err)
	}
	sales, err := ledger.New(client, s.salesTable)
	if err != nil {
		return nil, fmt.Errorf("SALES_TABLE: %w", err)
	}
	provider, err := simulated.New(sales, "charge", s.simulatedProvider, s.providerIdempotent)
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_PROVIDER: %w", err)
	}
	mail, err := simulated.New(sales, "mail", s.simulatedMail, s.mailIdempotent)
	if err != nil {
		return nil, fmt.Errorf("SIMULATED_MAIL: %w", err)
	}
	guard, err := idempotent.New(store, idempotent.Config{
		Operation: operation,
		Steps:     []string{stepReserve, stepCharge, stepConfirm},
	})
	if err != nil {
		return nil, err
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.ByJWTSubject(), Settled: settled})
	if err != nil {
		return nil, err
	}
	h := &handler{sales: sales, stock: stock{sales}, provider: provider, mail: mail}
	return httpevent.Guard(api, "httpapi", h.create)
}

// settled tells which answers a key is spent on: a sale, and a card declined, after
// which the goods are back. It is not spent on a slip of the pen (422); and that
// something is sold out (409) may change.
func settled(status int) bool {
	return status != http.StatusUnprocessableEntity && httpguard.Settled(status)
}
