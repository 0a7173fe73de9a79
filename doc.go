// Package idempotency says which request an event is: it derives the record key
// and the fingerprint of an AWS Lambda event from the parts of it that a JMESPath
// expression selects.
//
//	var orderID = idempotency.MustJMESPath("powertools_json(body).order_id")
//
//	key, err := orderID.Key("payment", event) // "payment#7a8c7a36b079…"
//
// A key is the operation's name, "#" and the SHA-256 of the selected value in
// canonical form v1: two events of an operation have one key if and only if they
// select equal values, however these are spelled. The order of members, white space,
// escapes and the notation of numbers make no difference; every digit does. The
// form is described in docs/canonical-form.md and pinned by testdata/golden.
//
// # Expressions
//
// An expression is evaluated on the JSON of the event as Lambda delivers it, not on
// a Go value, so it is written with the names of the JSON. Beside JMESPath's own
// functions it has those of Powertools for AWS Lambda:
//
//	headers."idempotency-key"                           a header of an HTTP API event
//	powertools_json(body).order_id                      JSON in a string
//	powertools_json(powertools_base64(body)).order_id   the same in Base64
//	powertools_base64_gzip(awslogs.data)                a compressed subscription event
//	[tenant, powertools_json(body).order_id]            both, or the key is missing
//	headers."x-id" || powertools_json(body).id          the first that is there
//
// Whatever could give two requests one key, or one request two keys, is refused:
// at construction where the expression alone shows it (an *ExpressionError), else
// for the event that shows it (a *SelectionError, with ErrMissing where the event
// has no key and ErrPayload where it cannot have one). There are no fall-backs.
//
// A payload is unusable, not without a key, where a member's name differs only in case
// from one that is read: encoding/json takes it for that one, so that the function would
// work on another request than the key says.
//
// An expression costs what it looks at: of the rest of a payload only the syntax is
// checked, without memory. What it makes of a payload is bounded.
//
// # Tenants and batches
//
// TenantKey puts a tenant into a key, ItemKey makes that of an item of a batch. No two of
// these keys meet, nor does one meet a request's.
//
// Nothing is stored or run here. Package idempotent does that, and below it httpguard
// for HTTP APIs, eventguard for queues, streams and topics, and client for callers.
package idempotency
