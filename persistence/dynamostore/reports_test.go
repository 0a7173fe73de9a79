package dynamostore_test

// One test for each field report that concerns the DynamoDB store.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// Report 3: seconds and milliseconds mixed up. Epoch seconds and milliseconds as
// whole numbers, in the item itself; and stale items judged by the right unit.
func TestReport03TheItemHasWholeSecondsAndMilliseconds(t *testing.T) {
	at := time.UnixMilli(1700000000250)
	db, store := newStore(t)
	c := persistence.Claim{Key: "k", Owner: "me", Now: at, LeaseUntil: at.Add(30500 * time.Millisecond), ExpiresAt: at.Add(time.Hour)}
	if _, err := store.Acquire(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	item := db.Items("idempotency")[0]
	for name, want := range map[string]types.AttributeValue{"expire_at": number("1700003601"), "lease_until": number("1700000030750")} {
		if got := fmt.Sprintf("%+v", item[name]); got != fmt.Sprintf("%+v", want) {
			t.Errorf("%s is %s, want %+v", name, got, want)
		}
	}
	for offset, taken := range map[time.Duration]bool{-30 * time.Second: true, 30 * time.Second: false} {
		db, store := newStore(t)
		seed(t, db, attributes{
			"idempotency_key": text("k"), "status": text("INPROGRESS"), "owner": text("other"),
			"expire_at": number("1700003600"), "lease_until": number(fmt.Sprint(at.Add(offset).UnixMilli())),
		})
		r, err := store.Acquire(t.Context(), c)
		if err != nil || (r.Owner == "me") != taken {
			t.Errorf("lease at %v: owner %s, %v, want taken over: %v", offset, r.Owner, err, taken)
		}
	}
}

// Report 4: a lease that is missing, or of type NULL, was "abandoned".
func TestReport04AnItemWithoutALeaseIsLockedUntilItExpires(t *testing.T) {
	for name, lease := range map[string]types.AttributeValue{
		"missing":  nil,
		"NULL":     &types.AttributeValueMemberNULL{Value: true},
		"a string": text("1"),
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newStore(t)
			item := attributes{
				"idempotency_key": text("payment#1"), "status": text("INPROGRESS"),
				"expire_at": number(fmt.Sprint(now.Add(600 * time.Second).Unix())),
			}
			if lease != nil {
				item["lease_until"] = lease
			}
			seed(t, db, item)
			before := dump(t, db)
			c := claim("me")
			if r, err := store.Acquire(t.Context(), c); err != nil || r.Owner == "me" || !r.LeaseLive(c.Now) {
				t.Errorf("acquired %+v, %v", r, err)
			}
			if after := dump(t, db); before != after {
				t.Errorf("the item changed: %s", after)
			}
			c.Now = now.Add(601 * time.Second)
			c.LeaseUntil = c.Now.Add(time.Minute)
			if r, err := store.Acquire(t.Context(), c); err != nil || r.Owner != "me" {
				t.Errorf("after the expiry: %+v, %v", r, err)
			}
		})
	}
}

