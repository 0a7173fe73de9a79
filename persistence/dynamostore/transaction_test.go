package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/storekit"
)

// ledger is a table of the application: accounts with a balance.
type ledger struct {
	client *dynamodb.Client
	table  string
}

func newLedger(t testing.TB, client *dynamodb.Client, name string) ledger {
	t.Helper()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledger{client, name}
}

// newBank is a store and a ledger in one embedded database.
func newBank(t testing.TB, config dynamostore.Config) (*dynamotest.DB, planter, ledger) {
	t.Helper()
	db, store := newStoreWith(t, config)
	books := newLedger(t, store.client, "ledger")
	db.ResetLog()
	return db, store, books
}

// add changes a balance by some amount, each time that it is applied.
func (l ledger) add(id, amount string) dynamostore.Write {
	return dynamostore.Write{Update: &types.Update{
		TableName: &l.table, Key: attributes{"id": text(id)}, UpdateExpression: aws.String("ADD balance :n"),
		ExpressionAttributeValues: attributes{":n": number(amount)},
	}}
}

// open makes an account that is not there yet.
func (l ledger) open(id string) dynamostore.Write {
	return dynamostore.Write{Put: &types.Put{
		TableName: &l.table, Item: attributes{"id": text(id)}, ConditionExpression: aws.String("attribute_not_exists(id)"),
	}}
}

func (l ledger) balance(t testing.TB, id string) string {
	t.Helper()
	out, err := l.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: attributes{"id": text(id)}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	if balance, ok := out.Item["balance"].(*types.AttributeValueMemberN); ok {
		return balance.Value
	}
	return ""
}

func writes(given ...dynamostore.Write) []storekit.Write {
	enlisted := make([]storekit.Write, len(given))
	for i, w := range given {
		enlisted[i] = w
	}
	return enlisted
}

// transactional is a call that commits writes.
type transactional struct {
	name string
	// begin acquires what the call needs and returns the call.
	begin func(t *testing.T, store planter) func(context.Context, ...dynamostore.Write) error
	// recorded tells whether the record says that the call was carried out.
	recorded func(r persistence.Record, found bool) bool
	// record is whether the transaction has one.
	record bool
}

var transactionals = []transactional{
	{
		name: "complete",
		begin: func(t *testing.T, store planter) func(context.Context, ...dynamostore.Write) error {
			lease := acquired(t, store, "me")
			return func(ctx context.Context, w ...dynamostore.Write) error {
				return store.CompleteWith(ctx, lease, completed("done"), writes(w...))
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Result) == "done" },
		record:   true,
	},
	{
		name: "first checkpoint",
		begin: func(t *testing.T, store planter) func(context.Context, ...dynamostore.Write) error {
			lease := acquired(t, store, "me")
			return func(ctx context.Context, w ...dynamostore.Write) error {
				return store.CheckpointWith(ctx, lease, "pay", []byte("done"), writes(w...))
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Steps["pay"]) == "done" },
		record:   true,
	},
	{
		name: "further checkpoint",
		begin: func(t *testing.T, store planter) func(context.Context, ...dynamostore.Write) error {
			lease := acquired(t, store, "me")
			if err := store.Checkpoint(t.Context(), lease, "reserve", nil); err != nil {
				t.Fatal(err)
			}
			lease.Steps = map[string][]byte{"reserve": nil}
			return func(ctx context.Context, w ...dynamostore.Write) error {
				return store.CheckpointWith(ctx, lease, "pay", []byte("done"), writes(w...))
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Steps["pay"]) == "done" },
		record:   true,
	},
	{
		name: "complete at once",
		begin: func(_ *testing.T, store planter) func(context.Context, ...dynamostore.Write) error {
			return func(ctx context.Context, w ...dynamostore.Write) error {
				r, err := store.CompleteAtOnce(ctx, claim("me"), completed("done"), writes(w...))
				if err == nil && (r.Owner != "me" || string(r.Result) != "done") {
					return fmt.Errorf("got %+v", r)
				}
				return err
			}
		},
		recorded: func(r persistence.Record, _ bool) bool { return r.Owner == "me" && string(r.Result) == "done" },
		record:   true,
	},
	{
		name: "commit",
		begin: func(_ *testing.T, store planter) func(context.Context, ...dynamostore.Write) error {
			return func(ctx context.Context, w ...dynamostore.Write) error { return store.Commit(ctx, writes(w...)) }
		},
		recorded: func(_ persistence.Record, found bool) bool { return !found },
	},
}

