package dynamostore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// A caller is told that nothing was written, nor will be, where DynamoDB has refused every
// try, and nowhere else. After a try without an answer the cancellation of another one says
// nothing about that: it frees their token, and the first may arrive yet.
func TestAFaultSaysWhetherNothingWasWritten(t *testing.T) {
	const always = dynamotest.Always
	refuse := func(code string, status int) dynamotest.Effect { return dynamotest.Fail(code, "", status) }
	missing := func(l ledger) dynamostore.Write {
		w := l.add("a", "1")
		w.Update.TableName = aws.String("no-such-table")
		return w
	}
	for name, test := range map[string]struct {
		plan  []dynamotest.Fault
		write func(ledger) dynamostore.Write
		want  bool
	}{
		"conflicts on the record":      {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.TransactionConflict()}}, want: true},
		"conflicts on a write":         {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.Cancel("None", "TransactionConflict")}}, want: true},
		"cancelled without a reason":   {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.Cancel()}}, want: true},
		"throttled":                    {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.Throttle()}}, want: true},
		"not allowed":                  {plan: []dynamotest.Fault{{Times: always, Do: refuse("AccessDeniedException", 400)}}, want: true},
		"a table that does not exist":  {write: missing, want: true},
		"conflicts, then not allowed":  {plan: []dynamotest.Fault{{Times: 2, Do: dynamotest.TransactionConflict()}, {Nth: 3, Do: refuse("AccessDeniedException", 400)}}, want: true},
		"a try lost, then conflicts":   {plan: []dynamotest.Fault{{Do: dynamotest.LoseRequest()}, {Nth: 2, Times: always, Do: dynamotest.TransactionConflict()}}},
		"a 500, then conflicts":        {plan: []dynamotest.Fault{{Do: dynamotest.FailBefore()}, {Nth: 2, Times: always, Do: dynamotest.TransactionConflict()}}},
		"too late, then conflicts":     {plan: []dynamotest.Fault{{Do: dynamotest.DelayBefore(time.Hour)}, {Nth: 2, Times: always, Do: dynamotest.TransactionConflict()}}},
		"a try lost, then throttled":   {plan: []dynamotest.Fault{{Do: dynamotest.LoseRequest()}, {Nth: 2, Times: always, Do: dynamotest.Throttle()}}},
		"a try lost, then not allowed": {plan: []dynamotest.Fault{{Do: dynamotest.LoseRequest()}, {Nth: 2, Do: refuse("AccessDeniedException", 400)}}},
		"a reply lost, then forbidden": {plan: []dynamotest.Fault{{Do: dynamotest.LoseReply()}, {Nth: 2, Do: refuse("AccessDeniedException", 400)}}},
		"applied, then a 500 for ever": {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.FailAfter()}}},
		"a 500 for ever":               {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.FailBefore()}}},
		"no answer":                    {plan: []dynamotest.Fault{{Times: always, Do: dynamotest.LoseReply()}}},
		"under way for ever":           {plan: []dynamotest.Fault{{Times: always, Do: refuse("TransactionInProgressException", 400)}}},
		"refused by something before":  {plan: []dynamotest.Fault{{Times: always, Do: refuse("Forbidden", 403)}}},
	} {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db := dynamotest.New(t)
					client := db.Client(impatient, func(o *dynamodb.Options) { o.RetryMaxAttempts = 3 })
					store, books := newTable(t, client, dynamostore.Config{Table: "idempotency"}), newLedger(t, client, "ledger")
					do := call.begin(t, store)
					before := dump(t, db)
					for _, f := range test.plan {
						if f.Operation == "" {
							f.Operation = "TransactWriteItems"
						}
						db.Inject(f)
					}
					write := books.add("a", "1")
					if test.write != nil {
						write = test.write(books)
					}
					err := do(t.Context(), write)
					if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Unwritten != test.want {
						t.Errorf("got %v (%+v), want Unwritten: %t", err, fault, test.want)
					}
					db.ClearFaults()
					if after := dump(t, db); test.want && after != before {
						t.Errorf("it changed\n%sto\n%s", before, after)
					}
				})
			})
		}
	}
}

