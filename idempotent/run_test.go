package idempotent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

const requestID = "6bc28136-xmpl-4365-b021-0ce6b2e64ab0" // of Lambda's developer guide

// asFunction makes the process a version of a Lambda function.
func asFunction(t *testing.T, name, version string) {
	t.Helper()
	before, beforeVersion := lambdacontext.FunctionName, lambdacontext.FunctionVersion
	lambdacontext.FunctionName, lambdacontext.FunctionVersion = name, version
	t.Cleanup(func() { lambdacontext.FunctionName, lambdacontext.FunctionVersion = before, beforeVersion })
}

// asRequest is the context of an invocation.
func asRequest(ctx context.Context) context.Context {
	return lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: requestID})
}

// TestARecordSaysWhichRunHasItAndSinceWhen looks at the record while the function runs, and
// when it is taken over, and when it is over.
func TestARecordSaysWhichRunHasItAndSinceWhen(t *testing.T) {
	for _, onlyEnlists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			asFunction(t, "payment", "7")
			_, store := lab.NewDynamo(t)
			guard := lab.NewKeylessGuard(t, store, idempotent.Config{OnlyEnlists: onlyEnlists})
			begun := time.Now()
			_, err := idempotent.Do(asRequest(t.Context()), guard, "order-1", func(context.Context) (string, error) {
				time.Sleep(3 * time.Second)
				return "paid", nil
			})
			if err != nil {
				t.Fatal(err)
			}
			record := recordOf(t, store)
			if want := (persistence.Run{StartedAt: begun, Function: "payment:7", RequestID: requestID}); !sameRun(record.Run, want) {
				t.Errorf("the record says %+v, it was %+v", record.Run, want)
			}
		})
	}
}

// TestATakeOverIsOfTheRunThatHasTakenOver has a run that dies, and another one's take-over.
func TestATakeOverIsOfTheRunThatHasTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asFunction(t, "payment", "7")
		_, store := lab.NewDynamo(t)
		dead := persistence.Claim{Key: orderKey(t), Owner: "dead", Now: time.Now(), LeaseUntil: time.Now().Add(time.Second), ExpiresAt: time.Now().Add(time.Hour),
			Run: persistence.Run{StartedAt: time.Now(), Function: "payment:6", RequestID: "before"}}
		if _, err := store.Acquire(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		guard := lab.NewKeylessGuard(t, store, idempotent.Config{})
		begun := time.Now()
		if _, err := idempotent.Do(t.Context(), guard, "order-1", func(context.Context) (string, error) { return "paid", nil }); err != nil {
			t.Fatal(err)
		}
		// This one came from no invocation, and does not keep the other's request.
		record := recordOf(t, store)
		if want := (persistence.Run{StartedAt: begun, Function: "payment:7"}); !sameRun(record.Run, want) {
			t.Errorf("the record says %+v, it was %+v", record.Run, want)
		}
	})
}

// orderKey is the key of the record of order-1.
func orderKey(t *testing.T) string {
	t.Helper()
	key, err := idempotency.Key("payment", "order-1")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func recordOf(t *testing.T, store persistence.Reader) persistence.Record {
	t.Helper()
	record, found, err := store.Read(t.Context(), orderKey(t))
	if err != nil || !found {
		t.Fatalf("there is no record (%v)", err)
	}
	return record
}

func sameRun(a, b persistence.Run) bool {
	return a.StartedAt.UnixMilli() == b.StartedAt.UnixMilli() && a.Function == b.Function && a.RequestID == b.RequestID
}

// TestAFirstRunWithAResultOfHalfAKilobyteTakesTwoUnits, also where names are as long as
// Lambda takes them.
func TestAFirstRunWithAResultOfHalfAKilobyteTakesTwoUnits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newCostLab(t, dynamostore.Config{}, costPath{}, 512)
		asFunction(t, strings.Repeat("f", 64), "$LATEST")
		if got := l.bill(costPath{}); got.used.Write != 2 || len(got.requests) != 2 {
			t.Errorf("it took %+v, and the record has %v bytes", got, l.sizes)
		}
	})
}

// TestAKeptEventIsPaidForAsTheModelSays holds the page's figures against a run.
func TestAKeptEventIsPaidForAsTheModelSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := costPath{config: idempotent.Config{KeepEvent: true}, event: costEvent + strings.Repeat(" ", 10<<10-len(costEvent))}
		l := newCostLab(t, dynamostore.Config{}, path, 100)
		page := readCostPage(t)
		page.says("larger by the event and %d bytes until it is finished", len("event"))
		got := l.bill(path)
		if p := int(l.sizes["P"]); p != page.processingSize("the defaults")+len("event")+10<<10 {
			t.Errorf("the record has %d bytes while it is run", p)
		}
		page.says("an event of 10 KB makes a first run cost %v + %v write units", got.used.Write/2, got.used.Write/2)
	})
}
