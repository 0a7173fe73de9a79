package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// handler takes payments.
type handler struct {
	payments *table
	provider Provider
}

// create answers POST /payments. A declined order is a permanent failure, which
// the same request would get again. Any other error leaves the request open, and a
// retry runs: also that of an order that can't be charged, so that its key is not
// spent on a slip of the pen.
func (h *handler) create(ctx context.Context, request events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	o, err := parseOrder(request.Body)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}
	p, err := h.pay(ctx, o)
	var declined *DeclinedError
	switch {
	case errors.As(err, &declined):
		return events.APIGatewayV2HTTPResponse{}, idempotent.Permanent(err)
	case err != nil:
		return events.APIGatewayV2HTTPResponse{}, err
	}
	return created(p)
}

// pay charges the order and records the payment. It may have run before and died
// anywhere: what it did then is found again under names made from the request's
// key, and not done twice.
func (h *handler) pay(ctx context.Context, o order) (payment, error) {
	key := downstreamKey(ctx)
	id := "pay_" + digest(key)
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

// downstreamKey is the request's key, the same in every try. With the guards
// switched off there is none, and every run is a payment of its own.
func downstreamKey(ctx context.Context) string {
	call, guarded := idempotent.CallFrom(ctx)
	if !guarded {
		return rand.Text()
	}
	return call.Key
}

// digest makes a short name from a key.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}

func created(p payment) (events.APIGatewayV2HTTPResponse, error) {
	body, err := json.Marshal(p)
	return events.APIGatewayV2HTTPResponse{
		StatusCode: http.StatusCreated,
		Headers:    map[string]string{"Content-Type": "application/json"},
		Body:       string(body),
	}, err
}
