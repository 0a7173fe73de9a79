package dynamotest

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// story is a database with one table, ready for faults: nothing is in the log.
type story struct {
	*testing.T
	db     *DB
	client *dynamodb.Client
	at     *endpoint
}

// tell runs a story on virtual time, with a client that does not retry.
func tell(t *testing.T, run func(s story)) {
	synctest.Test(t, func(t *testing.T) {
		db := New(t)
		client := db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		at := newEndpoint(t, client)
		db.ResetLog()
		run(story{t, db, client, at})
	})
}

func (s story) add(n string) error {
	_, err := s.client.UpdateItem(s.Context(), &dynamodb.UpdateItemInput{
		TableName: &s.at.hashed, Key: attrs{"id": S("counter")}, UpdateExpression: aws.String("ADD n :n"), ExpressionAttributeValues: attrs{":n": N(n)},
	})
	return err
}

func (s story) wantCounter(n string) {
	s.Helper()
	var want []attrs
	if n != "" {
		want = []attrs{{"id": S("counter"), "n": N(n)}}
	}
	if got := s.db.Items(s.at.hashed); !slices.EqualFunc(got, want, same) {
		s.Errorf("stored %v, want n=%s", got, n)
	}
}

func (s story) wantRequests(want ...Request) {
	s.Helper()
	got := s.db.Requests()
	if len(got) != len(want) {
		s.Fatalf("got %d requests %+v, want %d", len(got), got, len(want))
	}
	for i, w := range want {
		if g := got[i]; g.Index != i+1 || g.Operation != w.Operation || g.Applied != w.Applied || g.Status != w.Status || g.Code != w.Code || !slices.Equal(g.Faults, w.Faults) {
			s.Errorf("request %d: got %+v, want %+v", i+1, g, w)
		}
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		do      Effect
		stored  string // the counter afterwards
		applied bool
		status  int
		code    string // "" if the connection broke
	}{
		{do: LoseRequest()},
		{do: LoseReply(), stored: "1", applied: true},
		{do: FailBefore(), status: 500, code: "InternalServerError"},
		{do: FailAfter(), stored: "1", applied: true, status: 500, code: "InternalServerError"},
		{do: Throttle(), status: 400, code: "ThrottlingException"},
		{do: Deny(), status: 400, code: "AccessDeniedException"},
		{do: TransactionConflict(), status: 400, code: "TransactionConflictException"},
		{do: Fail("ThrottlingException", "Rate exceeded", 400), status: 400, code: "ThrottlingException"},
		{do: Fail("ServiceUnavailable", "try later", 503), status: 503, code: "ServiceUnavailable"},
	} {
		t.Run(c.do.String(), func(t *testing.T) {
			tell(t, func(s story) {
				s.db.Inject(Fault{Do: c.do})
				err := s.add("1")
				failed, isAPI := errors.AsType[smithy.APIError](err)
				switch {
				case c.code == "" && !errors.Is(err, syscall.ECONNRESET):
					s.Errorf("got %v, want a reset connection", err)
				case c.code != "" && (!isAPI || failed.ErrorCode() != c.code):
					s.Errorf("got %v, want %s", err, c.code)
				}
				s.wantCounter(c.stored)
				s.wantRequests(Request{Operation: "UpdateItem", Applied: c.applied, Status: c.status, Code: c.code, Faults: []string{c.do.String()}})
				if err := s.add("1"); err != nil {
					s.Errorf("the next request suffers too: %v", err)
				}
			})
		})
	}
}

