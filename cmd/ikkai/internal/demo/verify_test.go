package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/ikkai-go/idempotency/internal/proof/queuesim"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestFindings(t *testing.T) {
	put := Request{Table: idempotencyTable, Operation: "PutItem"}
	update := Request{Table: idempotencyTable, Operation: "UpdateItem"}
	putRefused := Request{Table: idempotencyTable, Operation: "PutItem", Error: "ConditionalCheckFailedException"}
	putThrottled := Request{Table: idempotencyTable, Operation: "PutItem", Error: "ThrottlingException"}
	both := Request{Table: idempotencyTable + ", sales", Operation: "TransactWriteItems"}
	bothRefused := Request{Table: idempotencyTable + ", sales", Operation: "TransactWriteItems", Error: "TransactionCanceledException"}
	charge := Request{Table: payment.table, Operation: "PutItem"}
	sent := func(requests ...Request) Work { return Work{Environment: "env-1", Requests: requests} }
	answer := func(raw string) Beat {
		return Beat{Work: Work{Environment: "env-1"}, Answer: answerOf([]byte(raw))}
	}
	first := answer(`{"statusCode":201,"body":"paid"}`)
	replay := answer(`{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"body":"paid"}`)
	batch := Batch{Messages: []Message{{ID: "m1"}, {ID: "m2", Failed: true}}}

	tests := []struct {
		name    string
		finding string
		want    string // a part of it; "" if there is nothing to find
	}{
		{"the status promised", answered(first, 201), ""},
		{"another status", answered(first, 409), "answered 201 instead of 409"},
		{"the same answer", sameAnswer(replay, first), ""},
		{"another status of the same body", sameAnswer(answer(`{"statusCode":200,"body":"paid"}`), first), "instead of"},
		{"other bytes of the same meaning", sameAnswer(answer(`{"statusCode":201,"body":"paid "}`), first), "instead of"},
		{"an answer of its own", ownAnswer(first), ""},
		{"a replay instead of an answer of its own", ownAnswer(replay), "is a replay"},
		{"a replay that says so", markedAsReplay(replay), ""},
		{"a replay that does not say so", markedAsReplay(first), "does not say"},
		{"told to wait", toldToWait(Beat{Answer: Answer{RetryAfter: 1}}), ""},
		{"not told to wait", toldToWait(first), "did not say when to retry"},
		{"killed", killed(sent(), "Task timed out after 2.00 seconds"), ""},
		{"not killed", killed(sent(), ""), "was not killed"},
		{"failed by itself", killed(sent(), "x: no"), "was not killed"},
		{"crashed", crashed(sent(), sigkill), ""},
		{"killed by its time-out instead", crashed(sent(), "Task timed out after 2.00 seconds"), "has not crashed"},
		{"a start that has finished", paid(Start{Paid: 2, Before: 3}, 2, 3), ""},
		{"a start that has paid others", paid(Start{Paid: 3, Before: 2}, 2, 3), "instead of 2 and 3"},
		{"a start with somebody left", paid(Start{Paid: 2, Before: 3, Left: 1}, 2, 3), "instead of 2 and 3"},
		{"a start that has failed", paid(Start{Failure: "no"}, 0, 0), "(no)"},
		{"a start that says who is left", unfinished(Start{Failure: "UnfinishedError: 1 left"}), ""},
		{"a start that does not say so", unfinished(Start{}), "does not say"},
		{"a start that fails otherwise", unfinished(Start{Failure: "StoreError: no"}), "does not say"},
		{"the messages promised", delivered(batch, "m1", "m2"), ""},
		{"a message too few", delivered(batch, "m1", "m2", "m3"), `instead of ["m1" "m2" "m3"]`},
		{"no message, as promised", delivered(Batch{}), ""},
		{"a message that nobody expects", delivered(batch), "instead of []"},
		{"the message that comes back", comesBack(batch, "m2"), ""},
		{"a message that comes back without need", comesBack(batch), `["m2"] come back`},
		{"a message that is deleted too early", comesBack(batch, "m1", "m2"), `instead of ["m1" "m2"]`},
		{"the requests promised", took(sent(putRefused, charge), refused("PutItem")), ""},
		{"a request that should have failed", took(sent(put), refused("PutItem")), "PutItem ✗"},
		{"one request too many", took(sent(put, put), "PutItem"), `["PutItem" "PutItem"] instead of ["PutItem"]`},
		{"a request that failed otherwise", took(sent(putThrottled), refused("PutItem")), "PutItem ThrottlingException"},
		{"a transaction of the record's", took(sent(both), "TransactWriteItems"), ""},
		{"a transaction that was cancelled", took(sent(bothRefused), refused("TransactWriteItems")), ""},
		{"another order", took(sent(update, put), "PutItem", "UpdateItem"), "instead of"},
		{"another order that does not matter", tookInAnyOrder(sent(update, charge, put), "PutItem", "UpdateItem"), ""},
		{"other requests in any order", tookInAnyOrder(sent(put, put), "PutItem", "UpdateItem"), "instead of"},
		{"the handler did not run", untouched(sent(put)), ""},
		{"the handler ran", untouched(sent(put, charge)), "ran the handler"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkFinding(t, test.finding, test.want) })
	}
}

