package dynamostore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// withoutQuota is the SDK's retryer when the quota of its environment is used up.
func withoutQuota(o *dynamodb.Options) {
	o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = ratelimit.NewTokenRateLimit(0) })
}

// storeTime is what a call has.
const storeTime = 5 * time.Second

// persistent are all writes that recognise themselves. Each returns the call and what it is
// sent as.
var persistent = map[string]func(t *testing.T, store planter, books ledger) (operation string, call func(context.Context) error){
	"acquire": func(_ *testing.T, store planter, _ ledger) (string, func(context.Context) error) {
		return "PutItem", func(ctx context.Context) error { return owned(store.Acquire(ctx, claim("me"))) }
	},
	"take over": func(t *testing.T, store planter, _ ledger) (string, func(context.Context) error) {
		acquired(t, store, "first")
		late := claim("me")
		late.Now = late.LeaseUntil.Add(time.Second)
		late.LeaseUntil = late.Now.Add(time.Minute)
		return "UpdateItem", func(ctx context.Context) error { return owned(store.Acquire(ctx, late)) }
	},
	"complete": func(t *testing.T, store planter, _ ledger) (string, func(context.Context) error) {
		l := acquired(t, store, "me")
		return "UpdateItem", func(ctx context.Context) error { return store.Complete(ctx, l, completed("done")) }
	},
	"checkpoint": func(t *testing.T, store planter, _ ledger) (string, func(context.Context) error) {
		l := acquired(t, store, "me")
		return "UpdateItem", func(ctx context.Context) error { return store.Checkpoint(ctx, l, "pay", []byte("done")) }
	},
	"renew": func(t *testing.T, store planter, _ ledger) (string, func(context.Context) error) {
		l := acquired(t, store, "me")
		l.Until = claim("me").LeaseUntil.Add(time.Minute)
		return "UpdateItem", func(ctx context.Context) error { return store.Renew(ctx, l) }
	},
	"release": func(t *testing.T, store planter, _ ledger) (string, func(context.Context) error) {
		l := acquired(t, store, "me")
		return "DeleteItem", func(ctx context.Context) error { return store.Release(ctx, l) }
	},
	"complete with a write": func(t *testing.T, store planter, books ledger) (string, func(context.Context) error) {
		l := acquired(t, store, "me")
		return "TransactWriteItems", func(ctx context.Context) error {
			return store.CompleteWith(ctx, l, completed("done"), writes(books.add("a", "1")))
		}
	},
	"checkpoint with a write": func(t *testing.T, store planter, books ledger) (string, func(context.Context) error) {
		l := acquired(t, store, "me")
		return "TransactWriteItems", func(ctx context.Context) error {
			return store.CheckpointWith(ctx, l, "pay", []byte("done"), writes(books.add("a", "1")))
		}
	},
	"complete at once": func(_ *testing.T, store planter, books ledger) (string, func(context.Context) error) {
		return "TransactWriteItems", func(ctx context.Context) error {
			return owned(store.CompleteAtOnce(ctx, claim("me"), completed("done"), writes(books.add("a", "1"))))
		}
	},
	"commit": func(_ *testing.T, store planter, books ledger) (string, func(context.Context) error) {
		return "TransactWriteItems", func(ctx context.Context) error { return store.Commit(ctx, writes(books.add("a", "1"))) }
	},
}

func owned(r persistence.Record, err error) error {
	if err == nil && r.Owner != "me" {
		err = fmt.Errorf("the record is of %q", r.Owner)
	}
	return err
}

// onEveryWrite plays with every write that recognises itself, in virtual time, with a client
// whose quota of retries is used up.
func onEveryWrite(t *testing.T, play func(t *testing.T, db *dynamotest.DB, operation string, call func(context.Context) error)) {
	for name, begin := range persistent {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := dynamotest.New(t)
				config := dynamostore.Config{Table: "idempotency"}
				store := newTable(t, db.Client(withoutQuota), config)
				operation, call := begin(t, store, newLedger(t, db.Client(withoutQuota), "ledger"))
				db.ResetLog()
				play(t, db, operation, call)
			})
		})
	}
}

// What passes is waited for, until the time of the call is over and whatever the SDK's quota
// says.
func TestWritesThatRecogniseThemselvesAreSentAgain(t *testing.T) {
	for name, effect := range map[string]dynamotest.Effect{
		"500 before it is applied": dynamotest.FailBefore(),
		"500 after it is applied":  dynamotest.FailAfter(),
		"request lost":             dynamotest.LoseRequest(),
		"reply lost":               dynamotest.LoseReply(),
		"throttled":                dynamotest.Throttle(),
		"conflict":                 dynamotest.TransactionConflict(),
		"unavailable":              dynamotest.Fail("ServiceUnavailable", "", http.StatusServiceUnavailable),
	} {
		t.Run(name, func(t *testing.T) {
			onEveryWrite(t, func(t *testing.T, db *dynamotest.DB, operation string, call func(context.Context) error) {
				const failures = 9
				if name == "throttled" && (strings.Contains(t.Name(), "acquire") || strings.Contains(t.Name(), "take_over")) {
					return // a claim is given up sooner: see crowded_test.go
				}
				db.Inject(dynamotest.Fault{Operation: operation, Times: failures, Do: effect})
				ctx, cancel := context.WithTimeout(t.Context(), storeTime)
				defer cancel()
				if err := call(ctx); err != nil {
					t.Errorf("%v after %d requests", err, len(db.Requests()))
				}
				if sent := len(db.Requests()); sent <= failures {
					t.Errorf("sent %d requests, want more than %d", sent, failures)
				}
			})
		})
	}
	t.Run("no answer", func(t *testing.T) {
		onEveryWrite(t, func(t *testing.T, db *dynamotest.DB, operation string, call func(context.Context) error) {
			db.Inject(dynamotest.Fault{Operation: operation, Times: 3, Do: dynamotest.DelayAfter(time.Hour)})
			ctx, cancel := context.WithTimeout(t.Context(), storeTime)
			defer cancel()
			if err := call(ctx); err != nil {
				t.Errorf("%v after %d requests", err, len(db.Requests()))
			}
		})
	})
}

