package idempotent_test

import (
	"context"
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
