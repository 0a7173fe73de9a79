package dynamostore_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

func TestWarmIsOneRequestForHalfAReadUnit(t *testing.T) {
	for name, config := range map[string]dynamostore.Config{
		"simple key":    {},
		"composite key": {Attributes: dynamostore.Attributes{Key: "pk", SortKey: "sk"}, PartitionValue: "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			db, store := newStoreWith(t, config)
			if err := store.Warm(t.Context()); err != nil {
				t.Fatal(err)
			}
			requests := db.Requests()
			if len(requests) != 1 || requests[0].Operation != "GetItem" {
				t.Errorf("want one GetItem, got %v", requests)
			}
			if used := db.Capacity(); used.Read != 0.5 || used.Write != 0 {
				t.Errorf("want half a read unit, got %+v", used)
			}
			if left := db.Items("idempotency"); len(left) != 0 {
				t.Errorf("it leaves %v", left)
			}
		})
	}
}

// What keeps Warm from its answer is told, after one request and in bounded time: the
// first call is still to come.
func TestWarmTellsWhatFailsAndRepeatsNothing(t *testing.T) {
	for name, test := range map[string]struct {
		effect    dynamotest.Effect
		retryable bool
	}{
		"refused":    {dynamotest.Deny(), false},
		"failed":     {dynamotest.FailBefore(), true},
		"throttled":  {dynamotest.Throttle(), true},
		"unanswered": {dynamotest.DelayBefore(time.Hour), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, store := newStore(t)
				db.Inject(dynamotest.Fault{Do: test.effect, Times: dynamotest.Always})
				began := time.Now()
				err := store.Warm(t.Context())
				fault, ok := errors.AsType[*persistence.Fault](err)
				if !ok || fault.Op != "warm" || fault.Retryable != test.retryable {
					t.Errorf("got %v (%+v)", err, fault)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v of the init phase", took)
				}
				if n := len(db.Requests()); n > 1 {
					t.Errorf("it made %d requests", n)
				}
			})
		})
	}
}

// overTLS is a database behind a TLS listener, a client of it, and what it has cost to get
// through.
type overTLS struct {
	client                 *dynamodb.Client
	handshakes, retrievals atomic.Int64
	sent                   chan struct{} // a whole request
}

// serveTLS answers when the client's transport has finished with sending, as it has wherever
// there is a network in between; an earlier answer may cost the connection.
func serveTLS(t *testing.T, db *dynamotest.DB) *overTLS {
	t.Helper()
	o := overTLS{sent: make(chan struct{}, 1)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-o.sent
		db.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{VerifyConnection: func(tls.ConnectionState) error {
		o.handshakes.Add(1)
		return nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		o.retrievals.Add(1)
		return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
	})
	o.client = dynamodb.New(dynamodb.Options{
		Region:       dynamotest.Region,
		BaseEndpoint: aws.String(server.URL),
		HTTPClient:   server.Client(),
		Credentials:  aws.NewCredentialsCache(credentials),
	})
	return &o
}

// watched is a context whose requests are sent one after the other.
func (o *overTLS) watched(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { o.sent <- struct{}{} },
	})
}

func TestAfterWarmTheFirstCallShakesNoHandsAndResolvesNoCredentials(t *testing.T) {
	for name, warm := range map[string]bool{"cold": false, "warm": true} {
		t.Run(name, func(t *testing.T) {
			db := dynamotest.New(t)
			db.MustCreateTable("idempotency", "idempotency_key")
			way := serveTLS(t, db)
			ctx := way.watched(t.Context())
			store, err := dynamostore.New(way.client, dynamostore.Config{Table: "idempotency", RequestTimeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			want := int64(1) // of the first call
			if warm {
				want = 0
				if err := store.Warm(ctx); err != nil {
					t.Fatal(err)
				}
			}
			handshakes, retrievals := way.handshakes.Load(), way.retrievals.Load()
			record, err := store.Acquire(ctx, claim("me"))
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Complete(ctx, record.Lease(), completed(`"paid"`)); err != nil {
				t.Fatal(err)
			}
			if got := way.handshakes.Load() - handshakes; got != want {
				t.Errorf("the call shook hands %d times, want %d", got, want)
			}
			if got := way.retrievals.Load() - retrievals; got != want {
				t.Errorf("the call resolved credentials %d times, want %d", got, want)
			}
		})
	}
}