func acquired(t *testing.T, store persistence.Store, owner string) persistence.Lease {
	t.Helper()
	r, err := store.Acquire(t.Context(), claim(owner))
	if err != nil || r.Owner != owner {
		t.Fatalf("acquire: %+v, %v", r, err)
	}
	return r.Lease()
}

func recordOf(t *testing.T, store persistence.Reader) (persistence.Record, bool) {
	t.Helper()
	r, found, err := store.Read(t.Context(), claim("").Key)
	if err != nil {
		t.Fatal(err)
	}
	return r, found
}

// One request for the record and two writes, at twice the price of plain ones.
func TestWritesCommitInOneRequestWithTheRecord(t *testing.T) {
	for name, config := range map[string]dynamostore.Config{"default table": {}, "composite table": composite()} {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				db, store, books := newBank(t, config)
				do := call.begin(t, store)
				db.ResetLog()
				if err := do(t.Context(), books.add("a", "-7"), books.add("b", "7")); err != nil {
					t.Fatal(err)
				}
				want := 4.0
				if call.record {
					want = 6
				}
				if requests := db.Requests(); len(requests) != 1 || requests[0].Operation != "TransactWriteItems" || requests[0].Capacity.Write != want {
					t.Errorf("sent %+v, want one transaction of %v units", requests, want)
				}
				if a, b := books.balance(t, "a"), books.balance(t, "b"); a != "-7" || b != "7" {
					t.Errorf("the balances are %s and %s", a, b)
				}
				if r, found := recordOf(t, store); !call.recorded(r, found) {
					t.Errorf("the record is %+v, %v", r, found)
				}
			})
		}
	}
}

// Whatever becomes of the request or its reply, the writes are applied once, and the
// caller learns of it.
func TestWritesHappenOnceWhateverBecomesOfTheRequest(t *testing.T) {
	fail := func(code string, status int) dynamotest.Effect { return dynamotest.Fail(code, "", status) }
	faults := map[string][]dynamotest.Fault{
		"reply lost":                       {{Do: dynamotest.LoseReply()}},
		"reply lost twice":                 {{Times: 2, Do: dynamotest.LoseReply()}},
		"request lost":                     {{Do: dynamotest.LoseRequest()}},
		"request lost, then the reply":     {{Do: dynamotest.LoseRequest()}, {Nth: 2, Do: dynamotest.LoseReply()}},
		"500 after it was applied":         {{Do: dynamotest.FailAfter()}},
		"500 before it was applied":        {{Do: dynamotest.FailBefore()}},
		"no answer":                        {{Do: dynamotest.DelayAfter(time.Hour)}},
		"still under way":                  {{Do: dynamotest.LoseReply()}, {Nth: 2, Do: fail("TransactionInProgressException", 400)}},
		"conflict on the record":           {{Times: 3, Do: dynamotest.TransactionConflict()}},
		"conflict on a write":              {{Do: dynamotest.Cancel("None", "TransactionConflict")}},
		"conflict, and a condition beside": {{Do: dynamotest.Cancel("TransactionConflict", "ConditionalCheckFailed")}},
		"throttled":                        {{Times: 2, Do: dynamotest.Throttle()}},
		"throttled by a reason":            {{Do: dynamotest.Cancel("None", "ThrottlingError")}},
		"capacity exceeded by a reason":    {{Do: dynamotest.Cancel("ProvisionedThroughputExceeded", "None")}},
		"reply lost, then a conflict":      {{Do: dynamotest.LoseReply()}, {Nth: 2, Do: dynamotest.TransactionConflict()}},
	}
	for name, plan := range faults {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db, store, books := newBank(t, dynamostore.Config{})
					do := call.begin(t, store)
					db.Inject(plan...)
					if err := do(t.Context(), books.add("a", "1")); err != nil {
						t.Errorf("got %v", err)
					}
					if got := books.balance(t, "a"); got != "1" {
						t.Errorf("the balance is %s, want it to be changed once", got)
					}
					if r, found := recordOf(t, store); !call.recorded(r, found) {
						t.Errorf("the record is %+v, %v", r, found)
					}
				})
			})
		}
	}
}

