package demo

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tell tells a short story in which a promise is kept and another one broken.
func tell(n Narrator) {
	n.Preparing("building")
	n.Scene(Scene{Title: "A payment"})
	n.Beat(Beat{
		Work: Work{At: ms(1234), Took: ms(200), Environment: "env-1", Requests: []Request{
			{Table: idempotencyTable, Operation: "PutItem", Write: 1},
			{Table: payment.table, Operation: "PutItem", Write: 1},
			{Table: idempotencyTable, Operation: "UpdateItem", Write: 1},
		}},
		Sent:   Order{Key: "order-1", Amount: 1205},
		Answer: Answer{Status: 201, Body: `{"id":"pay_1"}`},
	})
	n.Command(Command{At: ms(1300), Line: "records list --stuck", Output: "STATE  KEY\ndied   payment#1\n"})
	n.Promise(Promise{Text: "it is charged"})
	n.Beat(Beat{
		Work: Work{At: ms(2000), Environment: "env-2", Requests: []Request{
			{Table: idempotencyTable, Operation: "PutItem", Error: "ConditionalCheckFailedException", Write: 1},
		}},
		Sent:   Order{Key: "order-1", Amount: 1205, Quoted: true},
		Answer: Answer{Status: 500, Failure: "Task timed out after 2.00 seconds"},
	})
	n.Promise(Promise{Text: "it is replayed", Broken: []string{"env-2 answered 500 instead of 201"}})
	n.Batch(Batch{
		Work: Work{At: ms(2050), Took: ms(5), Environment: "env-10", Requests: []Request{{Table: idempotencyTable, Operation: "PutItem", Write: 1}}},
		Messages: []Message{
			{ID: "m1", Text: "parcel-1", Receives: 1},
			{ID: "m2", Text: "parcel-2", Receives: 2, Failed: true},
		},
	})
	n.Batch(Batch{
		Work:     Work{At: ms(2060), Took: ms(5), Environment: "env-11", Requests: []Request{}},
		Messages: []Message{{ID: "m3", Text: "parcel-3", Receives: 1, Failed: true}},
		Failure:  "Task timed out after 2.00 seconds",
	})
	n.Start(Start{
		Work: Work{At: ms(2065), Environment: "env-12", Requests: []Request{
			{Table: idempotencyTable, Operation: "PutItem", Error: "ConditionalCheckFailedException", Write: 1},
			{Table: idempotencyTable + ", payroll", Operation: "TransactWriteItems", Write: 4},
			{Table: payroll.table, Operation: "Scan", Read: 1},
		}},
		Month: "2026-11", Paid: 1, Before: 2,
	})
	many := []Request{
		{Table: idempotencyTable, Operation: "PutItem"}, {Table: idempotencyTable, Operation: "UpdateItem"},
		{Table: idempotencyTable, Operation: "PutItem"}, {Table: idempotencyTable, Operation: "PutItem"},
		{Table: idempotencyTable, Operation: "PutItem"}, {Table: idempotencyTable, Operation: "UpdateItem"},
		{Table: idempotencyTable, Operation: "PutItem"},
	}
	n.Start(Start{
		Work: Work{At: ms(2070), Environment: "env-12", Requests: many}, Month: "2026-11",
		Failure: "UnfinishedError: idempotent: batch 2026-11: 1 of 3 items left (0 failed, 1 held, 0 not started)",
	})
	n.Start(Start{Work: Work{At: ms(2080), Environment: "env-12", Requests: []Request{}}, Month: "2026-11", Failure: sigkill})
	n.Look(Look{At: "the record of basket-1: COMPLETED", Rows: []Row{
		{Name: "reserve-stock", Text: `{"order":1,"output":"` + strings.Repeat("a", 80) + `"}`},
		{Name: "reserve-stock:compensated", Text: "{}"},
	}})
	n.Summary(Summary{
		Took:    ms(2100),
		Records: []Record{{Of: "order-1", Key: "payment#0123456789abcdef0123456789abcdef", Status: "COMPLETED", Attempt: 1}},
		Effects: []Effects{{Of: "order-1", Kind: "charge", Count: 2, Expected: 1}, {Of: "order-1", Kind: "mail", Count: 1, Expected: 1}},
		Requests: []RequestCount{
			{Request: Request{Table: idempotencyTable, Operation: "PutItem", Error: "ConditionalCheckFailedException", Write: 3}, Count: 3},
			{Request: Request{Table: payment.table, Operation: "GetItem", Read: 1.5}, Count: 2},
		},
		Promises: 2,
		Broken:   []string{"it is replayed"},
	})
}

