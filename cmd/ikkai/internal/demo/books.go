package demo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
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

// steps are what the record of a wish says of its steps, in the order in which it
// was recorded: finished steps first, then what was undone.
func (s *stage) steps(w wish) []Row {
	item, _ := s.item(w)
	steps, ok := item["steps"].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	order := make(map[string]int)
	var rows []Row
	for name, value := range steps.Value {
		row := Row{Name: name, Text: textOf(value)}
		var finished struct {
			Order int `json:"order"`
		}
		_ = json.Unmarshal([]byte(row.Text), &finished) // what is no finished step has none
		order[name] = cmp.Or(finished.Order, len(steps.Value))
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(order[a.Name], order[b.Name]), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// lookAt shows the record of a wish with its steps.
func (s *stage) lookAt(w wish) Look {
	record, _ := s.record(w)
	return Look{At: fmt.Sprintf("the record of %s: %s", w.name(), record.Status), Rows: s.steps(w)}
}

// stock is how much of the goods is in stock.
func (s *stage) stock() int {
	for _, row := range s.db.Items(checkout.table) {
		if textOf(row["pk"]) == "stock#"+goods {
			quantity, _ := strconv.Atoi(textOf(row["quantity"]))
			return quantity
		}
	}
	return 0
}

// transfers are how many the bank has made for the month, to how many employees, and
// how many to the one that has got the most.
func (s *stage) transfers() (all, employees, most int) {
	of := make(map[string]int)
	for _, row := range s.db.Items(payroll.table) {
		if strings.HasPrefix(textOf(row["pk"]), "transfer#") && textOf(row["month"]) == november.name() {
			all++
			of[textOf(row["employee"])]++
			most = max(most, of[textOf(row["employee"])])
		}
	}
	return all, len(of), most
}

// lookAtBank shows the bank's ledger of the month.
func (s *stage) lookAtBank() Look {
	all, employees, most := s.transfers()
	return Look{At: "the bank's ledger of " + november.name(), Rows: []Row{
		{Name: "transfers", Text: strconv.Itoa(all)},
		{Name: "employees paid", Text: fmt.Sprintf("%d of %d", employees, staff)},
		{Name: "most for one employee", Text: strconv.Itoa(most)},
	}}
}

// lastLease is when the last lease ends of those that still run, or whose run has
// died.
func (s *stage) lastLease() time.Time {
	var last int64
	for _, item := range s.db.Items(idempotencyTable) {
		if textOf(item["status"]) != string(persistence.StatusProcessing) {
			continue
		}
		until, _ := strconv.ParseInt(textOf(item["lease_until"]), 10, 64)
		last = max(last, until)
	}
	return time.UnixMilli(last)
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