// With a record, the writes happen once even where the token does not tell any more:
// after ten minutes, or where the caller calls again. Also for endpoints that give no
// item, or no reason.
func TestARecordTellsWhetherItsWritesWereApplied(t *testing.T) {
	for name, effect := range map[string]dynamotest.Effect{
		"items told":   dynamotest.DelayAfter(0),
		"no items":     dynamotest.OmitItem(),
		"no reasons":   dynamotest.OmitReasons(),
		"answers lost": dynamotest.Before(func(dynamotest.Request) {}),
	} {
		for _, call := range transactionals {
			if !call.record {
				continue
			}
			t.Run(name+" "+call.name, func(t *testing.T) {
				db, store, books := newBank(t, dynamostore.Config{})
				do := call.begin(t, store)
				db.Inject(
					dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: effect},
					dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.LoseReply()},
					dynamotest.Fault{Operation: "TransactWriteItems", Nth: 2, Do: dynamotest.Before(func(dynamotest.Request) { db.ForgetTokens() })},
				)
				for range 3 {
					if err := do(t.Context(), books.add("a", "1"), books.open("b")); err != nil {
						t.Errorf("got %v", err)
					}
				}
				if got := books.balance(t, "a"); got != "1" {
					t.Errorf("the balance is %s, want it to be changed once", got)
				}
			})
		}
	}
}

// A transaction without a record rests on its token, and is not sent again when
// DynamoDB may have forgotten that: here an environment is so slow that the third try
// would come after ten minutes.
func TestNoTransactionIsSentAgainAfterItsTokenIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		config := dynamostore.Config{Table: "idempotency", RequestTimeout: 4 * time.Minute}
		store := newTable(t, db.Client(impatient), config)
		books := newLedger(t, store.client, "ledger")
		db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: 3, Do: dynamotest.DelayAfter(time.Hour)})
		err := store.Commit(t.Context(), writes(books.add("a", "1")))
		if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Retryable {
			t.Errorf("got %v, want a retryable fault", err)
		}
		if got := books.balance(t, "a"); got != "1" {
			t.Errorf("the balance is %s, want it to be changed once", got)
		}
	})
}

// The token is the same in all tries of a call, another one in the next call, and not
// longer than DynamoDB takes.
func TestEveryTransactionHasATokenOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := &transactor{err: []error{&types.TransactionInProgressException{}, canceled("TransactionConflict"), nil, nil}}
		store, err := dynamostore.New(api, dynamostore.Config{Table: "t"})
		if err != nil {
			t.Fatal(err)
		}
		books := ledger{table: "ledger"}
		for range 2 {
			if err := store.Commit(t.Context(), writes(books.add("a", "1"))); err != nil {
				t.Fatal(err)
			}
		}
		if len(api.tokens) != 4 || api.tokens[0] != api.tokens[1] || api.tokens[1] != api.tokens[2] || api.tokens[2] == api.tokens[3] {
			t.Errorf("got %q", api.tokens)
		}
		for _, token := range api.tokens {
			if len(token) < 16 || len(token) > 36 {
				t.Errorf("the token %q has %d characters", token, len(token))
			}
		}
	})
}

// transactor is a client that answers transactions one by one.
type transactor struct {
	stub
	err    []error
	tokens []string
}

func (a *transactor) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	a.tokens = append(a.tokens, aws.ToString(in.ClientRequestToken))
	err := a.err[0]
	a.err = a.err[1:]
	return new(dynamodb.TransactWriteItemsOutput), err
}

func canceled(codes ...string) error {
	e := new(types.TransactionCanceledException)
	for _, code := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String(code)})
	}
	return e
}

// A conflict that does not pass is a fault that may be gone later; so is a
// cancellation that nobody explains. Nothing was applied.
func TestATransactionThatStaysBusyIsARetryableFault(t *testing.T) {
	for name, effect := range map[string]dynamotest.Effect{
		"conflict":           dynamotest.TransactionConflict(),
		"conflict elsewhere": dynamotest.Cancel("None", "TransactionConflict"),
		"throttled":          dynamotest.Throttle(),
		"no reasons":         dynamotest.Cancel(),
		"empty reasons":      dynamotest.Cancel("None", "None"),
		"server error":       dynamotest.FailBefore(),
	} {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					db, store, books := newBank(t, dynamostore.Config{})
					do := call.begin(t, store)
					db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: effect})
					err := do(t.Context(), books.add("a", "1"))
					if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Retryable {
						t.Errorf("got %v, want a retryable fault", err)
					}
					db.ClearFaults()
					if err := do(t.Context(), books.add("a", "1")); err != nil {
						t.Errorf("again: %v", err)
					}
					if got := books.balance(t, "a"); got != "1" {
						t.Errorf("the balance is %s, want it to be changed once", got)
					}
				})
			})
		}
	}
}

