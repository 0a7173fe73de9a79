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

	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// A caller is told that nothing was written where DynamoDB has said so, and nowhere
// else. After a try without an answer it is the cancellation of another one that says
// so, of a transaction with a record whose owner can put an end to both.
func TestAFaultSaysWhetherNothingWasWritten(t *testing.T) {
	const always = dynamolocal.Always
	refuse := func(code string, status int) dynamolocal.Effect { return dynamolocal.Fail(code, "", status) }
	missing := func(l ledger) dynamostore.Write {
		w := l.add("a", "1")
		w.Update.TableName = aws.String("no-such-table")
		return w
	}
	for name, test := range map[string]struct {
		plan  []dynamolocal.Fault
		write func(ledger) dynamostore.Write
		owned bool // wanted where the record has an owner
		other bool // wanted elsewhere
	}{
		"conflicts on the record":      {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.TransactionConflict()}}, owned: true, other: true},
		"conflicts on a write":         {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.Cancel("None", "TransactionConflict")}}, owned: true, other: true},
		"cancelled without a reason":   {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.Cancel()}}, owned: true, other: true},
		"throttled":                    {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.Throttle()}}, owned: true, other: true},
		"not allowed":                  {plan: []dynamolocal.Fault{{Times: always, Do: refuse("AccessDeniedException", 400)}}, owned: true, other: true},
		"a table that does not exist":  {write: missing, owned: true, other: true},
		"conflicts, then not allowed":  {plan: []dynamolocal.Fault{{Times: 2, Do: dynamolocal.TransactionConflict()}, {Match: 3, Do: refuse("AccessDeniedException", 400)}}, owned: true, other: true},
		"a try lost, then conflicts":   {plan: []dynamolocal.Fault{{Do: dynamolocal.DropRequest()}, {Match: 2, Times: always, Do: dynamolocal.TransactionConflict()}}, owned: true},
		"a 500, then conflicts":        {plan: []dynamolocal.Fault{{Do: dynamolocal.FailBefore()}, {Match: 2, Times: always, Do: dynamolocal.TransactionConflict()}}, owned: true},
		"too late, then conflicts":     {plan: []dynamolocal.Fault{{Do: dynamolocal.DelayBefore(time.Hour)}, {Match: 2, Times: always, Do: dynamolocal.TransactionConflict()}}, owned: true},
		"a try lost, then throttled":   {plan: []dynamolocal.Fault{{Do: dynamolocal.DropRequest()}, {Match: 2, Times: always, Do: dynamolocal.Throttle()}}},
		"a try lost, then not allowed": {plan: []dynamolocal.Fault{{Do: dynamolocal.DropRequest()}, {Match: 2, Do: refuse("AccessDeniedException", 400)}}},
		"a reply lost, then forbidden": {plan: []dynamolocal.Fault{{Do: dynamolocal.DropReply()}, {Match: 2, Do: refuse("AccessDeniedException", 400)}}},
		"applied, then a 500 for ever": {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.FailAfter()}}},
		"a 500 for ever":               {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.FailBefore()}}},
		"no answer":                    {plan: []dynamolocal.Fault{{Times: always, Do: dynamolocal.DropReply()}}},
		"under way for ever":           {plan: []dynamolocal.Fault{{Times: always, Do: refuse("TransactionInProgressException", 400)}}},
		"refused by something before":  {plan: []dynamolocal.Fault{{Times: always, Do: refuse("Forbidden", 403)}}},
	} {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db := dynamolocal.New()
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
					want := test.other
					if call.owned {
						want = test.owned
					}
					err := do(t.Context(), write)
					if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Unwritten != want {
						t.Errorf("got %v (%+v), want Unwritten: %t", err, fault, want)
					}
					db.ClearFaults()
					if after := dump(t, db); want && after != before {
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
				dynamolocal.Fault{Operation: "TransactWriteItems", Do: dynamolocal.Cancel()},
				dynamolocal.Fault{Operation: "GetItem", Do: dynamolocal.Fail("AccessDeniedException", "", 400)},
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
	db.Inject(dynamolocal.Fault{Times: dynamolocal.Always, Do: dynamolocal.Fail("AccessDeniedException", "", 400)})
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
		plan []dynamolocal.Fault
		want bool
	}{
		"not allowed":                  {[]dynamolocal.Fault{{Do: dynamolocal.Fail("AccessDeniedException", "", 400)}}, true},
		"a reply lost, then forbidden": {[]dynamolocal.Fault{{Do: dynamolocal.DropReply()}, {Match: 2, Do: dynamolocal.Fail("AccessDeniedException", "", 400)}}, false},
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

// A client that does not show its tries, such as one of DAX, is believed where it
// brings a cancellation.
func TestOfAHiddenTryOnlyACancellationTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conflict := canceled("TransactionConflict")
		denied := &smithy.GenericAPIError{Code: "AccessDeniedException"}
		for _, test := range []struct {
			name   string
			answer error
			do     func(*dynamostore.Store, ...persistence.Write) error
			want   bool
		}{
			{"conflicts", conflict, completeWith, true},
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

func completeWith(store *dynamostore.Store, w ...persistence.Write) error {
	return store.CompleteWith(context.Background(), claim("me").Fresh().Lease(), completed("x"), w)
}

func commit(store *dynamostore.Store, w ...persistence.Write) error {
	return store.Commit(context.Background(), w)
}