// Report 10: conflicts and failed conditions of transactions have a shape of
// their own. A client may well be one that wraps writes into transactions.
func TestReport10TransactionsReportFailedConditionsAndConflicts(t *testing.T) {
	stored := attributes{
		"idempotency_key": text("payment#1"), "status": text("COMPLETED"), "owner": text("other"),
		"expire_at": number(fmt.Sprint(now.Add(time.Hour).Unix())), "result": text("done"),
	}
	canceled := func(first types.CancellationReason) error {
		return &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{first, {Code: aws.String("None")}}}
	}
	tests := map[string]struct {
		err      error
		tries    int
		replayed bool
	}{
		"failed condition with its item": {canceled(types.CancellationReason{Code: aws.String("ConditionalCheckFailed"), Item: stored}), 1, true},
		"conflict in a transaction":      {canceled(types.CancellationReason{Code: aws.String("TransactionConflict")}), 6, false},
		"conflict with a transaction":    {&types.TransactionConflictException{}, 6, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &stub{put: test.err}
				store, err := dynamostore.New(api, dynamostore.Config{Table: "t"})
				if err != nil {
					t.Fatal(err)
				}
				r, err := store.Acquire(t.Context(), claim("me"))
				var fault *persistence.Fault
				switch {
				case test.replayed && (err != nil || string(r.Result) != "done"):
					t.Errorf("got %+v, %v, want the stored record", r, err)
				case !test.replayed && (!errors.As(err, &fault) || !fault.Retryable || !errors.Is(err, test.err)):
					t.Errorf("got %v, want a retryable fault", err)
				}
				if api.puts != test.tries {
					t.Errorf("tried %d times, want %d", api.puts, test.tries)
				}
			})
		})
	}
	for name, test := range map[string]struct {
		reasons []types.CancellationReason
		is      error // nil for a retryable fault
		tries   int
	}{
		"the record is somebody else's": {[]types.CancellationReason{{Code: aws.String("ConditionalCheckFailed"), Item: stored}, {Code: aws.String("None")}}, persistence.ErrLeaseLost, 1},
		"a write's own condition":       {[]types.CancellationReason{{Code: aws.String("None")}, {Code: aws.String("ConditionalCheckFailed"), Item: stored}}, dynamostore.ErrCondition, 1},
		"both, the record decides":      {[]types.CancellationReason{{Code: aws.String("ConditionalCheckFailed"), Item: stored}, {Code: aws.String("ConditionalCheckFailed")}}, persistence.ErrLeaseLost, 1},
		"a conflict of the record":      {[]types.CancellationReason{{Code: aws.String("TransactionConflict")}, {Code: aws.String("None")}}, nil, 6},
		"a conflict of a write":         {[]types.CancellationReason{{Code: aws.String("None")}, {Code: aws.String("TransactionConflict")}}, nil, 6},
	} {
		t.Run("in a transaction of ours: "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := &transactor{err: slices.Repeat([]error{&types.TransactionCanceledException{CancellationReasons: test.reasons}}, 10)}
				store, err := dynamostore.New(api, dynamostore.Config{Table: "t"})
				if err != nil {
					t.Fatal(err)
				}
				err = store.CompleteWith(t.Context(), claim("me").Fresh().Lease(), completed("x"), writes(ledger{table: "ledger"}.add("a", "1")))
				fault, isFault := errors.AsType[*persistence.Fault](err)
				if test.is != nil && !errors.Is(err, test.is) || test.is == nil && (!isFault || !fault.Retryable) {
					t.Errorf("got %v (%T)", err, err)
				}
				if len(api.tokens) != test.tries {
					t.Errorf("tried %d times, want %d", len(api.tokens), test.tries)
				}
			})
		})
	}
	t.Run("a conflict that passes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			db, store := newStore(t)
			db.Inject(dynamotest.Fault{Times: 3, Do: dynamotest.TransactionConflict()})
			if r, err := store.Acquire(t.Context(), claim("me")); err != nil || r.Owner != "me" {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	})
	t.Run("what the table said outlives the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			db, _ := newStore(t)
			db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.Throttle()})
			store, _ := dynamostore.New(db.Client(), dynamostore.Config{Table: "idempotency"}) // with the SDK's own pauses
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := store.Acquire(ctx, claim("me"))
			if throttled, ok := errors.AsType[*types.ThrottlingException](err); !ok {
				t.Errorf("got %v, want %T", err, throttled)
			}
		})
	})
	t.Run("within the caller's deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			api := &stub{put: &types.TransactionConflictException{}}
			store, _ := dynamostore.New(api, dynamostore.Config{Table: "t"})
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
			defer cancel()
			started := time.Now()
			if _, err := store.Acquire(ctx, claim("me")); !errors.Is(err, api.put) || time.Since(started) > 60*time.Millisecond {
				t.Errorf("got %v after %v", err, time.Since(started))
			}
		})
	})
}