// The time is used, and not exceeded; each pause is bounded, so that neither a call nor the
// table is kept waiting. What is told in the end is the last answer.
func TestSendingAgainEndsWithTheCallsTime(t *testing.T) {
	onEveryWrite(t, func(t *testing.T, db *dynamotest.DB, _ string, call func(context.Context) error) {
		db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.FailBefore()})
		ctx, cancel := context.WithTimeout(t.Context(), storeTime)
		defer cancel()
		began := time.Now()
		err := call(ctx)
		if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Retryable {
			t.Errorf("got %v, want a retryable fault", err)
		}
		if took := time.Since(began); took < storeTime*9/10 || took >= storeTime {
			t.Errorf("it took %v, want almost %v", took, storeTime)
		}
		if sent := len(db.Requests()); sent < 12 || sent > 40 {
			t.Errorf("sent %d requests in %v", sent, storeTime)
		}
	})
}

// A refusal is told at once: no time makes it another.
func TestARefusalIsNotSentAgain(t *testing.T) {
	onEveryWrite(t, func(t *testing.T, db *dynamotest.DB, _ string, call func(context.Context) error) {
		db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.Fail("AccessDeniedException", "", http.StatusBadRequest)})
		ctx, cancel := context.WithTimeout(t.Context(), storeTime)
		defer cancel()
		began := time.Now()
		err := call(ctx)
		if fault, ok := errors.AsType[*persistence.Fault](err); !ok || fault.Retryable {
			t.Errorf("got %v, want a fault for good", err)
		}
		if sent := len(db.Requests()); sent != 1 || time.Since(began) > 0 {
			t.Errorf("sent %d requests in %v", sent, time.Since(began))
		}
	})
}

// A call without a deadline ends all the same.
func TestWithoutADeadlineSendingAgainEndsAfterAFewTries(t *testing.T) {
	onEveryWrite(t, func(t *testing.T, db *dynamotest.DB, _ string, call func(context.Context) error) {
		db.Inject(dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.FailBefore()})
		if err := call(t.Context()); err == nil {
			t.Error("want an error")
		}
		if sent := len(db.Requests()); sent != 6 {
			t.Errorf("sent %d requests, want 6", sent)
		}
	})
}

// About 25 calls of an environment have failed, and its quota of retries is empty: then a
// single 500 on a completion used to be the end of it, with 5 seconds left.
func TestAfterManyFailedCallsACompletionIsStillSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		store := newTable(t, db.Client(asDeployed), dynamostore.Config{Table: "idempotency"})
		db.Inject(dynamotest.Fault{Operation: "GetItem", Times: dynamotest.Always, Do: dynamotest.FailBefore()})
		for range 25 {
			if _, _, err := store.Read(t.Context(), "payment#1"); err == nil {
				t.Fatal("want the reads to fail")
			}
		}
		guard, err := idempotent.New(store, idempotent.Config{Operation: "payment"})
		if err != nil {
			t.Fatal(err)
		}
		db.Inject(dynamotest.Fault{Operation: "UpdateItem", Do: dynamotest.FailBefore()})
		charged := 0
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if _, err := idempotent.Do(ctx, guard, "1", func(context.Context) (string, error) { charged++; return "paid", nil }); err != nil {
				t.Error(err)
			}
		}
		if charged != 1 {
			t.Errorf("charged %d times", charged)
		}
	})
}

// cutting cuts the body of one answer short.
type cutting struct {
	next http.RoundTripper
	cut  bool
}

func (c *cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	if err == nil && !c.cut && r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.UpdateItem" {
		c.cut = true
		answer.Body = io.NopCloser(strings.NewReader(`{"Attributes":{"own`))
	}
	return answer, err
}

// An answer that breaks off is none.
func TestAnAnswerThatBreaksOffIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		way := &cutting{next: db}
		store := newTable(t, db.Client(withoutQuota, func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: way} }), dynamostore.Config{Table: "idempotency"})
		acquired(t, store, "first")
		late := claim("me")
		late.Now = late.LeaseUntil.Add(time.Second)
		late.LeaseUntil = late.Now.Add(time.Minute)
		if err := owned(store.Acquire(t.Context(), late)); err != nil || !way.cut {
			t.Errorf("got %v, cut: %t", err, way.cut)
		}
	})
}
