package main

import (
	"github.com/go-json-experiment/json"

	"github.com/ikkai-go/idempotency/functions/internal/ledger"
)

// order is what a message asks for.
type order struct {
	ID       string `json:"order_id"`
	Customer string `json:"customer"`
	Items    []item `json:"items"`
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// UnmarshalJSON reads the body of a message. Like the guard's expressions it knows
// each member by one exact spelling and refuses to see it twice; with a more tolerant
// reader, {"order_id":"1","Order_ID":"2"} would be guarded as 1 and shipped as 2.
func (o *order) UnmarshalJSON(text []byte) error {
	type plain order
	return json.Unmarshal(text, (*plain)(o))
}

// orderError says why an order can never be placed.
type orderError struct{ reason string }

func (e *orderError) Error() string { return e.reason }

// check finds what is wrong with the order. A guard takes none without an ID, a customer
// and items; where the guards are switched off, nobody else looks.
func (o order) check() error {
	switch {
	case o.ID == "":
		return &orderError{"the order has no ID"}
	case o.Customer == "":
		return &orderError{"the order has no customer"}
	case len(o.Items) == 0:
		return &orderError{"the order has no items"}
	}
	for _, i := range o.Items {
		switch {
		case i.SKU == "":
			return &orderError{"an item has no SKU"}
		case i.Quantity <= 0:
			return &orderError{"the quantity of " + i.SKU + " must be greater than 0"}
		}
	}
	return nil
}

// row is how an order is written, in the row of an order or of a shipment.
func (o order) row() (ledger.Row, error) {
	items, err := json.Marshal(o.Items)
	return ledger.Row{
		"order_id": ledger.Text(o.ID),
		"customer": ledger.Text(o.Customer),
		"items":    ledger.Text(string(items)),
	}, err
}