// A run that has lost its lease commits nothing, also where its own conditions hold
// or fail, and whatever the endpoint tells.
func TestAZombiesWritesAreNotApplied(t *testing.T) {
	gone := func(t *testing.T, db *dynamotest.DB, _ planter) { remove(t, db, claim("").Key) }
	takenOver := func(t *testing.T, _ *dynamotest.DB, store planter) {
		c := claim("next")
		c.Now = claim("").LeaseUntil.Add(time.Second)
		c.LeaseUntil = c.Now.Add(time.Minute)
		if r, err := store.Acquire(t.Context(), c); err != nil || r.Owner != "next" {
			t.Fatalf("taken over: %+v, %v", r, err)
		}
	}
	finished := func(t *testing.T, db *dynamotest.DB, store planter) {
		takenOver(t, db, store)
		if err := store.Complete(t.Context(), claim("next").Fresh().Lease(), completed("theirs")); err != nil {
			t.Fatal(err)
		}
	}
	for name, lose := range map[string]func(*testing.T, *dynamotest.DB, planter){"taken over": takenOver, "finished by the next": finished, "gone": gone} {
		for told, effects := range map[string][]dynamotest.Effect{"": nil, "no items": {dynamotest.OmitItem()}, "no reasons": {dynamotest.OmitReasons()}} {
			for _, call := range transactionals[:3] {
				t.Run(fmt.Sprint(name, " ", told, " ", call.name), func(t *testing.T) {
					db, store, books := newBank(t, dynamostore.Config{})
					do := call.begin(t, store)
					lose(t, db, store)
					for _, effect := range effects {
						db.Inject(dynamotest.Fault{Operation: "TransactWriteItems", Times: dynamotest.Always, Do: effect})
					}
					if err := store.Commit(t.Context(), writes(books.open("taken"))); err != nil {
						t.Fatal(err)
					}
					before := dump(t, db)
					for _, w := range []dynamostore.Write{books.add("a", "1"), books.open("taken")} {
						if err := do(t.Context(), w); !errors.Is(err, persistence.ErrLeaseLost) {
							t.Errorf("got %v, want ErrLeaseLost", err)
						}
					}
					if after := dump(t, db); after != before {
						t.Errorf("it changed\n%sto\n%s", before, after)
					}
				})
			}
		}
	}
}

var errSoldOut = errors.New("sold out")

// What one of the application's writes is refused for reaches it in its own words;
// nothing has changed, and the owner still owns its record.
func TestARefusedWriteIsNamedAndNothingChanges(t *testing.T) {
	soldOut := func(there map[string]types.AttributeValue) error {
		return fmt.Errorf("%w: %v", errSoldOut, there["id"].(*types.AttributeValueMemberS).Value)
	}
	tests := map[string]struct {
		spoil func(ledger) dynamostore.Write
		check func(error) bool
	}{
		"a condition, and the item in its way": {
			func(l ledger) dynamostore.Write { return l.open("taken") },
			func(err error) bool {
				failed, ok := errors.AsType[*dynamostore.ConditionError](err)
				return ok && errors.Is(err, dynamostore.ErrCondition) && failed.Table == "ledger" && len(failed.Item) == 1
			},
		},
		"a condition on nothing": {
			func(l ledger) dynamostore.Write {
				return dynamostore.Write{ConditionCheck: &types.ConditionCheck{TableName: &l.table, Key: attributes{"id": text("none")}, ConditionExpression: aws.String("attribute_exists(id)")}}
			},
			func(err error) bool {
				failed, ok := errors.AsType[*dynamostore.ConditionError](err)
				return ok && failed.Item == nil
			},
		},
		"in the application's words": {
			func(l ledger) dynamostore.Write {
				w := l.open("taken")
				w.OnRefused = soldOut
				return w
			},
			func(err error) bool {
				return errors.Is(err, errSoldOut) && strings.HasSuffix(err.Error(), "sold out: taken")
			},
		},
		"in no words": {
			func(l ledger) dynamostore.Write {
				w := l.open("taken")
				w.OnRefused = func(map[string]types.AttributeValue) error { return nil }
				return w
			},
			func(err error) bool { return errors.Is(err, dynamostore.ErrCondition) },
		},
		"the item not asked for": {
			func(l ledger) dynamostore.Write {
				w := l.open("taken")
				w.Put.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureNone
				return w
			},
			func(err error) bool {
				failed, ok := errors.AsType[*dynamostore.ConditionError](err)
				return ok && failed.Item == nil
			},
		},
		"a delete": {
			func(l ledger) dynamostore.Write {
				return dynamostore.Write{Delete: &types.Delete{TableName: &l.table, Key: attributes{"id": text("taken")}, ConditionExpression: aws.String("attribute_not_exists(id)")}}
			},
			func(err error) bool {
				failed, ok := errors.AsType[*dynamostore.ConditionError](err)
				return ok && len(failed.Item) == 1
			},
		},
		"what the item's type forbids": {
			func(l ledger) dynamostore.Write {
				w := l.add("taken", "1")
				w.Update.UpdateExpression = aws.String("SET balance = balance + :n")
				return w
			},
			func(err error) bool {
				failed, ok := errors.AsType[*dynamostore.ItemError](err)
				return ok && failed.Table == "ledger" && failed.Code == "ValidationError" && failed.Message != ""
			},
		},
	}
	for name, test := range tests {
		for _, call := range transactionals {
			t.Run(name+" "+call.name, func(t *testing.T) {
				db, store, books := newBank(t, dynamostore.Config{})
				do := call.begin(t, store)
				if err := dynamostore.Apply(t.Context(), store.client, books.open("taken")); err != nil {
					t.Fatal(err)
				}
				before := dump(t, db)
				db.ResetLog()
				err := do(t.Context(), books.add("a", "1"), test.spoil(books), books.open("taken too"))
				refused, ok := errors.AsType[*persistence.RefusedError](err)
				if _, isFault := errors.AsType[*persistence.Fault](err); !ok || isFault || refused.Index != 1 || !test.check(refused.Err) {
					t.Errorf("got %v (%T)", err, err)
				}
				if len(db.Requests()) != 1 {
					t.Errorf("it took %d requests", len(db.Requests()))
				}
				if after := dump(t, db); after != before {
					t.Errorf("it changed\n%sto\n%s", before, after)
				}
				if err := do(t.Context(), books.add("a", "1")); err != nil {
					t.Errorf("without the refused one: %v", err)
				}
			})
		}
	}
}

