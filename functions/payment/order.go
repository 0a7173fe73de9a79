package main

import (
	"errors"

	"github.com/go-json-experiment/json"
)

// order is what the body of a request asks for.
type order struct {
	Amount   int64  `json:"amount"`   // in the currency's minor unit, such as cents
	Currency string `json:"currency"` // ISO 4217, upper case
	Customer string `json:"customer"`
}

// parseOrder reads a body. Like the fingerprint it knows each member by one exact
// spelling and refuses to see it twice; with a more tolerant reader, {"amount":1,
// "Amount":900} would pass as 1 and be charged as 900.
func parseOrder(body string) (order, error) {
	var o order
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		return order{}, errors.New("the body must be a JSON object with an integer amount in minor units, and a currency and a customer as text")
	}
	switch {
	case o.Amount <= 0:
		return order{}, errors.New("the amount must be greater than 0")
	case !isCurrencyCode(o.Currency):
		return order{}, errors.New("the currency must be an ISO 4217 code such as EUR")
	case o.Customer == "":
		return order{}, errors.New("the customer is missing")
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
