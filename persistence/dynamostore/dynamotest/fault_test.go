package dynamotest

import (
	"context"
	"errors"
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
		db := New()
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
		{do: DropRequest()},
		{do: DropReply(), stored: "1", applied: true},
		{do: FailBefore(), status: 500, code: "InternalServerError"},
		{do: FailAfter(), stored: "1", applied: true, status: 500, code: "InternalServerError"},
		{do: Throttle(), status: 400, code: "ProvisionedThroughputExceededException"},
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
	for _, do := range []Effect{DropReply(), FailAfter()} {
		t.Run(do.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := New()
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
		{"the n-th match", Fault{Match: 2}, []int{2}},
		{"several from the n-th match on", Fault{Match: 2, Times: 3}, []int{2, 3, 4}},
		{"always", Fault{Times: Always}, []int{1, 2, 3, 4, 5, 6}},
		{"by operation", Fault{Operation: "UpdateItem", Match: 4}, []int{4}},
		{"another operation", Fault{Operation: "PutItem"}, nil},
		{"another table", Fault{Table: "elsewhere", Times: Always}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			tell(t, func(s story) {
				c.fault.Do = DropRequest()
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
			s.db.Inject(Fault{Table: s.at.hashed, Do: DropRequest()})
			if s.add("1") == nil {
				s.Error("not hit")
			}
		})
	})
	t.Run("cleared", func(t *testing.T) {
		tell(t, func(s story) {
			s.db.Inject(Fault{Times: Always, Do: DropRequest()})
			s.db.ClearFaults()
			if err := s.add("1"); err != nil {
				s.Error(err)
			}
		})
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
		s.db.Inject(Fault{Match: 1, Times: 2, Do: ApplyLater(&held)})
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
		s.db.Inject(Fault{Do: Cancel("None", "ThrottlingError")}, Fault{Match: 2, Do: Cancel()}, Fault{Match: 3, Do: OmitReasons()})
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
		s.db.Inject(Fault{Do: DelayBefore(time.Second)}, Fault{Do: DropReply()})
		start := time.Now()
		if err := s.add("1"); !errors.Is(err, syscall.ECONNRESET) || time.Since(start) != time.Second {
			s.Errorf("got %v after %v", err, time.Since(start))
		}
		s.wantRequests(Request{Operation: "UpdateItem", Applied: true, Faults: []string{"delayed before applying", "reply dropped"}})
	})
}

func TestADroppedReplyClosesTheConnectionOverHTTP(t *testing.T) {
	db := New()
	url, stop, err := db.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	db.Inject(Fault{Do: DropReply()})
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
