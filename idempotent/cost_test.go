package idempotent_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/dynamolocal"
	"github.com/ikkai-go/idempotency/persistence"
)

// What every path costs, in requests and in capacity units.
func TestRequestsAndCapacityOfEveryPath(t *testing.T) {
	type cost struct {
		requests []string
		writes   float64
		reads    float64
	}
	const payload = `{"id":"1"}`
	tests := map[string]struct {
		config  idempotent.Config
		cached  bool
		prepare func(t *testing.T, handler lambda.Handler, guard *idempotent.Guard)
		payload string
		want    cost
	}{
		"first run": {want: cost{[]string{"PutItem", "UpdateItem"}, 2, 0}},
		"replay": {
			prepare: invoked,
			want:    cost{[]string{"PutItem"}, 1, 0},
		},
		"cached replay": {
			cached:  true,
			prepare: invoked,
			want:    cost{nil, 0, 0},
		},
		"replay, read first": {
			config:  idempotent.Config{ReadFirst: true},
			prepare: invoked,
			want:    cost{[]string{"GetItem"}, 0, 0.5},
		},
		"first run, read first": {
			config: idempotent.Config{ReadFirst: true},
			want:   cost{[]string{"GetItem", "PutItem", "UpdateItem"}, 2, 0.5},
		},
		"in progress": {
			prepare: func(t *testing.T, _ lambda.Handler, guard *idempotent.Guard) { die(t, guard, "1", time.Minute) },
			want:    cost{[]string{"PutItem"}, 1, 0},
		},
		"take-over": {
			prepare: func(t *testing.T, _ lambda.Handler, guard *idempotent.Guard) {
				die(t, guard, "1", time.Second)
				time.Sleep(3 * time.Second) // virtual
			},
			want: cost{[]string{"PutItem", "UpdateItem", "UpdateItem"}, 3, 0},
		},
		"handler error": {
			payload: `{"id":"1","amount":-1}`,
			want:    cost{[]string{"PutItem", "DeleteItem"}, 2, 0},
		},
		"permanent failure": {
			payload: `{"id":"1","amount":-2}`,
			want:    cost{[]string{"PutItem", "UpdateItem"}, 2, 0},
		},
		"key missing": {
			payload: `{"amount":1}`,
			want:    cost{nil, 0, 0},
		},
		"key missing, run unprotected": {
			config:  idempotent.Config{OnMissingKey: idempotent.RunUnprotected},
			payload: `{"amount":1}`,
			want:    cost{nil, 0, 0},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, dynamo := newDynamo(t)
				var store persistence.Store = dynamo
				if test.cached {
					store = persistence.NewCached(dynamo, persistence.CacheLimits{})
				}
				guard := newTestGuard(t, store, test.config)
				handler := guard.Handler(func(_ context.Context, o order) (string, error) {
					switch o.Amount {
					case -1:
						return "", errTryAgain
					case -2:
						return "", idempotent.Permanent(errTryAgain)
					}
					return "done", nil
				})
				if test.prepare != nil {
					test.prepare(t, handler, guard)
				}
				db.ResetLog()
				_, _ = handler.Invoke(within(t, time.Minute), []byte(or(test.payload, payload)))
				if got := operations(db); !slices.Equal(got, test.want.requests) {
					t.Errorf("requests %v, want %v", got, test.want.requests)
				}
				if used := db.Capacity(); used.Write != test.want.writes || used.Read != test.want.reads {
					t.Errorf("used %+v, want %v writes and %v reads", used, test.want.writes, test.want.reads)
				}
			})
		})
	}
}

func invoked(t *testing.T, handler lambda.Handler, _ *idempotent.Guard) {
	if _, err := handler.Invoke(within(t, time.Minute), []byte(`{"id":"1"}`)); err != nil {
		t.Fatal(err)
	}
}

func operations(db *dynamolocal.DB) []string {
	var operations []string
	for _, r := range db.Requests() {
		operations = append(operations, r.Operation)
	}
	return operations
}

// Crash matrix: the process dies before and after each of its store calls, and
// then a retry comes, at once and after the lease.
func TestTheProcessMayDieAtAnyStoreCall(t *testing.T) {
	type outcome struct {
		atOnce     error  // of a retry at once; nil: it gets atOnceRun
		atOnceRun  string // "" where atOnce is an error
		afterLease string
	}
	tests := map[string]struct {
		fails bool // the first run's handler fails, so that it releases
		call  string
		after bool
		want  outcome
	}{
		"before acquiring":  {call: "acquire", want: outcome{nil, "second", "second"}},
		"after acquiring":   {call: "acquire", after: true, want: outcome{idempotent.ErrInProgress, "", "third"}},
		"before completing": {call: "complete", want: outcome{idempotent.ErrInProgress, "", "third"}},
		"after completing":  {call: "complete", after: true, want: outcome{nil, "first", "first"}},
		"before releasing":  {fails: true, call: "release", want: outcome{idempotent.ErrInProgress, "", "third"}},
		"after releasing":   {fails: true, call: "release", after: true, want: outcome{nil, "second", "second"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, store persistence.Store) {
				dying := newTestGuard(t, &mortal{Store: store, call: test.call, after: test.after}, idempotent.Config{})
				died := make(chan struct{})
				go func() {
					defer close(died)
					_, _ = idempotent.Do(within(t, 2*time.Second), dying, "k", func(context.Context) (string, error) {
						if test.fails {
							return "", errTryAgain
						}
						return "first", nil
					})
					t.Error("the process survived")
				}()
				<-died
				guard := newTestGuard(t, store, idempotent.Config{})
				retry := func(name string) (string, error) {
					return idempotent.Do(within(t, time.Minute), guard, "k", func(context.Context) (string, error) { return name, nil })
				}
				got, err := retry("second")
				if !errors.Is(err, test.want.atOnce) || got != test.want.atOnceRun {
					t.Errorf("at once: %q, %v, want %q, %v", got, err, test.want.atOnceRun, test.want.atOnce)
				}
				time.Sleep(4 * time.Second) // virtual
				if got, err := retry("third"); err != nil || got != test.want.afterLease {
					t.Errorf("after the lease: %q, %v, want %q", got, err, test.want.afterLease)
				}
			})
		})
	}
}
