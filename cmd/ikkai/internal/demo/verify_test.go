package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestFindings(t *testing.T) {
	put := Request{Table: idempotencyTable, Operation: "PutItem"}
	putRefused := Request{Table: idempotencyTable, Operation: "PutItem", Error: "ConditionalCheckFailedException"}
	putThrottled := Request{Table: idempotencyTable, Operation: "PutItem", Error: "ThrottlingException"}
	charge := Request{Table: paymentsTable, Operation: "PutItem"}
	first := Beat{Environment: "env-1", Answer: answerOf([]byte(`{"statusCode":201,"body":"paid"}`))}

	tests := []struct {
		name    string
		finding string
		want    string // a part of it; "" if there is nothing to find
	}{
		{"the status promised", answered(first, 201), ""},
		{"another status", answered(first, 409), "answered 201 instead of 409"},
		{"the same bytes", sameBytes(first, first), ""},
		{"the same bytes, marked as a replay", sameBytes(Beat{Answer: answerOf([]byte(`{"statusCode":201,"headers":{"Idempotent-Replayed":"true"},"body":"paid"}`))}, first), ""},
		{"other bytes of the same meaning", sameBytes(Beat{Answer: answerOf([]byte(`{"statusCode":201,"body":"paid "}`))}, first), "instead of"},
		{"told to wait", toldToWait(Beat{Answer: Answer{RetryAfter: 1}}), ""},
		{"not told to wait", toldToWait(first), "did not say when to retry"},
		{"killed", killed(Beat{Answer: answerOf([]byte("Task timed out after 2.00 seconds"))}), ""},
		{"not killed", killed(first), "was not killed"},
		{"failed by itself", killed(Beat{Answer: answerOf([]byte(`{"errorMessage":"no","errorType":"x"}`))}), "was not killed"},
		{"the requests promised", took(Beat{Requests: []Request{putRefused, charge}}, refused("PutItem")), ""},
		{"a request that should have failed", took(Beat{Requests: []Request{put}}, refused("PutItem")), "PutItem ✗"},
		{"one request too many", took(Beat{Requests: []Request{put, put}}, "PutItem"), `["PutItem" "PutItem"] instead of ["PutItem"]`},
		{"a request that failed otherwise", took(Beat{Requests: []Request{putThrottled}}, refused("PutItem")), "PutItem ThrottlingException"},
		{"the handler did not run", untouched(Beat{Requests: []Request{put}}), ""},
		{"the handler ran", untouched(Beat{Requests: []Request{put, charge}}), "ran the handler"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { checkFinding(t, test.finding, test.want) })
	}
}

func TestFindingsInTheTables(t *testing.T) {
	paid, killed, unknown := Order{Key: "paid"}, Order{Key: "killed"}, Order{Key: "unknown"}
	s := tables(t,
		item{"idempotency_key": text(recordKey(paid)), "status": text("COMPLETED"), "attempt": number("1")},
		item{"idempotency_key": text(recordKey(killed)), "status": text("PROCESSING"), "attempt": number("1"), "lease_until": number("1700000000000")})
	charge := func(id string, o Order) item { return item{"pk": text(id), "customer": text(customerOf(o))} }
	if err := s.db.Seed(paymentsTable, charge("charge#1", paid), charge("charge#2", killed), charge("charge#3", killed), charge("payment#1", paid)); err != nil {
		t.Fatal(err)
	}
	was, _ := s.record(paid)

	tests := []struct {
		name    string
		finding string
		want    string
	}{
		{"charged as promised", s.charged(paid, 1), ""},
		{"charged twice", s.charged(killed, 1), "charged 2 times instead of 1"},
		{"never charged", s.charged(unknown, 1), "charged 0 times instead of 1"},
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

func checkFinding(t *testing.T, got, want string) {
	t.Helper()
	if (got == "") != (want == "") || !strings.Contains(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }

// tables is a stage with a database and nobody on it.
func tables(t *testing.T, records ...item) *stage {
	t.Helper()
	s := &stage{db: dynamolocal.New(), environments: make(map[string]*environment)}
	if err := s.createTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.db.ResetLog()
	if err := s.db.Seed(idempotencyTable, records...); err != nil {
		t.Fatal(err)
	}
	return s
}

func ms(n int) Milliseconds { return Milliseconds(time.Duration(n) * time.Millisecond) }