func TestFindingsInTheTables(t *testing.T) {
	charged, killed, unknown := Order{Key: "paid"}, Order{Key: "killed"}, Order{Key: "unknown"}
	user, noMail := Registration{Key: "1", Email: "user"}, Registration{Key: "2", Email: "no mail"}
	shipped := Parcel{ID: "shipped"}
	stuck, sold := Basket{Key: "stuck"}, Basket{Key: "sold"}
	steps := func(steps map[string]types.AttributeValue) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: steps}
	}
	s := emptyStage(t)
	for table, items := range map[string][]item{
		idempotencyTable: {
			{"idempotency_key": text(charged.recordKey()), "status": text("COMPLETED"), "attempt": number("1")},
			{"idempotency_key": text(killed.recordKey()), "status": text("PROCESSING"), "attempt": number("1"), "lease_until": number("1700000000000")},
			{"idempotency_key": text(stuck.recordKey()), "status": text("PARTIAL_SUCCESS"), "attempt": number("1"), "steps": steps(item{
				"a": text(`{"order":2,"output":1}`), "b": text(`{"order":1,"compensable":true}`), "b:compensated": text("{}"), ":unwinding": text("{}"),
			})},
			{"idempotency_key": text(sold.recordKey()), "status": text("PROCESSING"), "attempt": number("1"), "lease_until": number("1600000000000")},
		},
		checkout.table: {{"pk": text("charge#1"), "customer": text(sold.customer())}, {"pk": text("mail#1"), "to": text(sold.email())}, {"pk": text("sale#1"), "customer": text(sold.customer())}},
		payroll.table: {
			{"pk": text("transfer#1"), "month": text("2026-11"), "employee": text("e-1")},
			{"pk": text("transfer#2"), "month": text("2026-11"), "employee": text("e-2")},
			{"pk": text("transfer#3"), "month": text("2026-10"), "employee": text("e-2")},
			{"pk": text("payslip#1"), "month": text("2026-11"), "employee": text("e-2")},
		},
		payment.table: {
			{"pk": text("charge#1"), "customer": text(charged.customer())}, {"pk": text("payment#1"), "customer": text(charged.customer())},
			{"pk": text("charge#2"), "customer": text(killed.customer())}, {"pk": text("charge#3"), "customer": text(killed.customer())},
		},
		register.table: {
			{"pk": text("user#1"), "email": text("user")}, {"pk": text("mail#1"), "to": text("user")},
			{"pk": text("user#2"), "email": text("no mail")},
		},
		orders.table: {{"pk": text("shipment#1"), "order_id": text("shipped")}, {"pk": text("order#1"), "order_id": text("shipped")}},
	} {
		if err := s.db.Seed(table, items...); err != nil {
			t.Fatal(err)
		}
	}
	was, _ := s.record(charged)

	tests := []struct {
		name    string
		finding string
		want    string
	}{
		{"charged as promised", s.done(charged, 1), ""},
		{"charged twice", s.done(killed, 1), "2 charges instead of 1"},
		{"never charged", s.done(unknown, 1), "0 charges instead of 1"},
		{"registered", s.done(user, 1), ""},
		{"registered without a mail", s.done(noMail, 1), "0 mails instead of 1"},
		{"shipped", s.done(shipped, 1), ""},
		{"shipped though it should not be", s.done(shipped, 0), "1 shipment instead of 0"},
		{"sold", s.done(sold, 1), ""},
		{"sold though it should not be", s.done(sold, 0), "1 charge instead of 0"},
		{"the stock promised", s.inStock(inStock), ""},
		{"goods that are missing", s.inStock(inStock + 1), "10 cups in stock instead of 11"},
		{"the transfers promised", s.transferred(2, 2), ""},
		{"a transfer too few", s.transferred(3, 4), "2 transfers instead of 3 to 4"},
		{"a transfer too many", s.transferred(0, 1), "2 transfers instead of 0 to 1"},
		{"the steps promised", s.finished(stuck, "b", "a", ":unwinding", "b:compensated"), ""},
		{"steps in another order", s.finished(stuck, "a", "b", ":unwinding", "b:compensated"), `instead of ["a" "b"`},
		{"no steps", s.finished(charged, "a"), `[] instead of ["a"]`},
		{"the record promised", s.recorded(charged, persistence.StatusCompleted, 1), ""},
		{"a record in another state", s.recorded(killed, persistence.StatusCompleted, 1), "PROCESSING in attempt 1 instead of COMPLETED"},
		{"a record of another attempt", s.recorded(charged, persistence.StatusCompleted, 2), "attempt 1 instead of COMPLETED in attempt 2"},
		{"no record", s.recorded(unknown, persistence.StatusCompleted, 1), "has no record"},
		{"no record, as promised", s.unrecorded(unknown), ""},
		{"a record that should be gone", s.unrecorded(killed), "has a record that is PROCESSING"},
		{"an unchanged record", s.unchanged(charged, was), ""},
		{"a changed record", s.unchanged(killed, was), "instead of"},
		{"a record that has gone", s.unchanged(unknown, was), "instead of"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkFinding(t, test.finding, test.want) })
	}
}