func TestTheSDKRepeatsAWriteWhoseReplyWasLost(t *testing.T) {
	for _, do := range []Effect{LoseReply(), FailAfter()} {
		t.Run(do.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := New(t)
				at := newEndpoint(t, db.Client())
				db.Inject(Fault{Operation: "PutItem", Do: do})
				_, err := at.PutItem(t.Context(), &dynamodb.PutItemInput{
					TableName: &at.hashed, Item: attrs{"id": S("mine")}, ConditionExpression: aws.String("attribute_not_exists(id)"),
					ReturnValuesOnConditionCheckFailure: "ALL_OLD",
				})
				failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
				if !ok || !same(failed.Item, attrs{"id": S("mine")}) {
					t.Errorf("got %v, want a failed condition that carries our own item", err)
				}
			})
		})
	}
}

func TestFaultsPickTheirRequests(t *testing.T) {
	const requests = 6
	for _, c := range []struct {
		name  string
		fault Fault
		hit   []int
	}{
		{"the first by default", Fault{}, []int{1}},
		{"by index", Fault{Request: 3}, []int{3}},
		{"the n-th match", Fault{Nth: 2}, []int{2}},
		{"several from the n-th match on", Fault{Nth: 2, Times: 3}, []int{2, 3, 4}},
		{"always", Fault{Times: Always}, []int{1, 2, 3, 4, 5, 6}},
		{"by operation", Fault{Operation: "UpdateItem", Nth: 4}, []int{4}},
		{"another operation", Fault{Operation: "PutItem"}, nil},
		{"another table", Fault{Table: "elsewhere", Times: Always}, nil},
		{"by key", Fault{Key: "id=counter", Nth: 5}, []int{5}},
		{"another key", Fault{Key: "id=other", Times: Always}, nil},
		{"a key that begins like it", Fault{Key: "id=count", Times: Always}, nil},
		{"by chance", Fault{Chance: 0.5, Times: Always, Seed: 1}, []int{1, 3, 4}},
		{"by chance, with another seed", Fault{Chance: 0.5, Times: Always, Seed: 2}, []int{3, 4, 5, 6}},
		{"by chance, twice", Fault{Chance: 0.5, Times: 2, Seed: 1}, []int{1, 3}},
		{"by chance, from the second on", Fault{Chance: 0.5, Times: 1, Nth: 2, Seed: 1}, []int{2}},
		{"a chance of one", Fault{Chance: 1, Times: 2}, []int{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tell(t, func(s story) {
				c.fault.Do = LoseRequest()
				s.db.Inject(c.fault)
				var hit []int
				for i := range requests {
					if s.add("1") != nil {
						hit = append(hit, i+1)
					}
				}
				if !slices.Equal(hit, c.hit) {
					s.Errorf("hit %v, want %v", hit, c.hit)
				}
			})
		})
	}
	t.Run("by table", func(t *testing.T) {
		tell(t, func(s story) {
			s.db.Inject(Fault{Table: s.at.hashed, Do: LoseRequest()})
			if s.add("1") == nil {
				s.Error("not hit")
			}
		})
	})
	t.Run("cleared", func(t *testing.T) {
		tell(t, func(s story) {
			s.db.Inject(Fault{Times: Always, Do: LoseRequest()})
			s.db.ClearFaults()
			if err := s.add("1"); err != nil {
				s.Error(err)
			}
		})
	})
}

