package dynamostore_test

import (
	"crypto/rand"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/ikkai-go/idempotency/internal/endpoint"
	"github.com/ikkai-go/idempotency/internal/proof/lincheck"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
	"github.com/ikkai-go/idempotency/persistence/dynamostore/dynamotest"
)

// wire is the way to an embedded database. It lets other callers go first, before
// and after each request, and tells lincheck of the answers that were lost.
type wire struct{ db *dynamotest.DB }

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	runtime.Gosched()
	response, err := w.db.RoundTrip(r)
	if err != nil || response.StatusCode >= http.StatusInternalServerError {
		lincheck.Unanswered(r.Context())
	}
	runtime.Gosched()
	return response, err
}

// linearizable runs lincheck on a new table behind a wire.
func linearizable(t *testing.T, sdk func(*dynamodb.Options), faults ...dynamotest.Fault) lincheck.Report {
	t.Helper()
	db := dynamotest.New(t)
	store := newTable(t, db.Client(sdk, func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: wire{db}}
	}), dynamostore.Config{Table: "idempotency"})
	db.ResetLog()
	db.Inject(faults...)
	return lincheck.Run(t, store, lincheck.Options{Histories: 3})
}

func TestTheStoreIsLinearizable(t *testing.T) {
	linearizable(t, impatient)
}

func TestTheStoreIsLinearizableWhereFailedConditionsShowNoItem(t *testing.T) {
	linearizable(t, impatient, dynamotest.Fault{Times: dynamotest.Always, Do: dynamotest.OmitItem()})
}

// everyFifth are faults that hit every fifth request of the first few thousand,
// each kind in its turn.
func everyFifth() []dynamotest.Fault {
	kinds := []dynamotest.Effect{dynamotest.LoseReply(), dynamotest.LoseRequest(), dynamotest.FailAfter()}
	var faults []dynamotest.Fault
	for request := 5; request < 3000; request += 5 {
		faults = append(faults, dynamotest.Fault{Request: request, Do: kinds[request/5%len(kinds)]})
	}
	return faults
}

// once makes the SDK try only once.
func once(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }

// A caller who gets no answer must reckon with both: that its write was applied,
// and that it was not.
func TestTheStoreIsLinearizableForCallersWhoGetNoAnswer(t *testing.T) {
	if report := linearizable(t, once, everyFifth()...); report.Unanswered == 0 {
		t.Error("every call was answered")
	}
}

// The SDK repeats what was not answered: the caller gets its answer, and a write
// may have been applied twice.
func TestTheStoreIsLinearizableForCallersWhoseRequestsAreRepeated(t *testing.T) {
	if report := linearizable(t, impatient, everyFifth()...); report.Unanswered == 0 {
		t.Error("no request was lost")
	}
}

// Here requests are neither timed out nor repeated behind the caller's back: what
// a network loses is then seen as a call without an answer.
func TestTheStoreIsLinearizableAtTheExternalEndpoint(t *testing.T) {
	client, set := endpoint.Client()
	if !set {
		t.Skip(endpoint.Variable + " is not set")
	}
	store := newTable(t, dynamodb.New(client.Options(), once), dynamostore.Config{
		Table:          "idempotency-" + rand.Text(),
		RequestTimeout: time.Minute,
	})
	lincheck.Run(t, store, lincheck.Options{Histories: 3, Reads: lincheck.FormerOutcome})
}
