package dynamostore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// crowd is a table whose writes are all throttled, and a store as it is deployed.
type crowd struct {
	*testing.T
	db    *dynamotest.DB
	store planter
}

func inACrowd(t *testing.T, options []func(*dynamodb.Options), play func(c crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db := dynamotest.New(t)
		play(crowd{t, db, newTable(t, db.Client(append(options, asDeployed)...), dynamostore.Config{Table: "idempotency"})})
	})
}

// throttle throttles the next writes.
func (c crowd) throttle(writes int) {
	for _, operation := range []string{"PutItem", "UpdateItem"} {
		c.db.Inject(dynamotest.Fault{Operation: operation, Times: writes, Do: dynamotest.Throttle()})
	}
	c.db.ResetLog()
}

// sent are the operations that were sent since.
func (c crowd) sent() []string {
	var operations []string
	for _, r := range c.db.Requests() {
		operations = append(operations, r.Operation)
	}
	c.db.ResetLog()
	return operations
}

// A duplicate of a finished request gets its answer from what the table bears of reads, and so
// does the next one, without trying to write. Only for some time.
func TestDuplicatesInACrowdRead(t *testing.T) {
	inACrowd(t, nil, func(c crowd) {
		first := acquired(c.T, c.store, "first")
		if err := c.store.Complete(c.Context(), first, completed("paid")); err != nil {
			c.Fatal(err)
		}
		duplicate := claim("second")
		for _, step := range []struct {
			after    time.Duration
			throttle int
			want     []string
		}{
			{0, dynamotest.Always, []string{"PutItem", "GetItem"}},
			{time.Second, dynamotest.Always, []string{"GetItem"}},
			{8 * time.Second, dynamotest.Always, []string{"GetItem"}},
			{2 * time.Second, 0, []string{"PutItem"}},
		} {
			c.db.ClearFaults()
			if step.throttle != 0 {
				c.throttle(step.throttle)
			}
			c.db.ResetLog()
			duplicate.Now = duplicate.Now.Add(step.after)
			began := time.Now()
			r, err := c.store.Acquire(c.Context(), duplicate)
			if err != nil || string(r.Result) != "paid" {
				c.Errorf("after %v: got %+v, %v", step.after, r, err)
			}
			if got := c.sent(); !slices.Equal(got, step.want) || time.Since(began) > 0 {
				c.Errorf("after %v: sent %v in %v, want %v at once", step.after, got, time.Since(began), step.want)
			}
		}
	})
}

// What a look may not decide is left to the write: it may be a moment old.
func TestALookDecidesOnlyWhatStays(t *testing.T) {
	for name, test := range map[string]struct {
		there  func(c crowd)
		change func(*persistence.Claim)
		reads  bool // it is the answer
	}{
		"finished":              {func(c crowd) { finishFirst(c) }, nil, true},
		"finished, and expired": {func(c crowd) { finishFirst(c) }, func(k *persistence.Claim) { k.Now = k.ExpiresAt.Add(time.Hour); k.LeaseUntil = k.Now.Add(1e9) }, false},
		"under way":             {func(c crowd) { acquired(c.T, c.store, "first") }, nil, true},
		"under way, of another payload": {func(c crowd) {
			k := claim("first")
			k.Fingerprint = "a"
			_ = owned(c.store.Acquire(c.Context(), k))
		}, func(k *persistence.Claim) { k.Fingerprint = "b" }, false},
		"its lease has ended": {func(c crowd) { acquired(c.T, c.store, "first") }, func(k *persistence.Claim) { k.Now = k.LeaseUntil.Add(1e9); k.LeaseUntil = k.Now.Add(1e9) }, false},
		"its lease has ended, and nobody may run it again": {func(c crowd) { acquired(c.T, c.store, "first") }, func(k *persistence.Claim) {
			k.RefuseUnknown = true
			k.Now = k.LeaseUntil.Add(1e9)
			k.LeaseUntil = k.Now.Add(1e9)
		}, false},
		"nothing": {func(crowd) {}, nil, false},
		"no record that this version understands": {func(c crowd) {
			seed(c.T, c.db, attributes{"idempotency_key": text("payment#1"), "status": text("NEW"), "version": number("99")})
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			inACrowd(t, nil, func(c crowd) {
				test.there(c)
				c.throttle(1)
				k := claim("me")
				if test.change != nil {
					test.change(&k)
				}
				k.ExpiresAt = k.LeaseUntil.Add(24 * time.Hour).Truncate(time.Second)
				_, _ = c.store.Acquire(c.Context(), k)
				got := c.sent()
				if want := []string{"PutItem", "GetItem"}; !slices.Equal(got[:2], want) || (len(got) == 2) != test.reads {
					c.Errorf("sent %v", got)
				}
			})
		})
	}
}

