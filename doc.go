// Package idempotency says which request an event is: it derives the record key
// and the fingerprint of an AWS Lambda event from the parts that a JMESPath
// expression selects.
//
//	var orderID = idempotency.MustJMESPath("powertools_json(body).order_id")
//
//	key, err := orderID.Key("payment", event) // "payment#6b86b2…"
//
// A key is the operation's name, "#" and the SHA-256 of the selected value in a
// canonical form: two events have one key if and only if they select equal
// values, however these are spelled. Nothing is stored or run here; package
// idempotent does that.
package idempotency
