package main

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"reflect"
	"time"

	"github.com/ikkai-go/idempotency/functions/internal/downstream"
	"github.com/ikkai-go/idempotency/functions/internal/httpevent"
	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/rows"
)

// handler sells goods.
type handler struct {
	sales    *ledger.Ledger
	stock    stock
	provider *simulated.Service
	mail     *simulated.Service
	steps    steps
}

// steps are the steps of a sale, under the names that records have them. A step that is
// renamed is another step: keep the old name (saga.Retired) until no record has it.
type steps struct {
	reserve         *saga.Step[reservation]
	charge, confirm *saga.Step[string]
}

func newSteps(s stock) steps {
	return steps{
		reserve: saga.NewStep(saga.Spec[reservation]{
			Name:       "reserve-stock",
			Compensate: func(ctx context.Context, _ saga.Call, r reservation) error { return s.release(ctx, r) },
		}),
		charge:  saga.NewStep(saga.Spec[string]{Name: "charge"}),
		confirm: saga.NewStep(saga.Spec[string]{Name: "e-mail"}),
	}
}

// create answers POST /checkouts. An error of its own leaves the request open:
// its finished steps are kept, and a retry goes on after them.
func (h *handler) create(ctx context.Context, body []byte) (httpevent.Answer, error) {
	s, err := h.take(ctx, body)
	invalid, isInvalid := errors.AsType[*orderError](err)
	declined, isDeclined := errors.AsType[*idempotent.PermanentError](err)
	switch {
	case errors.Is(err, saga.ErrCompensation): // it wraps the reason for undoing, too
		return httpevent.Answer{}, err
	case isInvalid:
		return httpevent.Problem(http.StatusUnprocessableEntity, invalid.reason)
	case isDeclined:
		return httpevent.Problem(http.StatusPaymentRequired, declined.Message)
	case errors.Is(err, errSoldOut):
		return httpevent.Problem(http.StatusConflict, err.Error())
	case errors.Is(err, rows.ErrVersionConflict):
		return httpevent.Problem(http.StatusServiceUnavailable, "many are buying this at the moment; try again")
	case err != nil:
		return httpevent.Answer{}, err
	}
	return httpevent.JSON(http.StatusCreated, s)
}

// take looks for a sale that an earlier request with the same key has made, whose
// record is gone, and sells otherwise.
func (h *handler) take(ctx context.Context, body []byte) (sale, error) {
	o, err := parseOrder(body)
	if err != nil {
		return sale{}, err
	}
	id := "ord_" + downstream.ID(idempotent.DownstreamKey(ctx))
	made, found, err := findSale(ctx, h.sales, id)
	switch {
	case err != nil:
		return sale{}, err
	case found && !reflect.DeepEqual(made.order, o):
		return sale{}, errOtherOrder
	case found:
		return made, nil
	}
	return saga.Run(ctx, func(ctx context.Context) (sale, error) { return h.sell(ctx, id, o) })
}

// sell is the saga. The charge is its turning point: what comes before it can be
// undone, and is if the card is declined; what comes after it does not fail for good,
// and is tried until it is done.
func (h *handler) sell(ctx context.Context, id string, o order) (sale, error) {
	reserved, err := h.reserve(ctx, o)
	if err != nil {
		return sale{}, err
	}
	charge, err := h.charge(ctx, o, reserved.Amount)
	if err != nil {
		return sale{}, err
	}
	if err := h.confirm(ctx, id, o); err != nil {
		return sale{}, err
	}
	s := sale{ID: id, order: o, Amount: reserved.Amount, ChargeID: charge, CreatedAt: time.Now().UTC()}
	return s, enlistSale(ctx, h.sales, s)
}

// tries is how often a reservation is tried whose goods others buy at the same time.
const tries = 5

// reserve takes the goods out of stock. Nothing has happened where somebody was
// faster, so the step may be tried again.
func (h *handler) reserve(ctx context.Context, o order) (r reservation, err error) {
	for try := range tries {
		if try > 0 {
			select {
			case <-time.After(rand.N(20 * time.Millisecond << try)): // so that not all try again at once
			case <-ctx.Done():
				return r, err // of the try before: nothing has happened
			}
		}
		r, err = h.steps.reserve.RunFor(ctx, o.Items, func(ctx context.Context, _ saga.Call) (reservation, error) {
			return h.stock.reserve(ctx, o.Items)
		})
		if !errors.Is(err, rows.ErrVersionConflict) {
			break
		}
	}
	return r, err
}

// DeclinedError says that the provider has refused a charge for good. The record tells
// it by its name.
type DeclinedError struct{ Reason string }

func (e *DeclinedError) Error() string { return "the payment was declined: " + e.Reason }

// charge takes the money. A run that dies in here is followed by one that charges
// again, under the same key, by which the provider recognises it. With a provider that
// knows no keys the step would have to be AtMostOnce instead, for one write more and,
// without a Reconcile that asks the provider, for an outcome that nobody knows.
func (h *handler) charge(ctx context.Context, o order, amount int64) (id string, err error) {
	return h.steps.charge.Run(ctx, func(ctx context.Context, call saga.Call) (string, error) {
		id, err := h.provider.Do(ctx, call.Token, ledger.Row{
			"customer": ledger.Text(o.Customer),
			"amount":   ledger.Number(amount),
		})
		switch {
		case errors.Is(err, simulated.ErrRefused):
			return "", idempotent.Permanent(&DeclinedError{Reason: "insufficient funds"})
		case errors.Is(err, simulated.ErrOtherRequest):
			return "", idempotent.Permanent(&DeclinedError{Reason: "the key was used before, for another one"})
		}
		return id, err
	})
}

// confirm sends the mail. Where it can't be delivered the goods are sold all the same.
func (h *handler) confirm(ctx context.Context, id string, o order) error {
	_, err := h.steps.confirm.Run(ctx, func(ctx context.Context, call saga.Call) (string, error) {
		mail, err := h.mail.Do(ctx, call.Token, ledger.Row{
			"to":      ledger.Text(o.Email),
			"subject": ledger.Text("Your order " + id),
		})
		if errors.Is(err, simulated.ErrRefused) {
			slog.WarnContext(ctx, "checkout: the mail was refused", "order", id)
			return "", nil
		}
		return mail, err
	})
	return err
}