// A cancellation without a reason may be for the record's sake: nothing is known as long
// as that can't be read.
func TestWithoutAReasonTheRecordHasToTell(t *testing.T) {
	for _, call := range transactionals {
		if !call.record {
			continue
		}
		t.Run(call.name, func(t *testing.T) {
			db, store, books := newBank(t, dynamostore.Config{})
			do := call.begin(t, store)
			db.Inject(
				dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.Cancel()},
				dynamotest.Fault{Operation: "GetItem", Do: dynamotest.Fail("AccessDeniedException", "", 400)},
			)
			err := do(t.Context(), books.add("a", "1"))
			if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Unwritten {
				t.Errorf("got %v (%+v)", err, fault)
			}
		})
	}
}

// The words are about the application's writes. A function whose record can't be
// completed has had whatever effects it has.
func TestARecordAloneIsNeverCalledUnwritten(t *testing.T) {
	db, store, _ := newBank(t, dynamostore.Config{})
	lease := acquired(t, store, "me")
	db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.Fail("AccessDeniedException", "", 400)})
	_, atOnce := store.CompleteAtOnce(t.Context(), claim("you"), completed("done"), nil)
	for name, err := range map[string]error{
		"complete":         store.CompleteWith(t.Context(), lease, completed("done"), nil),
		"checkpoint":       store.CheckpointWith(t.Context(), lease, "pay", nil, nil),
		"complete at once": atOnce,
		"release":          store.Release(t.Context(), lease),
	} {
		if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Unwritten {
			t.Errorf("%s: got %v (%+v)", name, err, fault)
		}
	}
}

// A write that needs no transaction is told of like one that does.
func TestAFaultOfASingleWriteSaysWhetherItWasWritten(t *testing.T) {
	for name, test := range map[string]struct {
		plan []dynamotest.Fault
		want bool
	}{
		"not allowed":                  {[]dynamotest.Fault{{Do: dynamotest.Fail("AccessDeniedException", "", 400)}}, true},
		"a reply lost, then forbidden": {[]dynamotest.Fault{{Do: dynamotest.LoseReply()}, {Nth: 2, Do: dynamotest.Fail("AccessDeniedException", "", 400)}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			db, store, books := newBank(t, dynamostore.Config{})
			db.Inject(test.plan...)
			write := books.open("a")
			write.Repeatable = true
			err := dynamostore.Apply(t.Context(), store.client, write)
			if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Unwritten != test.want || db.Requests()[0].Operation != "PutItem" {
				t.Errorf("got %v (%+v)", err, fault)
			}
		})
	}
}

// Of a client that does not show its tries, such as one of DAX, nobody knows whether one of
// them can arrive yet.
func TestHiddenTriesTellNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conflict := canceled("TransactionConflict")
		denied := &smithy.GenericAPIError{Code: "AccessDeniedException"}
		for _, test := range []struct {
			name   string
			answer error
			do     func(*dynamostore.Store, ...storekit.Write) error
			want   bool
		}{
			{"conflicts", conflict, completeWith, false},
			{"conflicts without a record", conflict, commit, false},
			{"not allowed", denied, completeWith, false},
			{"not allowed without a record", denied, commit, false},
		} {
			api := new(transactor)
			for range 6 {
				api.err = append(api.err, test.answer)
			}
			store, err := dynamostore.New(api, dynamostore.Config{Table: "t"})
			if err != nil {
				t.Fatal(err)
			}
			err = test.do(store, ledger{table: "ledger"}.add("a", "1"))
			if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Unwritten != test.want {
				t.Errorf("%s: got %v (%+v)", test.name, err, fault)
			}
		}
	})
}

func completeWith(store *dynamostore.Store, w ...storekit.Write) error {
	return store.CompleteWith(context.Background(), claim("me").Fresh().Lease(), completed("x"), w)
}

func commit(store *dynamostore.Store, w ...storekit.Write) error {
	return store.Commit(context.Background(), w)
}
