package httpguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/client"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/idempotent/saga"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

type document struct {
	Code, Done, Detail string
	Retry              bool
}

func documentOf(t *testing.T, a answer) document {
	t.Helper()
	var d document
	if err := json.Unmarshal([]byte(a.body), &d); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	return d
}

// charge is the step of these tests.
var charge = saga.NewStep(saga.Spec[string]{Name: "charge"})

// What has been done in steps is finished by a repetition: the answer says so, and when.
func TestWhatARetryResumesSaysSo(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		synctest.Test(t, func(t *testing.T) {
			var failing error = &persistence.Fault{Op: "complete", Retryable: true, Err: errors.New("lost")}
			store := lab.Before(persistence.NewMemory(), "complete", func() error { return failing })
			charges := 0
			handle := s.serve(s.newAPI(t, store, idempotent.Config{Steps: saga.Steps(charge)}, httpguard.Config{}), func(ctx context.Context, run int) (answer, error) {
				_, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
					charges++
					return "ch_1", nil
				})
				return created(run), err
			})
			a := handle.send(t.Context(), key("a", "{}"))
			d := documentOf(t, a)
			if a.status != http.StatusServiceUnavailable || d.Code != "not_stored" || d.Done != "something" || !d.Retry || a.header.Get("Retry-After") == "" {
				t.Errorf("%d %v %+v", a.status, a.header, d)
			}
			failing = nil
			for range 2 { // its lease may go on for what the clocks may differ by
				if after, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
					time.Sleep(time.Duration(after) * time.Second) // virtual
					a = handle.send(t.Context(), key("a", "{}"))
				}
			}
			if a.status != http.StatusCreated || a.replayed() || charges != 1 {
				t.Errorf("%d %s after %d charges", a.status, a.body, charges)
			}
		})
	})
}

// So does a handler's own failure behind steps that are done, unless it says something else.
func TestAHandlersFailureBehindStepsIsWorthComingBack(t *testing.T) {
	for name, test := range map[string]struct {
		steps  bool
		status int
		own    string // Retry-After
		want   string
	}{
		"behind a step":          {steps: true, status: 503, want: "1"},
		"with a time of its own": {steps: true, status: 503, own: "7", want: "7"},
		"behind nothing":         {status: 503},
		"that blames the client": {steps: true, status: 429},
	} {
		t.Run(name, func(t *testing.T) {
			throughEveryShape(t, func(t *testing.T, s shape) {
				handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{Steps: saga.Steps(charge)}, httpguard.Config{}), func(ctx context.Context, run int) (answer, error) {
					a := answer{status: test.status, header: make(http.Header)}
					if run > 1 {
						a.status = http.StatusCreated
					} else if test.own != "" {
						a.header.Set("Retry-After", test.own)
					}
					if !test.steps {
						return a, nil
					}
					_, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) { return "ch_1", nil })
					return a, err
				})
				if a := handle.send(t.Context(), key("a", "{}")); a.status != test.status || a.header.Get("Retry-After") != test.want || a.header.Get("Idempotency-Key-Expires") != "" {
					t.Errorf("%d %v", a.status, a.header)
				}
				if a := handle.send(t.Context(), key("a", "{}")); a.status != http.StatusCreated || a.replayed() {
					t.Errorf("then %d", a.status)
				}
			})
		})
	}
}

// The longer a run has been under way, the later it is worth asking again; and who comes
// back when told is answered, also where the run has died.
func TestWhoComesBackWhenToldOutlastsADeadRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persistence.NewMemory()
		api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
		charges := 0
		handler := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			charges++
			w.WriteHeader(http.StatusCreated)
		}))
		r := key("a", "{}").httpRequest(t.Context())
		throughHTTP(api, func(context.Context) (answer, error) { return created(1), nil })(t.Context(), key("a", "{}"))
		for _, record := range store.Records() { // its run dies now
			record.Status, record.Result, record.Owner = persistence.StatusProcessing, nil, "dead"
			record.LeaseUntil = time.Now().Add(time.Minute)
			store.Put(record)
		}
		transport, err := client.New(client.Config{Transport: inProcess{handler}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		response, err := transport.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusCreated || charges != 1 {
			t.Errorf("%v, %v after %v and %d charges", response, err, time.Since(began), charges)
		}
	})
}