// stub is a client that answers what no server of ours would.
type stub struct {
	dynamostore.API
	put  error
	puts int
	get  *dynamodb.GetItemOutput
	gets []bool // whether consistent
}

func (s *stub) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.puts++
	return nil, s.put
}

func (s *stub) GetItem(_ context.Context, input *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	s.gets = append(s.gets, aws.ToBool(input.ConsistentRead))
	return s.get, nil
}

// The kind behind report 10: a reply that does not come at all, however long one
// waits. The request is sent again, and recognised.
func TestReport10AReplyThatDoesNotComeIsNotWaitedFor(t *testing.T) {
	for name, effect := range map[string]dynamotest.Effect{
		"applied":     dynamotest.DelayAfter(time.Hour),
		"not applied": dynamotest.DelayBefore(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := newStore(t)
				db.Inject(dynamotest.Fault{Times: 2, Do: effect})
				started := time.Now()
				r, err := store.Acquire(t.Context(), claim("me"))
				if err != nil || r.Owner != "me" || r.Attempt != 1 {
					t.Errorf("got %+v, %v", r, err)
				}
				if took := time.Since(started); took != 2*time.Second {
					t.Errorf("took %v, want twice the request timeout", took)
				}
			})
		})
	}
}

// Report 11: the output is nil and the error carries no item.
func TestReport11AFailedConditionWithoutItsItemIsReadBack(t *testing.T) {
	api := &stub{put: &types.ConditionalCheckFailedException{}, get: &dynamodb.GetItemOutput{Item: attributes{
		"idempotency_key": text("payment#1"), "status": text("COMPLETED"), "owner": text("other"), "fingerprint": text("f"),
		"expire_at": number(fmt.Sprint(now.Add(time.Hour).Unix())), "result": text("done"),
	}}}
	store, err := dynamostore.New(api, dynamostore.Config{Table: "t"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Acquire(t.Context(), claim("me"))
	if err != nil || string(r.Result) != "done" || r.Fingerprint != "f" {
		t.Errorf("got %+v, %v", r, err)
	}
	if !slices.Equal(api.gets, []bool{true}) {
		t.Errorf("consistent reads: %v, want one", api.gets)
	}
}

// Report 14: sizes are known before the call, and DynamoDB's own refusal counts
// as well.
func TestReport14AResultTooLargeIsRefusedBeforeTheCall(t *testing.T) {
	for _, config := range []dynamostore.Config{{}, composite()} {
		t.Run(fmt.Sprintf("composite=%v", config.PartitionValue != ""), func(t *testing.T) {
			db, store := newStoreWith(t, config)
			c := claim("me")
			c.Fingerprint = strings.Repeat("f", 64)
			r, err := store.Acquire(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			// The largest result that fits, found by the refusals that cost no request.
			largest := 400<<10 - 1
			for {
				db.ResetLog()
				err = store.Complete(t.Context(), r.Lease(), completed(strings.Repeat("x", largest)))
				if err == nil || len(db.Requests()) > 0 {
					break
				}
				largest--
			}
			if err != nil || len(db.Requests()) != 1 {
				t.Errorf("%d bytes: %v after %d requests: the reckoning differs from DynamoDB's", largest, err, len(db.Requests()))
			}
			if overhead := 400<<10 - largest; overhead < 100 || overhead > 400 {
				t.Errorf("the record without its result takes %d bytes", overhead)
			}
		})
	}
	t.Run("refused by DynamoDB", func(t *testing.T) {
		db, store := newStore(t)
		r, _ := store.Acquire(t.Context(), claim("me"))
		db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: dynamotest.Fail("ValidationException",
			"Item size to update has exceeded the maximum allowed size", http.StatusBadRequest)})
		if err := store.Complete(t.Context(), r.Lease(), completed("x")); !errors.Is(err, persistence.ErrTooLarge) {
			t.Errorf("got %v, want ErrTooLarge", err)
		}
	})
}

// Report 34: composite keys and reserved words, through every operation.
func TestReport34EveryOperationUsesTheSameKeyAndPlaceholders(t *testing.T) {
	db, store := newStoreWith(t, composite())
	ctx := t.Context()
	first, err := store.Acquire(ctx, claim("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Checkpoint(ctx, first.Lease(), "name", []byte("1")); err != nil {
		t.Error(err)
	}
	if err := store.Release(ctx, first.Lease()); err != nil {
		t.Error(err)
	}
	second, err := store.Acquire(ctx, claim("b"))
	if err != nil || second.Owner != "b" {
		t.Fatalf("resumed: %+v, %v", second, err)
	}
	late := claim("c")
	late.Now = second.LeaseUntil.Add(time.Second)
	late.LeaseUntil = late.Now.Add(time.Minute)
	third, err := store.Acquire(ctx, late)
	if err != nil || third.Owner != "c" || string(third.Steps["name"]) != "1" {
		t.Fatalf("taken over: %+v, %v", third, err)
	}
	if err := store.Complete(ctx, third.Lease(), completed("done")); err != nil {
		t.Error(err)
	}
	if r, found, err := store.Read(ctx, "payment#1"); err != nil || !found || string(r.Result) != "done" {
		t.Errorf("read: %+v, %v, %v", r, found, err)
	}
	items := db.Items("idempotency")
	if len(items) != 1 {
		t.Fatalf("%d items, want one under one key", len(items))
	}
	want := []string{"count", "data", "key", "name", "status", "steps", "ttl", "user", "version"}
	if got := slices.Sorted(maps.Keys(items[0])); !slices.Equal(got, want) {
		t.Errorf("attributes %v, want %v", got, want)
	}
	t.Run("equal names are refused", func(t *testing.T) {
		config := composite()
		config.Table = "t"
		config.Attributes.SortKey = config.Attributes.Key
		config.Attributes.Result = config.Attributes.Status
		_, err := dynamostore.New(&stub{}, config)
		if !errors.Is(err, dynamostore.ErrConfig) || !regexp.MustCompile(`Key and Attributes.SortKey(.|\n)*Status and Attributes.Result`).MatchString(err.Error()) {
			t.Errorf("got %v", err)
		}
	})
}

// Report 35: an expired item that is still there counts as absent, and nothing of
// it survives.
func TestReport35NothingOfAnExpiredItemSurvives(t *testing.T) {
	db, store := newStore(t)
	seed(t, db, attributes{
		"idempotency_key": text("payment#1"), "status": text("COMPLETED"), "owner": text("old"), "fingerprint": text("old"),
		"expire_at": number(fmt.Sprint(now.Unix() - 1)), "result": text("old"), "result_encoding": text("omitted"),
		"steps": &types.AttributeValueMemberM{Value: attributes{"old": text("old")}}, "attempt": number("7"), "extra": text("old"),
		"lease_until": number(fmt.Sprint(now.UnixMilli() - 1)), // left behind by another toolkit
	})
	c := claim("me")
	c.Fingerprint = "new"
	r, err := store.Acquire(t.Context(), c)
	if err != nil || r.Owner != "me" || r.Attempt != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	if item := fmt.Sprintf("%v", slices.Sorted(maps.Keys(db.Items("idempotency")[0]))); item != "[attempt expire_at fingerprint idempotency_key lease_until owner status version]" {
		t.Errorf("left in the item: %s", item)
	}
}

func seed(t testing.TB, db *dynamotest.DB, items ...attributes) {
	t.Helper()
	if err := db.Seed("idempotency", items...); err != nil {
		t.Fatal(err)
	}
}

func dump(t testing.TB, db *dynamotest.DB) string {
	t.Helper()
	var text strings.Builder
	if err := db.Dump(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
