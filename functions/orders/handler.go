package main

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
	"github.com/ikkai-go/idempotency/functions/internal/simulated"
	"github.com/ikkai-go/idempotency/idempotent"
)

// handler places orders.
type handler struct {
	orders    *ledger.Ledger
	warehouse *simulated.Service
}

var (
	// errOtherOrder is not permanent: it says nothing of the order that the ID is for.
	errOtherOrder = errors.New("the order's id is that of another order")
	// errSoldOut is not permanent either: there will be new goods, and the order
	// waits for them in the dead-letter queue.
	errSoldOut = errors.New("the warehouse has not got the goods")
)

// place has the order of a message shipped and writes it down. It may have run before
// and died anywhere: what it did then is found again and not done twice.
//
// An order that can never be placed is a permanent failure: it is not tried again,
// and ends in the dead-letter queue, as does a message that has failed too often. Its ID
// is used up: a corrected order needs one of its own.
func (h *handler) place(ctx context.Context, o order, _ events.SQSMessage) error {
	if err := o.check(); err != nil {
		return idempotent.Permanent(err)
	}
	row, err := o.row()
	if err != nil {
		return err
	}
	placed, err := h.orders.Get(ctx, "order#"+o.ID)
	switch {
	case err != nil:
		return err
	case placed != nil:
		return same(placed, row)
	}
	shipment, err := h.warehouse.Do(ctx, idempotent.DownstreamKey(ctx), row)
	switch {
	case errors.Is(err, simulated.ErrRefused):
		return errSoldOut
	case errors.Is(err, simulated.ErrOtherRequest):
		return errOtherOrder
	case err != nil:
		return err
	}
	shipped := maps.Clone(row)
	shipped["shipment_id"] = ledger.Text(shipment)
	shipped["placed_at"] = ledger.Text(time.Now().UTC().Format(time.RFC3339Nano))
	placed, err = h.orders.Add(ctx, "order#"+o.ID, shipped)
	if err != nil {
		return err
	}
	return same(placed, row)
}

// same tells whether the order that is placed is this one, or only has its ID.
func same(placed, row ledger.Row) error {
	if !placed.Has(row) {
		return errOtherOrder
	}
	return nil
}
