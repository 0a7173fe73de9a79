package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/queuesim"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestFindings(t *testing.T) {
	put := Request{Table: idempotencyTable, Operation: "PutItem"}
	update := Request{Table: idempotencyTable, Operation: "UpdateItem"}
	putRefused := Request{Table: idempotencyTable, Operation: "PutItem", Error: "ConditionalCheckFailedException"}
	putThrottled := Request{Table: idempotencyTable, Operation: "PutItem", Error: "ThrottlingException"}
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
	paid, killed, unknown := Order{Key: "paid"}, Order{Key: "killed"}, Order{Key: "unknown"}
	user, noMail := Registration{Key: "1", Email: "user"}, Registration{Key: "2", Email: "no mail"}
	shipped := Parcel{ID: "shipped"}
	s := emptyStage(t)
	for table, items := range map[string][]item{
		idempotencyTable: {
			{"idempotency_key": text(paid.recordKey()), "status": text("COMPLETED"), "attempt": number("1")},
			{"idempotency_key": text(killed.recordKey()), "status": text("PROCESSING"), "attempt": number("1"), "lease_until": number("1700000000000")},
		},
		payment.table: {
			{"pk": text("charge#1"), "customer": text(paid.customer())}, {"pk": text("payment#1"), "customer": text(paid.customer())},
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
	was, _ := s.record(paid)

	tests := []struct {
		name    string
		finding string
		want    string
	}{
		{"charged as promised", s.done(paid, 1), ""},
		{"charged twice", s.done(killed, 1), "2 charges instead of 1"},
		{"never charged", s.done(unknown, 1), "0 charges instead of 1"},
		{"registered", s.done(user, 1), ""},
		{"registered without a mail", s.done(noMail, 1), "0 mails instead of 1"},
		{"shipped", s.done(shipped, 1), ""},
		{"shipped though it should not be", s.done(shipped, 0), "1 shipment instead of 0"},
		{"the record promised", s.recorded(paid, persistence.StatusCompleted, 1), ""},
		{"a record in another state", s.recorded(killed, persistence.StatusCompleted, 1), "PROCESSING in attempt 1 instead of COMPLETED"},
		{"a record of another attempt", s.recorded(paid, persistence.StatusCompleted, 2), "attempt 1 instead of COMPLETED in attempt 2"},
		{"no record", s.recorded(unknown, persistence.StatusCompleted, 1), "has no record"},
		{"no record, as promised", s.unrecorded(unknown), ""},
		{"a record that should be gone", s.unrecorded(killed), "has a record that is PROCESSING"},
		{"an unchanged record", s.unchanged(paid, was), ""},
		{"a changed record", s.unchanged(killed, was), "instead of"},
		{"a record that has gone", s.unchanged(unknown, was), "instead of"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkFinding(t, test.finding, test.want) })
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
