package main

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// order is what the body of a request asks for.
type order struct {
	Customer string `json:"customer"`
	Email    string `json:"email"`
	Items    []item `json:"items"`
}

type item struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// What an order may hold. All items are reserved in one transaction, which has room
// for 99 writes.
const (
	maxItems    = 50
	maxQuantity = 1000
)

// orderError says why an order can't be checked out.
type orderError struct{ reason string }

func (e *orderError) Error() string { return e.reason }

// errOtherOrder is that of a key which was used before, by a request whose record has
// expired. The sale has not.
var errOtherOrder = &orderError{"the key is that of an earlier order"}

func parseOrder(body []byte) (order, error) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return order{}, &orderError{"the body must be a JSON object with a customer and an email as text, and items, each with a sku as text and a quantity as a number"}
	}
	switch {
	case o.Customer == "":
		return order{}, &orderError{"the customer is missing"}
	case o.Email == "":
		return order{}, &orderError{"the e-mail address is missing"}
	case len(o.Items) == 0, len(o.Items) > maxItems:
		return order{}, &orderError{fmt.Sprintf("there must be between 1 and %d items", maxItems)}
	}
	seen := make(map[string]bool, len(o.Items))
	for _, i := range o.Items {
		switch {
		case i.SKU == "":
			return order{}, &orderError{"an item has no SKU"}
		case seen[i.SKU]:
			return order{}, &orderError{i.SKU + " is there twice"}
		case i.Quantity <= 0, i.Quantity > maxQuantity:
			return order{}, &orderError{fmt.Sprintf("the quantity of %s must be between 1 and %d", i.SKU, maxQuantity)}
		}
		seen[i.SKU] = true
	}
	return o, nil
}
