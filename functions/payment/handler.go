package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/downstream"
	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/idempotent"
)

// handler takes payments.
type handler struct {
	payments *ledger.Ledger
	provider Provider
}

// create answers POST /payments. Any error of its own leaves the request open, and
// a retry runs.
func (h *handler) create(ctx context.Context, body []byte) (httpevent.Answer, error) {
	p, err := h.take(ctx, body)
	unchargeable, isUnchargeable := errors.AsType[*orderError](err)
	_, isDeclined := errors.AsType[*DeclinedError](err)
	switch {
	case isUnchargeable:
		return httpevent.Problem(http.StatusUnprocessableEntity, unchargeable.reason)
	case isDeclined:
		return httpevent.Problem(http.StatusPaymentRequired, err.Error())
	case err != nil:
		return httpevent.Answer{}, err
	}
	return httpevent.JSON(http.StatusCreated, p)
}

func (h *handler) take(ctx context.Context, body []byte) (payment, error) {
	o, err := parseOrder(body)
	if err != nil {
		return payment{}, err
	}
	return h.pay(ctx, o)
}

// pay charges the order and records the payment. It may have run before and died
// anywhere: what it did then is found again under names made from the request's
// key, and not done twice.
func (h *handler) pay(ctx context.Context, o order) (payment, error) {
	key := idempotent.DownstreamKey(ctx)
	id := "pay_" + downstream.ID(key)
	p, found, err := findPayment(ctx, h.payments, id)
	switch {
	case err != nil:
		return payment{}, err
	case found && p.order != o:
		// The record of the first request is gone; the payment is not.
		return payment{}, errOtherOrder
	case found:
		return p, nil
	}
	charge, err := h.provider.Charge(ctx, key, o)
	if err != nil {
		return payment{}, err
	}
	return addPayment(ctx, h.payments, payment{order: o, ID: id, ChargeID: charge, CreatedAt: time.Now().UTC()})
}