func TestTheLastLeaseIsThatOfTheRecordsThatAreOpen(t *testing.T) {
	s := emptyStage(t)
	if got := s.lastLease(); got.UnixMilli() != 0 {
		t.Errorf("without records it ends at %v", got)
	}
	for key, until := range map[string]string{"a": "1000", "b": "3000", "c": "2000"} {
		if err := s.db.Seed(idempotencyTable, item{"idempotency_key": text(key), "status": text("PROCESSING"), "lease_until": number(until)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Seed(idempotencyTable, item{"idempotency_key": text("d"), "status": text("COMPLETED"), "lease_until": number("4000")}); err != nil {
		t.Fatal(err)
	}
	if got := s.lastLease(); got.UnixMilli() != 3000 {
		t.Errorf("it ends at %d", got.UnixMilli())
	}
}

func TestAnEmployeeWhoIsPaidTwiceIsFound(t *testing.T) {
	s := emptyStage(t)
	for _, id := range []string{"1", "2"} {
		if err := s.db.Seed(payroll.table, item{"pk": text("transfer#" + id), "month": text("2026-11"), "employee": text("e-1")}); err != nil {
			t.Fatal(err)
		}
	}
	checkFinding(t, s.transferred(2, 2), "paid 2 times")
	want := Look{At: "the bank's ledger of 2026-11", Rows: []Row{
		{"transfers", "2"}, {"employees paid", "1 of 40"}, {"most for one employee", "2"},
	}}
	if diff := cmp.Diff(want, s.lookAtBank()); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyOneRecordIsForgotten(t *testing.T) {
	s := emptyStage(t)
	forgotten, kept := Order{Key: "forgotten"}, Order{Key: "kept"}
	for _, o := range []Order{forgotten, kept} {
		if err := s.db.Seed(idempotencyTable, item{"idempotency_key": text(o.recordKey()), "status": text("COMPLETED"), "attempt": number("1"), "expire_at": number("9999999999")}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // also when there is nothing to forget
		if err := s.forget(forgotten); err != nil {
			t.Fatal(err)
		}
	}
	checkFinding(t, s.unrecorded(forgotten), "")
	checkFinding(t, s.recorded(kept, persistence.StatusCompleted, 1), "")
	if sent := s.db.Requests(); len(sent) != 0 {
		t.Errorf("it counts as requests: %v", sent)
	}
}

func TestFindingsInTheQueues(t *testing.T) {
	s := emptyStage(t)
	s.queue = queuesim.NewQueue(queuesim.QueueConfig{Name: "orders", MaxReceive: 1})
	for _, body := range []string{"dead", "alive"} {
		s.queue.Send(queuesim.Letter{Body: body})
	}
	s.queue.Receive(1)
	s.queue.Receive(1)
	for _, test := range []struct{ name, finding, want string }{
		{"the dead letter promised", s.dead("dead"), ""},
		{"a dead letter that nobody expects", s.dead(), `["dead"] instead of []`},
		{"a message that is not dead", s.dead("dead", "alive"), `["dead"] instead of ["dead" "alive"]`},
		{"the message left", s.queued(1), ""},
		{"a message that should be gone", s.queued(0), "1 message instead of 0"},
		{"a message that is lost", s.queued(2), "1 message instead of 2"},
	} {
		t.Run(test.name, func(t *testing.T) { checkFinding(t, test.finding, test.want) })
	}
}

func checkFinding(t *testing.T, got, want string) {
	t.Helper()
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

// emptyStage is a stage with nobody on it.
func emptyStage(t *testing.T) *stage {
	t.Helper()
	s, err := newStage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ms(n int) Milliseconds { return Milliseconds(time.Duration(n) * time.Millisecond) }