// Reasons that no write of ours has met yet are the write's, or the record's.
func TestOtherReasonsAreDecodedToo(t *testing.T) {
	tooLarge := &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
		{Code: aws.String("ValidationError"), Message: aws.String("Item size to update has exceeded the maximum allowed size")}, {Code: aws.String("None")},
	}}
	tests := map[string]struct {
		err   error
		check func(error) bool
	}{
		"a full item collection": {canceled("None", "ItemCollectionSizeLimitExceeded"), func(err error) bool {
			failed, ok := errors.AsType[*dynamostore.ItemError](err)
			return ok && failed.Code == "ItemCollectionSizeLimitExceeded"
		}},
		"the record is too large": {tooLarge, func(err error) bool { return errors.Is(err, persistence.ErrTooLarge) }},
		"the record can't be updated": {canceled("ValidationError", "ConditionalCheckFailed"), func(err error) bool {
			fault, ok := errors.AsType[*persistence.Fault](err)
			return ok && !fault.Retryable
		}},
		"not there": {&types.ResourceNotFoundException{}, func(err error) bool {
			fault, ok := errors.AsType[*persistence.Fault](err)
			return ok && !fault.Retryable && strings.Contains(err.Error(), "not in this account and Region")
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			store, err := dynamostore.New(&transactor{err: []error{test.err}}, dynamostore.Config{Table: "t"})
			if err != nil {
				t.Fatal(err)
			}
			lease := claim("me").Fresh().Lease()
			if err := store.CompleteWith(t.Context(), lease, completed("x"), writes(ledger{table: "ledger"}.add("a", "1"))); !test.check(err) {
				t.Errorf("got %v (%T)", err, err)
			}
		})
	}
}