// Tenants that Lambda keeps apart have keys of their own within every scope, whichever
// shape their requests come in.
func TestTenantsOfOneScopeHaveKeysOfTheirOwn(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		for name, scope := range map[string]httpguard.Scope{"the shape's": s.scope, "none": httpguard.Unscoped()} {
			store := persistence.NewMemory()
			handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: scope}), createdBy)
			for _, tenant := range []string{"blue", "green", "", "blue", "green", ""} {
				ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: tenant})
				handle.send(ctx, key("a", "{}"))
			}
			if handle.ran() != 3 || len(store.Records()) != 3 {
				t.Errorf("scope %s: %d runs, %d records", name, handle.ran(), len(store.Records()))
			}
		}
	})
}

// What a guard says and httpguard does not ask it is refused.
func TestAGuardThatIsNotAskedIsRefused(t *testing.T) {
	id := idempotency.MustJMESPath("id")
	for field, config := range map[string]idempotent.Config{"Key": {Key: id}, "Fingerprint": {Fingerprint: id}} {
		config.Operation = "payment"
		guard, err := idempotent.New(persistence.NewMemory(), config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
		fault, ok := errors.AsType[*idempotent.ConfigError](err)
		if !ok || fault.Field != field || !strings.Contains(err.Error(), "httpguard") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// Goods taken and a card charged in steps, and the transaction that would make the sale is
// refused, lost or never answered: whatever the client is told is true, it is told to come
// back, and that makes the one sale.
func TestASaleThatDoesNotCommitIsNotCalledUndone(t *testing.T) {
	for name, fault := range map[string]dynamotest.Fault{
		"refused":      {Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.Deny()},
		"throttled":    {Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.Fail("ThrottlingException", "slow down", 400)},
		"lost":         {Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseRequest()},
		"not answered": {Operation: "TransactWriteItems", Times: dynamotest.Always, Do: dynamotest.LoseReply()},
	} {
		t.Run(name, func(t *testing.T) {
			throughEveryShape(t, func(t *testing.T, s shape) {
				synctest.Test(t, func(t *testing.T) {
					db, store := embedded.Store(t, dynamostore.Config{})
					db.MustCreateTable("sales", "id")
					charges := 0
					handle := s.serve(s.newAPI(t, store, idempotent.Config{Steps: saga.Steps(charge)}, httpguard.Config{}), func(ctx context.Context, run int) (answer, error) {
						_, err := charge.Run(ctx, func(context.Context, saga.Call) (string, error) {
							charges++
							return "ch_1", nil
						})
						if err != nil {
							return answer{}, err
						}
						sale := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "sale-1"}}
						return created(run), dynamostore.Enlist(ctx, dynamostore.Write{Put: &types.Put{TableName: aws.String("sales"), Item: sale}})
					})
					db.Inject(fault)
					a := handle.send(t.Context(), key("a", "{}"))
					db.ClearFaults()
					if d := documentOf(t, a); a.status != http.StatusServiceUnavailable || d.Done != "something" || !d.Retry {
						t.Errorf("%d %v %+v", a.status, a.header, d)
					}
					for range 3 {
						if after, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
							time.Sleep(time.Duration(after) * time.Second) // virtual
							a = handle.send(t.Context(), key("a", "{}"))
						}
					}
					if a.status != http.StatusCreated || charges != 1 || len(db.Items("sales")) != 1 {
						t.Errorf("then %d %s, after %d charges, with %d sales", a.status, a.body, charges, len(db.Items("sales")))
					}
				})
			})
		})
	}
}
