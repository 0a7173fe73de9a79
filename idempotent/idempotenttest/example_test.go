package idempotenttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent/idempotenttest"
)

// In a test file of your function this is TestPaymentsAreProved, and go test does the
// rest. Function payments is in docs/testing.md.
func ExampleProve() {
	TestPaymentsAreProved := func(t *testing.T) {
		idempotenttest.Prove(t, payments())
	}
	fmt.Printf("%T\n", TestPaymentsAreProved)
	// Output: func(*testing.T)
}

func TestADeadRunIsTakenOver(t *testing.T) {
	idempotenttest.Story(t, payments(), takeOver)
}

// A process dies when its payment is charged, and Lambda's next one gets the request.
func takeOver(t *testing.T, w *idempotenttest.World) {
	e := w.Start()
	e.KillAfter(2) // the second request is the call of the provider
	e.Invoke(payment{ID: "p-1"})
	e.Restart()
	w.Pass(12 * time.Second) // until the lease of the dead run is over
	if a := e.Invoke(payment{ID: "p-1"}); a.Err != nil || len(w.Effects()) != 1 {
		t.Errorf("the second process %v, and there are %d charges", a, len(w.Effects()))
	}
}

func ExampleStory() {
	TestADeadRunIsTakenOver := func(t *testing.T) {
		idempotenttest.Story(t, payments(), takeOver)
	}
	fmt.Printf("%T\n", TestADeadRunIsTakenOver)
	// Output: func(*testing.T)
}

func ExampleAnswer() {
	a := idempotenttest.Answer{Payload: []byte(`{"statusCode":201,"headers":{"Content-Type":"text/plain"},"body":"aGVsbG8=","isBase64Encoded":true}`)}
	fmt.Printf("%d %s %s\n", a.Status(), a.Header("content-type"), a.Body())
	fmt.Println(a)
	// Output:
	// 201 text/plain hello
	// answers 201 hello
}

func ExampleBooks() {
	fmt.Println(idempotenttest.Books{"mails": 1, "charges": 2})
	// Output: charges: 2, mails: 1
}

// member is a value in the JSON form of an event.
func member(event any, name string) any {
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	return members[name]
}

func ExampleAPIGatewayV1() {
	event := idempotenttest.APIGatewayV1(idempotenttest.HTTPRequest{Path: "/payments", Key: "k-1"})
	fmt.Println(event.HTTPMethod, event.Path, event.Headers["Idempotency-Key"])
	// Output: POST /payments k-1
}

func ExampleAPIGatewayV2() {
	event := idempotenttest.APIGatewayV2(idempotenttest.HTTPRequest{Path: "/payments", Key: "k-1", Subject: "shop"})
	fmt.Println(event.RouteKey, event.Headers["idempotency-key"], event.RequestContext.Authorizer.JWT.Claims["sub"])
	// Output: POST /payments k-1 shop
}

func ExampleALB() {
	event := idempotenttest.ALB(idempotenttest.HTTPRequest{Path: "/payments", Key: "k-1"})
	fmt.Println(event.HTTPMethod, event.Path, event.Headers["idempotency-key"])
	// Output: POST /payments k-1
}

func ExampleFunctionURL() {
	event := idempotenttest.FunctionURL(idempotenttest.HTTPRequest{Path: "/payments", Key: "k-1"})
	fmt.Println(event.RequestContext.HTTP.Method, event.RawPath, event.Headers["idempotency-key"])
	// Output: POST /payments k-1
}

func ExampleSQS() {
	event := idempotenttest.SQS(`{"order_id":"o-1"}`, `{"order_id":"o-2"}`)
	fmt.Println(len(event.Records), event.Records[0].Body)
	// Output: 2 {"order_id":"o-1"}
}

func ExampleSQSFIFO() {
	event := idempotenttest.SQSFIFO("customer-7", `{"order_id":"o-1"}`)
	fmt.Println(event.Records[0].Attributes["MessageGroupId"])
	// Output: customer-7
}

func ExampleRedelivered() {
	first := idempotenttest.SQS(`{"order_id":"o-1"}`)
	again := idempotenttest.Redelivered(first)
	fmt.Println(first.Records[0].MessageId == again.Records[0].MessageId, again.Records[0].Attributes["ApproximateReceiveCount"])
	// Output: true 2
}

func ExampleKinesis() {
	event := idempotenttest.Kinesis("customer-7", `{"order_id":"o-1"}`)
	fmt.Println(event.Records[0].Kinesis.PartitionKey, string(event.Records[0].Kinesis.Data))
	// Output: customer-7 {"order_id":"o-1"}
}