// A key is found wherever an operation names it.
func TestFaultsFindAKeyInEveryOperation(t *testing.T) {
	tell(t, func(s story) {
		key, table, other := attrs{"id": S("counter")}, &s.at.hashed, attrs{"id": S("other")}
		for name, send := range map[string]func() error{
			"PutItem": func() error {
				_, err := s.client.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: table, Item: attrs{"id": S("counter"), "n": N("1")}})
				return err
			},
			"GetItem": func() error {
				_, err := s.client.GetItem(s.Context(), &dynamodb.GetItemInput{TableName: table, Key: key})
				return err
			},
			"UpdateItem": func() error { return s.add("1") },
			"DeleteItem": func() error {
				_, err := s.client.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{TableName: table, Key: key})
				return err
			},
			"BatchGetItem": func() error {
				_, err := s.client.BatchGetItem(s.Context(), &dynamodb.BatchGetItemInput{
					RequestItems: map[string]types.KeysAndAttributes{*table: {Keys: []map[string]types.AttributeValue{other, key}}},
				})
				return err
			},
			"BatchWriteItem": func() error {
				_, err := s.client.BatchWriteItem(s.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*table: {
					{PutRequest: &types.PutRequest{Item: other}}, {DeleteRequest: &types.DeleteRequest{Key: key}},
				}}})
				return err
			},
			"TransactGetItems": func() error {
				_, err := s.client.TransactGetItems(s.Context(), &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{
					{Get: &types.Get{TableName: table, Key: other}}, {Get: &types.Get{TableName: table, Key: key}},
				}})
				return err
			},
			"TransactWriteItems": func() error {
				_, err := s.client.TransactWriteItems(s.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
					{Put: &types.Put{TableName: table, Item: other}},
					{ConditionCheck: &types.ConditionCheck{TableName: table, Key: key, ConditionExpression: aws.String("attribute_not_exists(nothing)")}},
				}})
				return err
			},
		} {
			s.db.Inject(Fault{Key: "id=counter", Do: LoseRequest()})
			if err := send(); !errors.Is(err, syscall.ECONNRESET) {
				s.Errorf("%s: got %v", name, err)
			}
			s.db.ClearFaults()
			s.db.Inject(Fault{Key: "id=nobody", Do: LoseRequest()})
			if err := send(); err != nil {
				s.Errorf("%s: got %v", name, err)
			}
			s.db.ClearFaults()
		}
	})
}

func TestUnmetFaultsAreTold(t *testing.T) {
	tell(t, func(s story) {
		s.db.Inject(Fault{Operation: "UpdateItem", Do: LoseReply()}, Fault{Operation: "DeleteItem", Times: Always, Do: LoseReply()}, Fault{Nth: 2, Times: Always, Do: FailAfter()})
		if got := s.db.Unmet(); len(got) != 3 {
			s.Errorf("before: %v", got)
		}
		s.add("1")
		if got := s.db.Unmet(); len(got) != 2 || got[0].Operation != "DeleteItem" {
			s.Errorf("after one request: %v", got)
		}
		s.add("1")
		if got := s.db.Unmet(); len(got) != 1 || got[0].Do.String() != "reply lost" {
			s.Errorf("after two requests: %v", got)
		}
	})
}

func TestFaultsThatCannotHappenAreRefused(t *testing.T) {
	for name, f := range map[string]Fault{
		"no effect":           {Operation: "PutItem"},
		"unknown operation":   {Operation: "PutItems", Do: LoseReply()},
		"negative count":      {Nth: -1, Do: LoseReply()},
		"negative index":      {Request: -1, Do: LoseReply()},
		"negative times":      {Times: -2, Do: LoseReply()},
		"chance above one":    {Chance: 1.5, Do: LoseReply()},
		"negative chance":     {Chance: -0.5, Do: LoseReply()},
		"chance is no number": {Chance: math.NaN(), Do: LoseReply()},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			New(t).Inject(f)
		})
	}
}

