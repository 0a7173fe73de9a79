package demo

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Record is a record of the idempotency table, as far as the demo shows it.
type Record struct {
	Of         string `json:"of"`              // as the story calls it
	Key        string `json:"idempotency_key"` // the record's
	Status     string `json:"status"`
	Attempt    int    `json:"attempt"`
	LeaseUntil string `json:"lease_until,omitempty"` // epoch milliseconds
	ExpireAt   string `json:"expire_at"`             // epoch seconds
	Result     string `json:"result,omitempty"`
}

// record is the record of a wish, read from the table itself.
func (s *stage) record(w wish) (record Record, found bool) {
	item, found := s.item(w)
	if !found {
		return Record{}, false
	}
	attempt, _ := strconv.Atoi(textOf(item["attempt"]))
	return Record{
		Of:         w.name(),
		Key:        w.recordKey(),
		Status:     textOf(item["status"]),
		Attempt:    attempt,
		LeaseUntil: textOf(item["lease_until"]),
		ExpireAt:   textOf(item["expire_at"]),
		Result:     textOf(item["result"]),
	}, true
}

func (s *stage) item(w wish) (map[string]types.AttributeValue, bool) {
	key := w.recordKey()
	for _, item := range s.db.Items(idempotencyTable) {
		if textOf(item["idempotency_key"]) == key {
			return item, true
		}
	}
	return nil, false
}

// forget removes the record of a wish by the table's TTL, as if a day had passed
// for it and for nothing else.
func (s *stage) forget(w wish) error {
	item, found := s.item(w)
	if !found {
		return nil
	}
	item["expire_at"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)}
	if err := s.db.Seed(idempotencyTable, item); err != nil {
		return err
	}
	s.db.RemoveExpired(time.Now())
	return nil
}

// count is how often an effect was had.
func (s *stage) count(e effect) int {
	n := 0
	for _, row := range s.db.Items(e.table) {
		if strings.HasPrefix(textOf(row["pk"]), e.kind+"#") && textOf(row[e.attribute]) == e.value {
			n++
		}
	}
	return n
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
