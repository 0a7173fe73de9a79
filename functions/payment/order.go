package main

import "github.com/go-json-experiment/json"

// order is what the body of a request asks for.
type order struct {
	Amount   int64  `json:"amount"`   // in the currency's minor unit, such as cents
	Currency string `json:"currency"` // ISO 4217, upper case
	Customer string `json:"customer"`
}

// orderError says why an order can't be charged.
type orderError struct{ reason string }

func (e *orderError) Error() string { return e.reason }

// errOtherOrder is that of a key which was used before. The guard forgets what a
// key stood for when its record is released or expires; the provider and the
// payments table do not.
var errOtherOrder = &orderError{"the key is that of an earlier payment with another amount, currency or customer"}

// parseOrder reads a body. Like the fingerprint it knows each member by one exact
// spelling and refuses to see it twice; with a more tolerant reader, {"amount":1,
// "Amount":900} would pass as 1 and be charged as 900.
func parseOrder(body []byte) (order, error) {
	var o order
	if err := json.Unmarshal(body, &o); err != nil {
		return order{}, &orderError{"the body must be a JSON object with an integer amount in minor units, and a currency and a customer as text"}
	}
	switch {
	case o.Amount <= 0:
		return order{}, &orderError{"the amount must be greater than 0"}
	case !isCurrencyCode(o.Currency):
		return order{}, &orderError{"the currency must be an ISO 4217 code such as EUR"}
	case o.Customer == "":
		return order{}, &orderError{"the customer is missing"}
	}
	return o, nil
}

func isCurrencyCode(s string) bool {
	for _, letter := range s {
		if letter < 'A' || letter > 'Z' {
			return false
		}
	}
	return len(s) == 3
}