// What is thrown depends on the table's capacity mode; the reasons are those that the SDK knows.
func TestThrottlingTellsItsReasons(t *testing.T) {
	tell(t, func(s story) {
		provisioned := "provisioned"
		_, err := s.client.CreateTable(s.Context(), &dynamodb.CreateTableInput{
			TableName: &provisioned, ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)},
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: "S"}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: "HASH"}},
		})
		if err != nil {
			s.Fatal(err)
		}
		get := func(table string) error {
			_, err := s.client.GetItem(s.Context(), &dynamodb.GetItemInput{TableName: &table, Key: attrs{"id": S("a")}})
			return err
		}
		want := func(reasons []types.ThrottlingReason, table string, names ...string) {
			s.Helper()
			if len(reasons) != len(names) {
				s.Fatalf("got %d reasons, want %v", len(reasons), names)
			}
			for i, name := range names {
				if got := reasons[i]; *got.Reason != name || *got.Resource != "arn:aws:dynamodb:us-east-1:000000000000:table/"+table {
					s.Errorf("got %s of %s, want %s", *got.Reason, *got.Resource, name)
				}
			}
		}
		s.db.Inject(Fault{Times: 2, Do: Throttle()})
		if e, ok := errors.AsType[*types.ThrottlingException](s.add("1")); ok {
			want(e.ThrottlingReasons, s.at.hashed, "TableWriteKeyRangeThroughputExceeded")
		} else {
			s.Error("no ThrottlingException")
		}
		if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](get(provisioned)); ok {
			want(e.ThrottlingReasons, provisioned, "TableReadKeyRangeThroughputExceeded")
		} else {
			s.Error("no ProvisionedThroughputExceededException")
		}
		s.db.Inject(Fault{Do: ThrottleFor("TableReadMaxOnDemandThroughputExceeded", "IndexReadAccountLimitExceeded")})
		if e, ok := errors.AsType[*types.ThrottlingException](get(s.at.hashed)); ok {
			want(e.ThrottlingReasons, s.at.hashed, "TableReadMaxOnDemandThroughputExceeded", "IndexReadAccountLimitExceeded")
		} else {
			s.Error("no ThrottlingException")
		}
	})
}

func TestDelaysRunOnVirtualTimeAndHoldNobodyUp(t *testing.T) {
	for _, do := range []Effect{DelayBefore(time.Minute), DelayAfter(time.Minute)} {
		t.Run(do.String(), func(t *testing.T) {
			tell(t, func(s story) {
				s.db.Inject(Fault{Do: do})
				start := time.Now()
				slow := make(chan error)
				go func() { slow <- s.add("1") }()
				synctest.Wait()
				if err := s.add("10"); err != nil || time.Since(start) != 0 {
					s.Errorf("another request waited %v: %v", time.Since(start), err)
				}
				if err := <-slow; err != nil || time.Since(start) != time.Minute {
					s.Errorf("answered after %v: %v", time.Since(start), err)
				}
				s.wantCounter("11")
			})
		})
	}
}

func TestADelayEndsWithItsCaller(t *testing.T) {
	for _, c := range []struct {
		do     Effect
		stored string
	}{{DelayBefore(time.Minute), ""}, {DelayAfter(time.Minute), "1"}} {
		t.Run(c.do.String(), func(t *testing.T) {
			tell(t, func(s story) {
				ctx, cancel := context.WithTimeout(s.Context(), time.Second)
				defer cancel()
				s.db.Inject(Fault{Do: c.do})
				start := time.Now()
				_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
					TableName: &s.at.hashed, Key: attrs{"id": S("counter")}, UpdateExpression: aws.String("ADD n :n"), ExpressionAttributeValues: attrs{":n": N("1")},
				})
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
					s.Errorf("got %v after %v", err, time.Since(start))
				}
				s.wantCounter(c.stored)
			})
		})
	}
}

func TestSomebodyElseCanActInBetween(t *testing.T) {
	tell(t, func(s story) {
		act := func(n string) func(Request) {
			return func(r Request) {
				if r.Operation != "UpdateItem" || r.Index != 1 {
					s.Errorf("hook saw %+v", r)
				}
				if err := s.add(n); err != nil {
					s.Error(err)
				}
			}
		}
		s.db.Inject(Fault{Request: 1, Do: Before(act("10"))}, Fault{Request: 1, Do: After(act("100"))})
		_, err := s.client.UpdateItem(s.Context(), &dynamodb.UpdateItemInput{
			TableName: &s.at.hashed, Key: attrs{"id": S("counter")}, UpdateExpression: aws.String("ADD n :n"),
			ConditionExpression: aws.String("n = :ten"), ExpressionAttributeValues: attrs{":n": N("1"), ":ten": N("10")},
		})
		if err != nil {
			s.Errorf("the condition saw another item: %v", err)
		}
		s.wantCounter("111")
	})
}

