package main

import (
	"net/http"

	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/metrics"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/saga"
)

// operation is part of every key that this function has stored.
const operation = "checkout"

// newFunction returns what Lambda runs: the handler, guarded.
func newFunction(p wiring.Parts) (function any, err error) {
	sales, err := p.Ledger("SALES_TABLE")
	if err != nil {
		return nil, err
	}
	provider, err := p.Service(sales, "charge", "PROVIDER")
	if err != nil {
		return nil, err
	}
	mail, err := p.Service(sales, "mail", "MAIL")
	if err != nil {
		return nil, err
	}
	steps := newSteps(stock{sales})
	guard, err := idempotent.New(p.Store, metrics.Watch(idempotent.Config{
		Operation: operation,
		Steps:     saga.Steps(steps.reserve, steps.charge, steps.confirm),
		KeepEvent: true, // so that the resume function can go on where a client has lost interest
	}))
	if err != nil {
		return nil, err
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.ByJWTSubject(), Settled: settled})
	if err != nil {
		return nil, err
	}
	h := &handler{sales: sales, stock: stock{sales}, provider: provider, mail: mail, steps: steps}
	return httpevent.Guard(api, "httpapi", h.create)
}

// settled tells which answers a key is spent on: a sale, and a card declined, after
// which the goods are back. It is not spent on a slip of the pen (422); and that
// something is sold out (409) may change.
func settled(status int) bool {
	return status != http.StatusUnprocessableEntity && httpguard.Settled(status)
}