// What DynamoDB refuses as a whole can never be committed.
func TestATransactionThatIsNoneIsInvalid(t *testing.T) {
	for _, call := range transactionals {
		t.Run(call.name, func(t *testing.T) {
			db, store, books := newBank(t, dynamostore.Config{})
			do := call.begin(t, store)
			before := dump(t, db)
			garbled := books.add("a", "1")
			garbled.Update.UpdateExpression = aws.String("ADD balance :m")
			if err := do(t.Context(), garbled); !errors.Is(err, persistence.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
			if after := dump(t, db); after != before {
				t.Errorf("it changed\n%sto\n%s", before, after)
			}
		})
	}
}

// Of any number of callers that complete at once, one does, its effect happens once,
// and the others get its outcome: also where the loser's own write would be refused,
// because the winner's effect is in its way.
func TestOneOfManyCompletesAtOnce(t *testing.T) {
	db, store, books := newBank(t, dynamostore.Config{})
	var callers sync.WaitGroup
	for i := range 20 {
		callers.Go(func() {
			c := claim(fmt.Sprint("caller-", i))
			r, err := store.CompleteAtOnce(t.Context(), c, completed(c.Owner), writes(books.open("unique"), books.add("a", "1")))
			if err != nil || string(r.Result) != r.Owner {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
	callers.Wait()
	if got := books.balance(t, "a"); got != "1" {
		t.Errorf("the balance is %s", got)
	}
	if len(db.Items("idempotency")) != 1 {
		t.Errorf("left %s", dump(t, db))
	}
}

// Completing at once writes the record that acquiring and completing would have left,
// where acquiring would have found it vacant; anything else it returns, unchanged.
func TestCompletingAtOnceRespectsTheRecordInTheWay(t *testing.T) {
	past, future := now.Add(-time.Minute), now.Add(time.Hour).Truncate(time.Second)
	tests := map[string]struct {
		there persistence.Record
		want  string // the owner of the record afterwards
	}{
		"running":     {persistence.Record{Status: persistence.StatusProcessing, Owner: "other", LeaseUntil: now.Add(time.Minute), ExpiresAt: future}, "other"},
		"abandoned":   {persistence.Record{Status: persistence.StatusProcessing, Owner: "other", LeaseUntil: past, ExpiresAt: future}, "other"},
		"partial":     {persistence.Record{Status: persistence.StatusPartial, Owner: "other", ExpiresAt: future, Steps: map[string][]byte{"a": []byte("1")}}, "other"},
		"completed":   {persistence.Record{Status: persistence.StatusCompleted, Owner: "other", ExpiresAt: future, Result: []byte("theirs")}, "other"},
		"failed":      {persistence.Record{Status: persistence.StatusFailed, Owner: "other", ExpiresAt: future, Result: []byte("theirs")}, "other"},
		"expired":     {persistence.Record{Status: persistence.StatusCompleted, Owner: "other", ExpiresAt: past, Result: []byte("theirs"), Steps: map[string][]byte{"a": []byte("1")}}, "me"},
		"my own":      {persistence.Record{Status: persistence.StatusFailed, Owner: "me", ExpiresAt: future, Result: []byte("mine")}, "me"},
		"never there": {},
	}
	for name, test := range tests {
		for told, effects := range map[string][]dynamotest.Effect{"": nil, " no items": {dynamotest.OmitItem()}, " no reasons": {dynamotest.OmitReasons()}} {
			for _, alone := range []string{"", " alone"} {
				t.Run(name+told+alone, func(t *testing.T) {
					db, store, books := newBank(t, dynamostore.Config{})
					for _, effect := range effects {
						db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: effect})
					}
					if test.there.Status != "" {
						test.there.Key = claim("").Key
						if err := store.Plant(t.Context(), test.there); err != nil {
							t.Fatal(err)
						}
					}
					effect := writes(books.add("a", "1"))
					if alone != "" {
						effect = nil
					}
					before := dump(t, db)
					c := claim("me")
					c.Fingerprint = "print"
					o := completed("done")
					o.ExpiresAt = future
					r, err := store.CompleteAtOnce(t.Context(), c, o, effect)
					if err != nil {
						t.Fatal(err)
					}
					stored, _ := recordOf(t, store)
					if fmt.Sprint(stored) != fmt.Sprint(r) {
						t.Errorf("returned %+v, stored %+v", r, stored)
					}
					switch mine := string(r.Result) == "done"; {
					case test.want == "other" || test.there.Owner == "me":
						if mine || r.Owner != test.there.Owner {
							t.Errorf("got %+v", r)
						}
						if after := dump(t, db); after != before {
							t.Errorf("it changed\n%sto\n%s", before, after)
						}
					case !mine || r.Owner != "me" || r.Attempt != 1 || r.Fingerprint != "print" || len(r.Steps) > 0 || !r.LeaseUntil.IsZero():
						t.Errorf("got %+v", r)
					case alone == "" && books.balance(t, "a") != "1":
						t.Errorf("the balance is %s", books.balance(t, "a"))
					}
				})
			}
		}
	}
	t.Run("acquired before", func(t *testing.T) {
		_, store, books := newBank(t, dynamostore.Config{})
		acquired(t, store, "me")
		if _, err := store.CompleteAtOnce(t.Context(), claim("me"), completed("x"), writes(books.add("a", "1"))); !errors.Is(err, persistence.ErrInvalid) {
			t.Errorf("got %v, want ErrInvalid", err)
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		db, store, books := newBank(t, dynamostore.Config{})
		seed(t, db, attributes{"idempotency_key": text(claim("").Key), "status": text("???")})
		if _, err := store.CompleteAtOnce(t.Context(), claim("me"), completed("x"), writes(books.add("a", "1"))); !errors.Is(err, persistence.ErrUnreadable) {
			t.Errorf("got %v, want ErrUnreadable", err)
		}
	})
	t.Run("gone when it is looked at", func(t *testing.T) {
		db, store, books := newBank(t, dynamostore.Config{})
		acquired(t, store, "other")
		db.Inject(
			dynamotest.Fault{Operation: "TransactWriteItems", Do: dynamotest.OmitItem()},
			dynamotest.Fault{Operation: "GetItem", Do: dynamotest.Before(func(dynamotest.Request) { remove(t, db, claim("").Key) })},
		)
		if r, err := store.CompleteAtOnce(t.Context(), claim("me"), completed("x"), writes(books.add("a", "1"))); err != nil || r.Owner != "me" {
			t.Errorf("got %+v, %v", r, err)
		}
	})
}

// One request, of half the price without writes; a compressed result counts as it is
// stored, and one that does not fit costs none.
func TestWhatCompletingAtOnceCosts(t *testing.T) {
	random := strings.Repeat("0123456789abcdef", 200) // compresses
	for name, test := range map[string]struct {
		compress bool
		result   string
		writes   int
		capacity float64
	}{
		"small":               {false, "x", 1, 4},
		"small, alone":        {false, "x", 0, 1},
		"3 KB":                {false, random, 1, 10},
		"3 KB compressed":     {true, random, 1, 4},
		"3 KB alone":          {false, random, 0, 4},
		"too large":           {false, strings.Repeat("x", 400<<10), 1, 0},
		"too large, alone":    {false, strings.Repeat("x", 400<<10), 0, 0},
		"fits if compressed":  {true, strings.Repeat("x", 400<<10), 1, 4},
		"alone if compressed": {true, strings.Repeat("x", 400<<10), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			db, store, books := newBank(t, dynamostore.Config{Compress: test.compress})
			_, err := store.CompleteAtOnce(t.Context(), claim("me"), completed(test.result), writes(slices.Repeat([]dynamostore.Write{books.add("a", "1")}, test.writes)...))
			switch requests := db.Requests(); {
			case test.capacity == 0 && (!errors.Is(err, persistence.ErrTooLarge) || len(requests) > 0):
				t.Errorf("got %v after %d requests, want ErrTooLarge", err, len(requests))
			case test.capacity != 0 && (err != nil || len(requests) != 1 || requests[0].Capacity.Write != test.capacity):
				t.Errorf("got %v, %+v, want %v units", err, requests, test.capacity)
			}
		})
	}
}

// What can't be right is refused before anything is sent.
func TestWhatCantBeCommittedIsRefusedBeforeItIsSent(t *testing.T) {
	db, store, books := newBank(t, dynamostore.Config{})
	lease := acquired(t, store, "me")
	onRecord := dynamostore.Write{Delete: &types.Delete{TableName: aws.String("idempotency"), Key: attributes{"idempotency_key": text(lease.Key)}}}
	record := dynamostore.Write{Put: &types.Put{TableName: aws.String("idempotency"), Item: attributes{"idempotency_key": text(lease.Key), "status": text("x")}}}
	other := dynamostore.Write{Delete: &types.Delete{TableName: aws.String("idempotency"), Key: attributes{"idempotency_key": text("another")}}}
	some := func(n int) (many []dynamostore.Write) {
		for i := range n {
			many = append(many, books.add(fmt.Sprint(i), "1"))
		}
		return many
	}
	db.ResetLog()
	for name, enlisted := range map[string][]storekit.Write{
		"another store's":      {"UPDATE accounts"},
		"on the record itself": writes(onRecord),
		"instead of it":        writes(record),
		"100 and the record":   writes(some(100)...),
		"nothing in it":        writes(dynamostore.Write{}),
	} {
		calls := map[string]error{
			"complete":   store.CompleteWith(t.Context(), lease, completed("x"), enlisted),
			"checkpoint": store.CheckpointWith(t.Context(), lease, "s", nil, enlisted),
		}
		_, calls["at once"] = store.CompleteAtOnce(t.Context(), claim("you"), completed("x"), enlisted)
		for call, err := range calls {
			if !errors.Is(err, persistence.ErrInvalid) {
				t.Errorf("%s, %s: got %v, want ErrInvalid", name, call, err)
			}
		}
	}
	if err := store.Commit(t.Context(), writes(some(101)...)); !errors.Is(err, persistence.ErrInvalid) {
		t.Errorf("101 writes: %v", err)
	}
	if _, err := store.CompleteAtOnce(t.Context(), persistence.Claim{}, persistence.Outcome{}, writes(other)); !errors.Is(err, persistence.ErrInvalid) {
		t.Errorf("no claim: %v", err)
	}
	if requests := db.Requests(); len(requests) > 0 {
		t.Errorf("sent %+v", requests)
	}
	if err := store.Commit(t.Context(), writes(some(100)...)); err != nil {
		t.Errorf("100 writes: %v", err)
	}
	if err := store.Commit(t.Context(), nil); err != nil {
		t.Errorf("none: %v", err)
	}
	if err := store.CheckpointWith(t.Context(), lease, "alone", nil, nil); err != nil {
		t.Errorf("a checkpoint without writes: %v", err)
	}
	if err := store.CompleteWith(t.Context(), lease, completed("x"), writes(append(some(98), other)...)); err != nil {
		t.Errorf("99 writes and the record: %v", err)
	}
	var operations []string
	for _, r := range db.Requests() {
		operations = append(operations, r.Operation)
	}
	if want := "[TransactWriteItems UpdateItem TransactWriteItems]"; fmt.Sprint(operations) != want {
		t.Errorf("sent %v, want %s", operations, want)
	}
}

// How much a record holds is known beforehand, to the byte, with what its owner asks
// to be left free.
func TestARecordHasRoomForWhatItSays(t *testing.T) {
	for name, config := range map[string]dynamostore.Config{"default names": {}, "composite table": composite(), "short names": {Attributes: short}} {
		t.Run(name, func(t *testing.T) {
			_, store, books := newBank(t, config)
			lease := acquired(t, store, "me")
			whole := store.Room(lease)
			lease.Reserve = 1000
			if room := store.Room(lease); room != whole-lease.Reserve {
				t.Errorf("there is room for %d bytes of %d", room, whole)
			}
			for _, name := range []string{"half", "rest"} {
				room := store.Room(lease)
				output := make([]byte, room-len(name)-storekit.StepOverhead)
				over := make([]byte, len(output)+1)
				if name == "half" {
					output = output[:len(output)/2]
				}
				if err := store.Checkpoint(t.Context(), lease, name, over); !errors.Is(err, persistence.ErrTooLarge) {
					t.Errorf("a byte more than there is room for: %v", err)
				}
				if err := store.CheckpointWith(t.Context(), lease, name, over, writes(books.add("a", "1"))); !errors.Is(err, persistence.ErrTooLarge) {
					t.Errorf("the same with a write: %v", err)
				}
				if err := store.CheckpointWith(t.Context(), lease, name, output, writes(books.add("a", "1"))); err != nil {
					t.Fatal(err)
				}
				r, _ := recordOf(t, store)
				lease.Steps = r.Steps
				if left := store.Room(lease); left != room-len(name)-len(output)-storekit.StepOverhead {
					t.Errorf("%s: there was room for %d bytes, now for %d", name, room, left)
				}
			}
			omitted := persistence.Outcome{Status: persistence.StatusCompleted, ResultOmitted: true, ExpiresAt: now.Add(time.Hour)}
			if err := store.CompleteWith(t.Context(), lease, omitted, writes(books.add("a", "1"))); err != nil {
				t.Errorf("complete: %v", err)
			}
		})
	}
}

var tokens = regexp.MustCompile(`"ClientRequestToken": "[A-Z2-7]{26}"`)

// The transactions on the wire, byte for byte but for their tokens.
func TestGoldenTransactions(t *testing.T) {
	db, _, books := newBank(t, dynamostore.Config{})
	recorded := &recorder{next: db}
	client := db.Client(func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: recorded} })
	store, err := dynamostore.New(client, dynamostore.Config{Table: "idempotency"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r, _ := store.Acquire(ctx, claim("owner-1"))
	recorded.text.Reset()
	_ = store.CheckpointWith(ctx, r.Lease(), "reserve", []byte("1"), writes(books.add("a", "-1")))
	_ = store.CheckpointWith(ctx, persistence.Lease{Key: r.Key, Owner: r.Owner, Steps: map[string][]byte{"reserve": nil}}, "charge", []byte("2"), writes(books.add("a", "-1")))
	_ = store.CompleteWith(ctx, r.Lease(), completed("done"), writes(books.open("b")))
	c := claim("owner-2")
	c.Key = "payment#2"
	_, _ = store.CompleteAtOnce(ctx, c, completed("done"), writes(books.open("c")))
	_ = store.Commit(ctx, writes(books.add("a", "-1")))
	golden(t, "transactions.txt", tokens.ReplaceAll(recorded.text.Bytes(), []byte(`"ClientRequestToken": "…"`)))
}