func TestAHeldRequestIsAppliedLate(t *testing.T) {
	tell(t, func(s story) {
		var held Held
		s.db.Inject(Fault{Nth: 1, Times: 2, Do: ApplyLater(&held)})
		if first, second := s.add("1"), s.add("10"); first == nil || second == nil {
			s.Errorf("got %v and %v, want broken connections", first, second)
		}
		s.wantCounter("")
		if err := s.add("100"); err != nil {
			s.Fatal(err)
		}
		late := held.Release()
		if len(late) != 2 || !late[0].Applied || late[1].Index != 2 {
			s.Errorf("released %+v", late)
		}
		s.wantCounter("111")
		if again := held.Release(); again != nil {
			s.Errorf("released twice: %+v", again)
		}
		if requests := s.db.Requests(); len(requests) != 3 || !requests[1].Applied || requests[1].Status != 0 {
			s.Errorf("log: %+v", requests)
		}
	})
}

func TestAHeldCallerWaitsForTheRelease(t *testing.T) {
	tell(t, func(s story) {
		var held Held
		s.db.Inject(Fault{Times: 2, Do: Hold(&held)})
		answers := make(chan error, 1)
		go func() { answers <- s.add("1") }()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(s.Context(), time.Second)
		defer cancel()
		if _, err := s.client.UpdateItem(impatient, &dynamodb.UpdateItemInput{
			TableName: &s.at.hashed, Key: attrs{"id": S("counter")}, UpdateExpression: aws.String("ADD n :n"), ExpressionAttributeValues: attrs{":n": N("10")},
		}); !errors.Is(err, context.DeadlineExceeded) {
			s.Errorf("got %v, want a deadline", err)
		}
		s.wantCounter("")
		if held.Waiting() != 2 || len(answers) != 0 {
			s.Errorf("%d are waiting, %d answered", held.Waiting(), len(answers))
		}
		late := held.Release()
		if err := <-answers; err != nil {
			s.Error(err)
		}
		if len(late) != 2 || !late[0].Applied || !late[1].Applied || held.Waiting() != 0 {
			s.Errorf("released %+v", late)
		}
		s.wantCounter("11")
		s.wantRequests(Request{Operation: "UpdateItem", Applied: true, Status: 200, Faults: []string{"held"}},
			Request{Operation: "UpdateItem", Applied: true, Faults: []string{"held"}})
	})
}

func TestItemsCanBeLeftOutOfFailedConditions(t *testing.T) {
	tell(t, func(s story) {
		if err := s.add("1"); err != nil {
			s.Fatal(err)
		}
		s.db.Inject(Fault{Times: Always, Do: OmitItem()})
		put, _, _ := s.at.failingWrites(attrs{"id": S("counter")}, "ALL_OLD")
		if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](put(s.Context())); !ok || failed.Item != nil {
			s.Errorf("got %v", failed)
		}
		cancelled, err := s.at.transact(s.Context(), s.at.putAction(attrs{"id": S("counter")}, "attribute_not_exists(id)"))
		if err != nil || cancelled.CancellationReasons[0].Item != nil || codes(cancelled) != "ConditionalCheckFailed" {
			s.Errorf("got %v, %v", cancelled, err)
		}
	})
}

func TestAConflictCancelsATransaction(t *testing.T) {
	tell(t, func(s story) {
		s.db.Inject(Fault{Do: TransactionConflict()})
		cancelled, err := s.at.transact(s.Context(), s.at.putAction(attrs{"id": S("a")}, ""), s.at.putAction(attrs{"id": S("b")}, ""))
		if err != nil || codes(cancelled) != "TransactionConflict None" {
			s.Errorf("got %v, %v", cancelled, err)
		}
		if items := s.db.Items(s.at.hashed); len(items) != 0 {
			s.Errorf("stored %v", items)
		}
	})
}