func TestTimeline(t *testing.T) {
	var got bytes.Buffer
	tell(NewTimeline(&got, Palette{}))
	want := `building …

A payment
    1.234 s  env-1   order-1      12.05 EUR     →  201 pay_1                               PutItem, UpdateItem + 1 by the handler
    1.300 s  $ records list --stuck
             STATE  KEY
             died   payment#1
             ✓ it is charged
    2.000 s  env-2   "order-1"    12.05 EUR     →  500 Task timed out after 2.00 seconds   PutItem ✗
             ✗ NOT AS PROMISED: it is replayed
               env-2 answered 500 instead of 201
    2.050 s  env-10  m1 parcel-1                →  done, and deleted                       PutItem
                     m2 parcel-2, again         →  comes back
    2.060 s  env-11  m3 parcel-3                →  Task timed out after 2.00 seconds
    2.065 s  env-12  payroll of 2026-11         →  1 paid, 2 before, 0 left                PutItem ✗, TransactWriteItems + 1 by the handler
    2.070 s  env-12  payroll of 2026-11         →  1 of 3 items left                       5 PutItem, 2 UpdateItem
    2.080 s  env-12  payroll of 2026-11         →  killed (SIGKILL)
             the record of basket-1: COMPLETED
               reserve-stock              {"order":1,"output":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…
               reserve-stock:compensated  {}

Records
  of        idempotency_key            status      attempt   effects
  order-1   payment#0123456789abcde…   COMPLETED   1         2 charges, 1 mail

Requests
  table         request     count   read units   write units
  idempotency   PutItem ✗   3       0            3
  payments      GetItem     2       1.5          0
  all                               1.5          3
  ✗: its condition failed, and DynamoDB sent the record along

1 of 2 promises broken, in 2.1s.
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTimelineInColorsSaysTheSame(t *testing.T) {
	var plain, colored bytes.Buffer
	tell(NewTimeline(&plain, Palette{}))
	tell(NewTimeline(&colored, ANSI))
	stripped := strings.NewReplacer(ANSI.title, "", ANSI.faint, "", ANSI.good, "", ANSI.bad, "", ANSI.reset, "").Replace(colored.String())
	if stripped == colored.String() {
		t.Error("there are no colors")
	}
	if diff := cmp.Diff(plain.String(), stripped); diff != "" {
		t.Error(diff)
	}
}

func TestJSONLines(t *testing.T) {
	var got bytes.Buffer
	tell(NewJSONLines(&got))
	want := `{"type":"preparing","what":"building"}
{"type":"scene","title":"A payment"}
{"type":"beat","at_ms":1234,"took_ms":200,"environment":"env-1","requests":[{"table":"idempotency","operation":"PutItem","write_units":1},{"table":"payments","operation":"PutItem","write_units":1},{"table":"idempotency","operation":"UpdateItem","write_units":1}],"sent":{"key":"order-1","amount":1205},"answer":{"status":201,"body":"{\"id\":\"pay_1\"}"}}
{"type":"command","at_ms":1300,"line":"records list --stuck","output":"STATE  KEY\ndied   payment#1\n"}
{"type":"promise","kept":true,"text":"it is charged"}
{"type":"beat","at_ms":2000,"took_ms":0,"environment":"env-2","requests":[{"table":"idempotency","operation":"PutItem","error":"ConditionalCheckFailedException","write_units":1}],"sent":{"key":"order-1","amount":1205,"quoted":true},"answer":{"status":500,"failure":"Task timed out after 2.00 seconds"}}
{"type":"promise","kept":false,"text":"it is replayed","broken":["env-2 answered 500 instead of 201"]}
{"type":"batch","at_ms":2050,"took_ms":5,"environment":"env-10","requests":[{"table":"idempotency","operation":"PutItem","write_units":1}],"messages":[{"id":"m1","text":"parcel-1","receives":1,"failed":false},{"id":"m2","text":"parcel-2","receives":2,"failed":true}]}
{"type":"batch","at_ms":2060,"took_ms":5,"environment":"env-11","requests":[],"messages":[{"id":"m3","text":"parcel-3","receives":1,"failed":true}],"failure":"Task timed out after 2.00 seconds"}
{"type":"start","at_ms":2065,"took_ms":0,"environment":"env-12","requests":[{"table":"idempotency","operation":"PutItem","error":"ConditionalCheckFailedException","write_units":1},{"table":"idempotency, payroll","operation":"TransactWriteItems","write_units":4},{"table":"payroll","operation":"Scan","read_units":1}],"month":"2026-11","paid":1,"paid_before":2,"left":0}
{"type":"start","at_ms":2070,"took_ms":0,"environment":"env-12","requests":[{"table":"idempotency","operation":"PutItem"},{"table":"idempotency","operation":"UpdateItem"},{"table":"idempotency","operation":"PutItem"},{"table":"idempotency","operation":"PutItem"},{"table":"idempotency","operation":"PutItem"},{"table":"idempotency","operation":"UpdateItem"},{"table":"idempotency","operation":"PutItem"}],"month":"2026-11","paid":0,"paid_before":0,"left":0,"failure":"UnfinishedError: idempotent: batch 2026-11: 1 of 3 items left (0 failed, 1 held, 0 not started)"}
{"type":"start","at_ms":2080,"took_ms":0,"environment":"env-12","requests":[],"month":"2026-11","paid":0,"paid_before":0,"left":0,"failure":"killed (SIGKILL)"}
{"type":"look","at":"the record of basket-1: COMPLETED","rows":[{"name":"reserve-stock","text":"{\"order\":1,\"output\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}"},{"name":"reserve-stock:compensated","text":"{}"}]}
{"type":"summary","took_ms":2100,"records":[{"of":"order-1","idempotency_key":"payment#0123456789abcdef0123456789abcdef","status":"COMPLETED","attempt":1,"expire_at":""}],"effects":[{"of":"order-1","kind":"charge","count":2,"expected":1},{"of":"order-1","kind":"mail","count":1,"expected":1}],"requests":[{"table":"idempotency","operation":"PutItem","error":"ConditionalCheckFailedException","write_units":3,"count":3},{"table":"payments","operation":"GetItem","read_units":1.5,"count":2}],"promises":2,"broken":["it is replayed"]}
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
	for line := range strings.Lines(got.String()) {
		var object struct{ Type string }
		if err := json.Unmarshal([]byte(line), &object); err != nil || object.Type == "" {
			t.Errorf("no object with a type: %s", line)
		}
	}
}