func finishFirst(c crowd) {
	if err := c.store.Complete(c.Context(), acquired(c.T, c.store, "first"), completed("paid")); err != nil {
		c.Error(err)
	}
}

// A claim is given up within about a second, before anything has happened, and nothing has to be
// cleaned up. What holds a record is sent again until its time is over.
func TestAThrottledClaimIsGivenUpSoonerThanACompletion(t *testing.T) {
	inACrowd(t, nil, func(c crowd) {
		held := acquired(c.T, c.store, "first")
		c.throttle(dynamotest.Always)
		ctx, cancel := context.WithTimeout(c.Context(), storeTime)
		defer cancel()
		other := claim("second")
		other.Key = "payment#2"
		began := time.Now()
		_, err := c.store.Acquire(ctx, other)
		fault, ok := errors.AsType[*persistence.Fault](err)
		if !ok || !fault.Retryable || !fault.Unwritten {
			c.Errorf("the claim: %v, want a retryable fault, of which is known that nothing was written", err)
		}
		if took := time.Since(began); took < 500*time.Millisecond || took > 1500*time.Millisecond {
			c.Errorf("the claim took %v", took)
		}
		if sent := c.sent(); len(sent) != 8 { // four times both
			c.Errorf("the claim sent %v", sent)
		}
		began = time.Now()
		err = c.store.Complete(ctx, held, completed("paid"))
		if left := time.Until(deadlineOf(ctx)); err == nil || left > 100*time.Millisecond {
			c.Errorf("the completion was given up after %v, with %v left: %v", time.Since(began), left, err)
		}
		if sent := c.sent(); len(sent) < 20 {
			c.Errorf("the completion was sent %d times", len(sent))
		}
	})
}

func deadlineOf(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline
}

// Where reads of one key are too many as well, nobody waits for it; but a table with little
// capacity to read is no reason.
func TestAClaimOfAKeyThatIsTooHotToReadIsGivenUpAtOnce(t *testing.T) {
	for reason, requests := range map[string][]int{ // of a first and of a second claim, which looks first
		"TableReadKeyRangeThroughputExceeded":    {2, 1},
		"TableReadProvisionedThroughputExceeded": {8, 9},
	} {
		inACrowd(t, nil, func(c crowd) {
			c.throttle(dynamotest.Always)
			c.db.Inject(dynamotest.Fault{Operation: "GetItem", Times: dynamotest.Always, Do: dynamotest.ThrottleFor(reason)})
			for _, want := range requests {
				_, err := c.store.Acquire(c.Context(), claim("me"))
				if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Retryable || !fault.Unwritten {
					c.Errorf("%s: %v", reason, err)
				}
				if got := c.sent(); len(got) != want {
					c.Errorf("%s: sent %v", reason, got)
				}
			}
		})
	}
}

// However its tries have ended, a claim knows its own record.
func TestAClaimInACrowdFindsItsOwnRecord(t *testing.T) {
	inACrowd(t, nil, func(c crowd) {
		c.db.Inject(dynamotest.Fault{Operation: "PutItem", Times: 3, Do: dynamotest.LoseReply()})
		c.db.Inject(dynamotest.Fault{Operation: "PutItem", Nth: 4, Times: dynamotest.Always, Do: dynamotest.Throttle()})
		if err := owned(c.store.Acquire(c.Context(), claim("me"))); err != nil {
			c.Error(err)
		}
	})
}

