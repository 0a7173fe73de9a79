package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/functions/internal/wiring"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/internal/lambdatest"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
	"github.com/ikkai-go/idempotency/persistence/records"
)

const (
	timeout = 240 * time.Second // as in template.yaml
	event   = `{"order_id":"the customer's own"}`
)

// world is the table, and Lambda and SQS as far as they are asked.
type world struct {
	*testing.T
	db       *dynamotest.DB
	store    *dynamostore.Store
	settings map[string]string
	messages []map[string]any
	invoked  []string // functions
	tenants  []string
	paid     int
	broken   bool // the queue takes nothing
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, db: lambdatest.NewDatabase(t, "sales")}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	var err error
	if w.store, err = dynamostore.New(w.db.Client(), dynamostore.Config{Table: lambdatest.IdempotencyTable}); err != nil {
		t.Fatal(err)
	}
	w.settings = map[string]string{
		"IDEMPOTENCY_TABLE": lambdatest.IdempotencyTable, "FUNCTIONS": `{"payment":"payment:live"}`, "ABANDONED_QUEUE_URL": "https://sqs/abandoned",
		"AWS_ENDPOINT_URL_LAMBDA": server.URL, "AWS_ENDPOINT_URL_SQS": server.URL,
	}
	return w
}

// ServeHTTP is SQS, and Lambda with the guarded function.
func (w *world) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		w.Errorf("%s %s is not signed (%v)", r.Method, r.URL, err)
	}
	if r.Header.Get("X-Amz-Target") == "AmazonSQS.SendMessage" {
		w.queue(answer, body)
		return
	}
	name, _ := strings.CutPrefix(r.URL.Path, "/2015-03-31/functions/")
	w.invoked = append(w.invoked, strings.TrimSuffix(name, "/invocations"))
	w.tenants = append(w.tenants, r.Header.Get("X-Amz-Tenant-Id"))
	lc := &lambdacontext.LambdaContext{TenantID: r.Header.Get("X-Amz-Tenant-Id")}
	if content, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Amz-Client-Context")); err != nil || json.Unmarshal(content, &lc.ClientContext) != nil {
		w.Errorf("the client context is %q", content)
	}
	if err := w.pay(lambdacontext.NewContext(r.Context(), lc), body); err != nil {
		answer.Header().Set("X-Amz-Function-Error", "Unhandled")
	}
}

func (w *world) queue(answer http.ResponseWriter, body []byte) {
	var sent struct{ QueueUrl, MessageBody string } //nolint:revive // SQS's name
	var message map[string]any
	if json.Unmarshal(body, &sent) != nil || json.Unmarshal([]byte(sent.MessageBody), &message) != nil || sent.QueueUrl != w.settings["ABANDONED_QUEUE_URL"] {
		w.Errorf("SQS is sent %s", body)
	}
	if strings.Contains(string(body), "customer") {
		w.Errorf("the message has what was kept: %s", body)
	}
	if w.broken {
		answer.WriteHeader(http.StatusForbidden)
		return
	}
	w.messages = append(w.messages, message)
}

// pay is the function, in an environment of its own each time.
func (w *world) pay(ctx context.Context, event []byte) error {
	store, err := dynamostore.New(w.db.Client(), dynamostore.Config{Table: lambdatest.IdempotencyTable})
	if err != nil {
		return err
	}
	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Key: idempotency.MustJMESPath("order_id"), KeepEvent: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = guard.Handler(func() { w.paid++ }).Invoke(ctx, event)
	return err
}

// died leaves the record of a run that has died an hour ago.
func (w *world) died(key string, event []byte) {
	w.Helper()
	at := time.Now().Add(-time.Hour)
	_, err := w.store.Acquire(w.Context(), persistence.Claim{
		Key: key, Owner: "owner", Now: at, LeaseUntil: at.Add(time.Minute).Truncate(time.Millisecond), ExpiresAt: at.Add(24 * time.Hour).Truncate(time.Second),
		Run: persistence.Run{StartedAt: at, Function: "payment:7", RequestID: "r-1"}, Event: event,
	})
	if err != nil {
		w.Fatal(err)
	}
}

// sweep is a start of the function, in an environment of its own.
func (w *world) sweep() (records.Swept, error) {
	w.Helper()
	f, err := wiring.Build(newFunction, w.db.Client(), w.settings)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	return f(ctx)
}

func paymentKey(t *testing.T, tenant string) string {
	t.Helper()
	key, err := idempotency.MustJMESPath("order_id").Key("payment", []byte(event))
	if err == nil && tenant != "" {
		key, err = idempotency.TenantKey(tenant, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestWhatDiedIsRunByItsOwnFunction(t *testing.T) {
	for _, tenant := range []string{"", "blue"} {
		w := newWorld(t)
		w.died(paymentKey(t, tenant), []byte(event))
		swept, err := w.sweep()
		if err != nil || swept.Ended != 1 || w.paid != 1 || w.invoked[0] != "payment:live" || w.tenants[0] != tenant || len(w.messages) != 0 {
			t.Errorf("%+v, %v: paid %d times by %q for %q, and told %v", swept, err, w.paid, w.invoked, w.tenants, w.messages)
		}
		if swept, err = w.sweep(); err != nil || swept.Ended+swept.Abandoned+swept.Left != 0 || w.paid != 1 {
			t.Errorf("once more: %+v, %v; paid %d times", swept, err, w.paid)
		}
	}
}

func TestWhatNoSweepCanEndIsToldOnce(t *testing.T) {
	for name, c := range map[string]struct {
		key   string
		event string
		why   string
	}{
		"no event":         {key: "payment#1", why: records.WhyNoEvent},
		"no function":      {key: "salary#1", event: event, why: records.WhyNoFunction},
		"another key":      {key: "payment#2", event: event, why: records.WhyRefused},
		"an event of none": {key: "payment#3", event: `{}`, why: records.WhyRefused},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.died(c.key, []byte(c.event))
			w.broken = true
			if swept, err := w.sweep(); err == nil || swept.Abandoned != 1 {
				t.Errorf("with a queue that takes nothing: %+v, %v", swept, err)
			}
			w.broken = false
			for range 3 {
				if _, err := w.sweep(); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.messages) != 1 || w.messages[0]["key"] != c.key || w.messages[0]["why"] != c.why || w.messages[0]["function"] != "payment:7" {
				t.Errorf("told is %v", w.messages)
			}
			if w.paid != 0 {
				t.Errorf("paid %d times", w.paid)
			}
		})
	}
}

func TestEverySettingIsChecked(t *testing.T) {
	w := newWorld(t)
	lambdatest.EverySettingIsChecked(t, map[string]string{
		"IDEMPOTENCY_TABLE": "", "FUNCTIONS": "payment", "ABANDONED_QUEUE_URL": "", "MAX_UNITS": "many",
	}, func(spoilt map[string]string) error {
		_, err := wiring.Build(newFunction, w.db.Client(), w.settings, spoilt)
		return err
	})
}

func TestServicesAreWhereTheirRegionIs(t *testing.T) {
	for region, want := range map[string]string{
		"eu-west-1": "amazonaws.com", "us-gov-west-1": "amazonaws.com", "cn-north-1": "amazonaws.com.cn", "eusc-de-east-1": "amazonaws.eu",
	} {
		if got := domain(region); got != want {
			t.Errorf("%s: %s, want %s", region, got, want)
		}
	}
}
