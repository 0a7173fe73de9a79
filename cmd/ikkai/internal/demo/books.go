package demo

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
)

// Record is a record of the idempotency table, as far as the demo shows it.
type Record struct {
	Order      string `json:"order"`           // the client's key
	Key        string `json:"idempotency_key"` // the record's
	Status     string `json:"status"`
	Attempt    int    `json:"attempt"`
	LeaseUntil string `json:"lease_until,omitempty"` // epoch milliseconds
	ExpireAt   string `json:"expire_at"`             // epoch seconds
	Result     string `json:"result,omitempty"`
}

// record is the record of an order, read from the table itself.
func (s *stage) record(o Order) (record Record, found bool) {
	key := recordKey(o)
	for _, item := range s.db.Items(idempotencyTable) {
		if textOf(item["idempotency_key"]) != key {
			continue
		}
		attempt, _ := strconv.Atoi(textOf(item["attempt"]))
		return Record{
			Order:      o.Key,
			Key:        key,
			Status:     textOf(item["status"]),
			Attempt:    attempt,
			LeaseUntil: textOf(item["lease_until"]),
			ExpireAt:   textOf(item["expire_at"]),
			Result:     textOf(item["result"]),
		}, true
	}
	return Record{}, false
}

// charges counts an order's charges in the provider's ledger, which the function
// keeps in its own table: whatever was charged to the customer, under any key.
func (s *stage) charges(o Order) int {
	n := 0
	for _, item := range s.db.Items(paymentsTable) {
		if strings.HasPrefix(textOf(item["pk"]), "charge#") && textOf(item["customer"]) == customerOf(o) {
			n++
		}
	}
	return n
}

// customerOf is who pays for an order, and for nothing else.
func customerOf(o Order) string { return "customer of " + o.Key }

// recordKey is the key that the function's guard makes of an order's, which is
// the key of the caller whose token the event file holds.
func recordKey(o Order) string {
	scoped, err := json.Marshal([]any{[][]string{{"jwt subject", "https://login.example.com/", "shop"}}, o.Key})
	if err != nil {
		panic(err) // texts always encode
	}
	key, err := idempotency.Key("payment", string(scoped))
	if err != nil {
		panic(err) // the story's keys are usable
	}
	return key
}

// textOf is the text of a string or a number; empty for all else.
func textOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	default:
		return ""
	}
}