// A client that limits its own rate does so here too, and a throttled request costs nothing of
// the quota that all calls share.
func TestTheClientsRetryerIsAskedAllTheSame(t *testing.T) {
	limiter := &counting{RetryerV2: retry.NewAdaptiveMode()}
	inACrowd(t, nil, func(c crowd) {
		store, err := dynamostore.New(c.db.Client(func(o *dynamodb.Options) { o.Retryer = limiter }), dynamostore.Config{Table: "idempotency"})
		if err != nil {
			c.Fatal(err)
		}
		c.throttle(2)
		if err := owned(store.Acquire(c.Context(), claim("me"))); err != nil {
			c.Error(err)
		}
		if sent := len(c.sent()); limiter.attempts != sent || limiter.retries != 0 {
			c.Errorf("asked for %d attempts and %d retries, for %d requests", limiter.attempts, limiter.retries, sent)
		}
	})
}

// counting is a retryer that counts what it is asked.
type counting struct {
	aws.RetryerV2
	attempts, retries int
}

func (r *counting) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	r.attempts++
	return r.RetryerV2.GetAttemptToken(ctx)
}

func (r *counting) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	r.retries++
	return r.RetryerV2.GetRetryToken(ctx, err)
}

// An invocation of an execution takes over what the one before it has: that a run is under way is
// no answer to it, so it pauses between its tries as any claim does.
func TestAnExecutionInACrowdIsNotAnsweredByItself(t *testing.T) {
	inACrowd(t, nil, func(c crowd) {
		of := func(owner string) persistence.Claim {
			k := claim("execution#" + owner)
			k.Execution = "execution#"
			return k
		}
		if _, err := c.store.Acquire(c.Context(), of("1")); err != nil {
			c.Fatal(err)
		}
		c.throttle(dynamotest.Always)
		began := time.Now()
		_, err := c.store.Acquire(c.Context(), of("2"))
		if fault, ok := errors.AsType[*persistence.Fault](err); !ok || !fault.Retryable || !fault.Unwritten {
			c.Errorf("got %v, want a retryable fault, of which is known that nothing was written", err)
		}
		if sent, took := c.sent(), time.Since(began); len(sent) > 9 || took < 500*time.Millisecond {
			c.Errorf("sent %v in %v", sent, took)
		}
		c.db.ClearFaults()
		c.throttle(1)
		if r, err := c.store.Acquire(c.Context(), of("3")); err != nil || r.Owner != "execution#3" {
			c.Errorf("got %+v, %v", r, err)
		}
	})
}

// lagging answers eventually consistent reads by what was there at first.
type lagging struct {
	dynamostore.API
	first *dynamodb.GetItemOutput
}

func (l *lagging) GetItem(ctx context.Context, in *dynamodb.GetItemInput, options ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if !aws.ToBool(in.ConsistentRead) && l.first != nil {
		return l.first, nil
	}
	return l.API.GetItem(ctx, in, options...)
}

// Where a try of the claim may have been applied, what was there a moment ago is no answer: the
// claim's own record would be nobody's.
func TestAClaimThatMayHaveBeenAppliedIsNotAnsweredByWhatWasThereBefore(t *testing.T) {
	inACrowd(t, nil, func(c crowd) {
		behind := &lagging{API: c.db.Client(asDeployed)}
		store, err := dynamostore.New(behind, dynamostore.Config{Table: "idempotency"})
		if err != nil {
			c.Fatal(err)
		}
		before := acquired(c.T, store, "before")
		first, err := behind.GetItem(c.Context(), &dynamodb.GetItemInput{
			TableName: aws.String("idempotency"), Key: attributes{"idempotency_key": text(before.Key)}, ConsistentRead: aws.Bool(true),
		})
		if err != nil || store.Release(c.Context(), before) != nil {
			c.Fatal(err)
		}
		behind.first = first
		c.db.Inject(dynamotest.Fault{Operation: "PutItem", Do: dynamotest.LoseReply()})
		c.db.Inject(dynamotest.Fault{Operation: "PutItem", Nth: 2, Times: dynamotest.Always, Do: dynamotest.Throttle()})
		if err := owned(store.Acquire(c.Context(), claim("me"))); err != nil {
			c.Error(err)
		}
	})
}