func ExampleDynamoDBStream() {
	keys := map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute("o-1")}
	event := idempotenttest.DynamoDBStream("orders",
		idempotenttest.Change{Keys: keys, New: keys},
		idempotenttest.Change{Keys: keys, Old: keys},
	)
	fmt.Println(event.Records[0].EventName, event.Records[1].EventName)
	// Output: INSERT REMOVE
}

func ExampleSNS() {
	event := idempotenttest.SNS(`{"order_id":"o-1"}`)
	fmt.Println(event.Records[0].SNS.Message)
	// Output: {"order_id":"o-1"}
}

func ExampleEventBridge() {
	event := idempotenttest.EventBridge("shop", "OrderPlaced", `{"order_id":"o-1"}`)
	fmt.Println(member(event, "detail-type"), member(event, "detail"))
	// Output: OrderPlaced map[order_id:o-1]
}

// What can happen to an environment. After each, the request comes again to a new process,
// and the payment is charged once.
var faults = map[string]func(*idempotenttest.Environment){
	"its first request is lost":      func(e *idempotenttest.Environment) { e.LoseRequest(1) },
	"its second reply is lost":       func(e *idempotenttest.Environment) { e.LoseReply(2) },
	"it freezes where it is":         func(e *idempotenttest.Environment) { e.Freeze(time.Minute) },
	"it freezes before it charges":   func(e *idempotenttest.Environment) { e.FreezeBefore(2, time.Minute) },
	"it is killed before it charges": func(e *idempotenttest.Environment) { e.KillBefore(2) },
}

func TestNoFaultChargesTwice(t *testing.T) {
	for name, happens := range faults {
		t.Run(name, func(t *testing.T) {
			idempotenttest.Story(t, payments(), func(t *testing.T, w *idempotenttest.World) {
				e := w.Start()
				w.Tell("it comes as it must: %s", name) // a line of one's own
				happens(e)
				e.Invoke(payment{ID: "p-1"})
				e.Kill() // whatever it is still at
				e.Restart()
				w.Pass(2 * time.Minute)
				if a := e.Invoke(payment{ID: "p-1"}); a.Err != nil || len(w.Effects()) != 1 {
					t.Errorf("%v, and there are %d charges:\n%s", a, len(w.Effects()), w.Told())
				}
			})
		})
	}
}

func ExampleEnvironment() {
	// See faults, and the test that plays them, in this file.
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		fmt.Println(name)
	}
	// Output:
	// it freezes before it charges
	// it freezes where it is
	// it is killed before it charges
	// its first request is lost
	// its second reply is lost
}

// A provider that knows no keys charges twice where its answer was lost: what the guard can't
// keep from happening, a test can show.
func TestAProviderWithoutKeysChargesTwice(t *testing.T) {
	f := payments()
	f.New = func(e *idempotenttest.Environment) (any, error) {
		return newFunction(e.Client(), e.Service("charge").IgnoringKeys())
	}
	idempotenttest.Story(t, f, func(t *testing.T, w *idempotenttest.World) {
		takeOverDead(w)
		if charges := len(w.Effects()); charges != 2 {
			t.Errorf("there are %d charges", charges)
		}
	})
}

// A provider that the test has faked itself can be lost all the same.
func TestAFakeOfOnesOwnIsReachedThroughTheEnvironment(t *testing.T) {
	charges := 0
	f := payments()
	f.New = func(e *idempotenttest.Environment) (any, error) {
		return newFunction(e.Client(), outside{e, &charges})
	}
	idempotenttest.Story(t, f, func(t *testing.T, w *idempotenttest.World) {
		takeOverDead(w)
		if charges != 2 {
			t.Errorf("there are %d charges", charges)
		}
	})
}

// outside is a fake that knows no keys.
type outside struct {
	e       *idempotenttest.Environment
	charges *int
}

func (o outside) Do(ctx context.Context, _, _ string) (id string, err error) {
	err = o.e.Outside(ctx, "charge", func() error {
		*o.charges++
		return nil
	})
	return fmt.Sprint("ch_", *o.charges), err
}

// takeOverDead kills a process when its payment is charged, and sends the request to the next.
func takeOverDead(w *idempotenttest.World) {
	e := w.Start()
	e.KillAfter(2)
	e.Invoke(payment{ID: "p-1"})
	e.Restart()
	w.Pass(2 * time.Minute)
	e.Invoke(payment{ID: "p-1"})
}