func TestATransactionMayBeCancelledForAnyReasons(t *testing.T) {
	tell(t, func(s story) {
		s.db.Inject(Fault{Do: Cancel("None", "ThrottlingError")}, Fault{Nth: 2, Do: Cancel()}, Fault{Nth: 3, Do: OmitReasons()})
		for _, want := range []string{"None ThrottlingError", "", ""} {
			cancelled, err := s.at.transact(s.Context(), s.at.putAction(attrs{"id": S("a")}, "attribute_exists(id)"), s.at.putAction(attrs{"id": S("b")}, ""))
			if err != nil || cancelled == nil || codes(cancelled) != want {
				s.Errorf("got %v, %v, want the reasons %q", cancelled, err, want)
			}
		}
		if items := s.db.Items(s.at.hashed); len(items) != 0 {
			s.Errorf("stored %v", items)
		}
	})
}

func TestForgottenTokensLetATransactionRunAgain(t *testing.T) {
	tell(t, func(s story) {
		for i, want := range []string{"1", "1", "2"} {
			if i == 2 {
				s.db.ForgetTokens()
			}
			if _, err := s.at.TransactWriteItems(s.Context(), &dynamodb.TransactWriteItemsInput{
				ClientRequestToken: new("token"),
				TransactItems:      []types.TransactWriteItem{s.at.updateAction("a", "ADD n :n", attrs{":n": N("1")})},
			}); err != nil {
				s.Fatal(err)
			}
			if got := s.db.Items(s.at.hashed)[0]["n"].(*types.AttributeValueMemberN).Value; got != want {
				s.Errorf("after %d requests: n is %s, want %s", i+1, got, want)
			}
		}
	})
}

func TestSeveralFaultsActInTheirOrder(t *testing.T) {
	tell(t, func(s story) {
		s.db.Inject(Fault{Do: DelayBefore(time.Second)}, Fault{Do: LoseReply()})
		start := time.Now()
		if err := s.add("1"); !errors.Is(err, syscall.ECONNRESET) || time.Since(start) != time.Second {
			s.Errorf("got %v after %v", err, time.Since(start))
		}
		s.wantRequests(Request{Operation: "UpdateItem", Applied: true, Faults: []string{"delayed before applying", "reply lost"}})
	})
}

func TestADroppedReplyClosesTheConnectionOverHTTP(t *testing.T) {
	db := New(t)
	url, err := db.Serve()
	if err != nil {
		t.Fatal(err)
	}
	db.Inject(Fault{Do: LoseReply()})
	post := func() (*http.Response, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Amz-Target", targetPrefix+"ListTables")
		return http.DefaultClient.Do(request)
	}
	if reply, err := post(); err == nil {
		reply.Body.Close()
		t.Errorf("got %s, want a broken connection", reply.Status)
	}
	reply, err := post()
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	if requests := db.Requests(); len(requests) != 2 || !requests[0].Applied || requests[0].Status != 0 || requests[1].Status != http.StatusOK {
		t.Errorf("log: %+v", requests)
	}
}

// Whoever sits between a client and the database has one request in hand.
func TestEffectsOfAContextTouchItsRequestsOnly(t *testing.T) {
	db := New(t)
	db.MustCreateTable("payments", "id")
	client := db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	put := func(ctx context.Context, id string) error {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("payments"), Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}}})
		return err
	}
	lossy := WithEffects(t.Context(), LoseReply())
	if err := put(lossy, "a"); err == nil {
		t.Error("the request with an effect has an answer")
	}
	if err := put(t.Context(), "b"); err != nil {
		t.Errorf("the request without one: %v", err)
	}
	requests := db.Requests()
	if len(requests[0].Faults) != 1 || !requests[0].Applied || len(requests[1].Faults) != 0 || len(db.Items("payments")) != 2 {
		t.Errorf("the requests were %+v", requests)
	}
}
