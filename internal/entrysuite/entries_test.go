package entrysuite_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/batch"
	"github.com/ikkai-go/idempotency/idempotent/eventguard"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/powertools"
	"github.com/ikkai-go/idempotency/internal/entrysuite"
	"github.com/ikkai-go/idempotency/persistence"
)

// entries are all ways into a guard. Add a row, and it has to keep all rules.
var entries = []entrysuite.Entry{
	{Name: "Handler", Open: openHandler, Selects: true},
	{Name: "Func", Open: openFunc, Selects: true},
	{Name: "durable Handler", Open: openDurable, Selects: true, Durable: true, Stepless: true},
	{Name: "Do", Open: openDo, Keyless: true},
	{Name: "DoAs", Open: openDoAs},
	{Name: "Each", Open: openEach, Keyless: true, Silent: true, Mute: true},
	{Name: "REST API", Open: openHTTP(throughRESTAPI), Keyless: true},
	{Name: "HTTP API", Open: openHTTP(throughHTTPAPI), Keyless: true},
	{Name: "load balancer", Open: openHTTP(throughALB), Keyless: true},
	{Name: "function URL", Open: openHTTP(throughFunctionURL), Keyless: true},
	{Name: "streamed function URL", Open: openHTTP(throughStreamedURL), Keyless: true},
	{Name: "net/http", Open: openHTTP(throughMiddleware), Keyless: true, Own: true},
	{Name: "SQS", Open: openSQS(""), Selects: true, Silent: true, Mute: true, Contains: true},
	{Name: "SQS FIFO", Open: openSQS(".fifo"), Selects: true, Silent: true, Mute: true, Contains: true},
	{Name: "Kinesis", Open: openKinesis, Selects: true, Silent: true, Mute: true, Contains: true},
	{Name: "DynamoDB stream", Open: openStream, Silent: true, Mute: true, Contains: true},
	{Name: "Kafka", Open: openKafka, Selects: true, Silent: true, Mute: true, Contains: true},
	{Name: "SNS", Open: openSNS, Selects: true, Silent: true},
	{Name: "EventBridge", Open: openEventBridge, Selects: true, Silent: true},
	{Name: "Powertools for Python", Open: openPeer(powertools.Python, "handler"), Selects: true, Stepless: true},
	{Name: "Powertools for TypeScript", Open: openPeer(powertools.TypeScript, ""), Selects: true, Stepless: true},
}

func TestEveryEntryPointKeepsEveryRule(t *testing.T) {
	for _, e := range entries {
		t.Run(e.Name, func(t *testing.T) { entrysuite.Check(t, e) })
	}
}

// payload is a request as JSON.
func payload(r entrysuite.Request) json.RawMessage {
	if r.Raw != "" {
		return json.RawMessage(r.Raw)
	}
	body, err := json.Marshal(map[string]string{"id": r.Key, "content": r.Content})
	if err != nil {
		panic(err)
	}
	return body
}

// order is what functions get: as encoding/json takes a payload apart.
type order struct {
	ID      string `json:"id"`
	Content string `json:"content"`
}

func (o order) request() entrysuite.Request {
	return entrysuite.Request{Key: o.ID, Content: o.Content}
}

func newGuard(t testing.TB, store persistence.Store, c idempotent.Config) *idempotent.Guard {
	t.Helper()
	guard, err := idempotent.New(store, c)
	if err != nil {
		t.Fatal(err)
	}
	return guard
}

// told is the answer of an entry point that gives the guard's error to its caller.
func told(result string, err error) entrysuite.Answer {
	return entrysuite.Answer{Result: result, Failed: err != nil, Verdict: idempotent.VerdictOf(err)}
}

func openHandler(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	handler := newGuard(t, store, c).Handler(func(ctx context.Context, o order) (string, error) { return fn(ctx, o.request()) })
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		response, err := handler.Invoke(ctx, payload(r))
		var result string
		if err == nil {
			err = json.Unmarshal(response, &result)
		}
		return told(result, err)
	}
}

func openFunc(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	call := idempotent.Func(newGuard(t, store, c), func(ctx context.Context, raw json.RawMessage) (string, error) {
		var o order
		if err := json.Unmarshal(raw, &o); err != nil {
			return "", err
		}
		return fn(ctx, o.request())
	})
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		return told(call(ctx, payload(r)))
	}
}

// openDo has no content to compare, so its key has it where something is to be compared.
func openDo(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	compares := c.Fingerprint != nil
	c.Fingerprint = nil
	guard := newGuard(t, store, c)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		run := func(ctx context.Context) (string, error) { return fn(ctx, r) }
		if compares {
			return told(idempotent.DoAs(ctx, guard, guard.Identity(r.Key, r.Content), run))
		}
		return told(idempotent.Do(ctx, guard, r.Key, run))
	}
}

func openDoAs(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	guard := newGuard(t, store, c)
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		identity := guard.Identify(payload(r))
		return told(idempotent.DoAs(ctx, guard, identity, func(ctx context.Context) (string, error) { return fn(ctx, r) }))
	}
}

func openEach(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	guard := newGuard(t, store, c)
	round := batch.Batch[order]{Name: "round", ID: func(o order) string { return o.ID }}
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		report, err := batch.Each(ctx, guard, round, []order{{ID: r.Key, Content: r.Content}}, func(ctx context.Context, o order) error {
			_, err := fn(ctx, o.request())
			return err
		})
		return entrysuite.Answer{Failed: err != nil || report.Permanent > 0, Verdict: idempotent.VerdictOf(err)}
	}
}

func openPeer(language func(powertools.Options) (*powertools.Peer, error), function string) func(testing.TB, persistence.Store, idempotent.Config, entrysuite.Function) entrysuite.Door {
	return func(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
		o := powertools.Options{FunctionName: "orders", EventKey: "id", Function: function}
		if c.Fingerprint != nil {
			o.Validation = "content"
		}
		c.Key, c.Fingerprint = nil, nil
		peer, err := language(o)
		if err != nil {
			t.Fatal(err)
		}
		return openHandler(t, store, peer.Config(c), fn)
	}
}

// answered is what an HTTP client makes of a response.
func answered(status int, header http.Header, body string) entrysuite.Answer {
	if status == http.StatusCreated {
		return entrysuite.Answer{Result: body, Verdict: idempotent.VerdictOf(nil)}
	}
	a := entrysuite.Answer{Failed: true}
	var problem struct {
		Code, Done string
		Retry      bool
	}
	if json.Unmarshal([]byte(body), &problem) == nil {
		a.Verdict.Code = idempotent.Code(problem.Code)
		a.Verdict.Retry = problem.Retry && header.Get("Retry-After") != ""
		for _, done := range []idempotent.Done{idempotent.DoneNothing, idempotent.DoneSomething, idempotent.DoneAll} {
			if done.String() == problem.Done {
				a.Verdict.Done = done
			}
		}
	}
	return a
}

type exchange func(context.Context, entrysuite.Request) entrysuite.Answer

func openHTTP(through func(*httpguard.API, entrysuite.Function) exchange) func(testing.TB, persistence.Store, idempotent.Config, entrysuite.Function) entrysuite.Door {
	return func(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
		c.Fingerprint = nil // the whole request is compared anyway
		api, err := httpguard.New(newGuard(t, store, c), httpguard.Config{Scope: httpguard.Unscoped(), Logger: c.Logger})
		if err != nil {
			t.Fatal(err)
		}
		return entrysuite.Door(through(api, fn))
	}
}

func requestOf(body string) (r entrysuite.Request) {
	var o order
	_ = json.Unmarshal([]byte(body), &o) // it is ours
	return o.request()
}

func headers(r entrysuite.Request) map[string]string {
	return map[string]string{"host": "api.example.com", "content-type": "application/json", "idempotency-key": `"` + r.Key + `"`}
}

// invoke invokes a Lambda handler with an event.
func invoke[Response any](ctx context.Context, handler lambda.Handler, event any) (response Response, err error) {
	raw, err := json.Marshal(event)
	if err != nil {
		return response, err
	}
	answer, err := handler.Invoke(ctx, raw)
	if err == nil {
		err = json.Unmarshal(answer, &response)
	}
	return response, err
}

func httpHeader(single map[string]string) http.Header {
	h := make(http.Header)
	for name, value := range single {
		h.Set(name, value)
	}
	return h
}

func throughRESTAPI(api *httpguard.API, fn entrysuite.Function) exchange {
	handler := lambda.NewHandler(api.RESTAPI(func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		result, err := fn(ctx, requestOf(e.Body))
		return events.APIGatewayProxyResponse{StatusCode: http.StatusCreated, Body: result}, err
	}))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		w, err := invoke[events.APIGatewayProxyResponse](ctx, handler, events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/orders", Headers: headers(r), Body: string(payload(r))})
		if err != nil {
			return told("", err)
		}
		return answered(w.StatusCode, httpHeader(w.Headers), w.Body)
	}
}

func throughHTTPAPI(api *httpguard.API, fn entrysuite.Function) exchange {
	handler := lambda.NewHandler(api.HTTPAPI(func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		result, err := fn(ctx, requestOf(e.Body))
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: result}, err
	}))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/orders", Headers: headers(r), Body: string(payload(r))}
		e.RequestContext.HTTP.Method = "POST"
		w, err := invoke[events.APIGatewayV2HTTPResponse](ctx, handler, e)
		if err != nil {
			return told("", err)
		}
		return answered(w.StatusCode, httpHeader(w.Headers), w.Body)
	}
}

func throughALB(api *httpguard.API, fn entrysuite.Function) exchange {
	handler := lambda.NewHandler(api.ALB(func(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
		result, err := fn(ctx, requestOf(e.Body))
		return events.ALBTargetGroupResponse{StatusCode: http.StatusCreated, Body: result}, err
	}))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		w, err := invoke[events.ALBTargetGroupResponse](ctx, handler, events.ALBTargetGroupRequest{HTTPMethod: "POST", Path: "/orders", Headers: headers(r), Body: string(payload(r))})
		if err != nil {
			return told("", err)
		}
		return answered(w.StatusCode, httpHeader(w.Headers), w.Body)
	}
}

func throughFunctionURL(api *httpguard.API, fn entrysuite.Function) exchange {
	handler := lambda.NewHandler(api.FunctionURL(func(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		result, err := fn(ctx, requestOf(e.Body))
		return events.LambdaFunctionURLResponse{StatusCode: http.StatusCreated, Body: result}, err
	}))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		e := events.LambdaFunctionURLRequest{Version: "2.0", RawPath: "/orders", Headers: headers(r), Body: string(payload(r))}
		e.RequestContext.HTTP.Method = "POST"
		w, err := invoke[events.LambdaFunctionURLResponse](ctx, handler, e)
		if err != nil {
			return told("", err)
		}
		return answered(w.StatusCode, httpHeader(w.Headers), w.Body)
	}
}

func throughStreamedURL(api *httpguard.API, fn entrysuite.Function) exchange {
	handler := api.StreamedFunctionURL(func(ctx context.Context, e events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		result, err := fn(ctx, requestOf(e.Body))
		return &events.LambdaFunctionURLStreamingResponse{StatusCode: http.StatusCreated, Body: strings.NewReader(result)}, err
	})
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		e := events.LambdaFunctionURLRequest{Version: "2.0", RawPath: "/orders", Headers: headers(r), Body: string(payload(r))}
		e.RequestContext.HTTP.Method = "POST"
		w, err := handler(ctx, e)
		if err != nil {
			return told("", err)
		}
		defer w.Close()
		body, err := io.ReadAll(w.Body)
		if err != nil {
			return told("", err)
		}
		return answered(w.StatusCode, httpHeader(w.Headers), string(body))
	}
}

// throughMiddleware is for handlers of net/http, which have no errors to return: one that
// fails says so by a panic of net/http, or by what a status means.
func throughMiddleware(api *httpguard.API, fn entrysuite.Function) exchange {
	guarded := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var o order
		if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		result, err := fn(r.Context(), o.request())
		v := idempotent.VerdictOf(err)
		switch {
		case err == nil:
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(result))
		case v.Code == idempotent.CodeFailed:
			w.WriteHeader(http.StatusPaymentRequired) // recorded
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		request := httptest.NewRequestWithContext(ctx, "POST", "/orders", strings.NewReader(string(payload(r))))
		for name, value := range headers(r) {
			request.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, request)
		return answered(w.Code, w.Header(), w.Body.String())
	}
}

// batched is what a queue or a stream makes of an answer.
func batched(failures int, err error) entrysuite.Answer {
	return entrysuite.Answer{Failed: failures > 0 || err != nil}
}

func silently(fn entrysuite.Function) func(context.Context, order) error {
	return func(ctx context.Context, o order) error {
		_, err := fn(ctx, o.request())
		return err
	}
}

func eventConfig(c idempotent.Config) eventguard.Config { return eventguard.Config{Logger: c.Logger} }

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func openSQS(suffix string) func(testing.TB, persistence.Store, idempotent.Config, entrysuite.Function) entrysuite.Door {
	return func(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
		run := silently(fn)
		handler := must[func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)](t)(
			eventguard.SQS(newGuard(t, store, c), eventConfig(c), func(ctx context.Context, o order, _ events.SQSMessage) error { return run(ctx, o) }))
		return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
			m := events.SQSMessage{
				MessageId: "m-1", Body: string(payload(r)), EventSource: "aws:sqs",
				EventSourceARN: "arn:aws:sqs:eu-west-1:123456789012:orders" + suffix,
				Attributes:     map[string]string{"ApproximateReceiveCount": "1", "MessageGroupId": "g", "SequenceNumber": "18890142936401919744"},
			}
			w, err := handler(ctx, events.SQSEvent{Records: []events.SQSMessage{m}})
			return batched(len(w.BatchItemFailures), err)
		}
	}
}

func openKinesis(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	run := silently(fn)
	handler := must[func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error)](t)(
		eventguard.Kinesis(newGuard(t, store, c), eventConfig(c), func(ctx context.Context, o order, _ events.KinesisEventRecord) error { return run(ctx, o) }))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		record := events.KinesisEventRecord{
			EventID: "shardId-000000000000:1", EventSource: "aws:kinesis", EventSourceArn: "arn:aws:kinesis:eu-west-1:123456789012:stream/orders",
			Kinesis: events.KinesisRecord{Data: payload(r), SequenceNumber: "1", PartitionKey: "p"},
		}
		w, err := handler(ctx, events.KinesisEvent{Records: []events.KinesisEventRecord{record}})
		return batched(len(w.BatchItemFailures), err)
	}
}

// openStream has the key in the image of the item.
func openStream(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	c.Key = imageKey
	if c.Fingerprint != nil {
		c.Fingerprint = imageContent
	}
	handler := must[func(context.Context, events.DynamoDBEvent) (events.DynamoDBEventResponse, error)](t)(
		eventguard.DynamoDB(newGuard(t, store, c), eventConfig(c), func(ctx context.Context, e events.DynamoDBEventRecord) error {
			image := e.Change.NewImage
			_, err := fn(ctx, entrysuite.Request{Key: image["id"].String(), Content: image["content"].String()})
			return err
		}))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		record := events.DynamoDBEventRecord{
			EventID: "1", EventName: "INSERT", EventSource: "aws:dynamodb", EventSourceArn: "arn:aws:dynamodb:eu-west-1:123456789012:table/orders/stream/2026-11-30T00:00:00.000",
			Change: events.DynamoDBStreamRecord{
				SequenceNumber: "1", ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Unix(1764580445, 0)},
				NewImage: map[string]events.DynamoDBAttributeValue{"id": events.NewStringAttribute(r.Key), "content": events.NewStringAttribute(r.Content)},
			},
		}
		w, err := handler(ctx, events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{record}})
		return batched(len(w.BatchItemFailures), err)
	}
}

func openKafka(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	run := silently(fn)
	handler := must[func(context.Context, eventguard.KafkaEvent) (eventguard.KafkaResponse, error)](t)(
		eventguard.Kafka(newGuard(t, store, c), eventConfig(c), func(ctx context.Context, o order, _ eventguard.KafkaRecord) error { return run(ctx, o) }))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		var e eventguard.KafkaEvent
		raw := `{"eventSource":"SelfManagedKafka","bootstrapServers":"b:9092","records":{"orders-0":[{"topic":"orders","partition":0,"offset":7,"timestamp":1,"timestampType":"CREATE_TIME","value":"` +
			base64.StdEncoding.EncodeToString(payload(r)) + `","headers":[]}]}}`
		if err := json.Unmarshal([]byte(raw), &e); err != nil {
			t.Fatal(err)
		}
		w, err := handler(ctx, e)
		return batched(len(w.BatchItemFailures), err)
	}
}

func openSNS(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	run := silently(fn)
	handler := must[func(context.Context, events.SNSEvent) error](t)(
		eventguard.SNS(newGuard(t, store, c), eventConfig(c), func(ctx context.Context, o order, _ events.SNSEventRecord) error { return run(ctx, o) }))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		return told("", handler(ctx, events.SNSEvent{Records: []events.SNSEventRecord{{
			EventSource: "aws:sns", SNS: events.SNSEntity{MessageID: "n-1", TopicArn: "arn:aws:sns:eu-west-1:123456789012:orders", Message: string(payload(r))},
		}}}))
	}
}

func openEventBridge(t testing.TB, store persistence.Store, c idempotent.Config, fn entrysuite.Function) entrysuite.Door {
	c.Key = detailKey
	if c.Fingerprint != nil {
		c.Fingerprint = detailContent
	}
	run := silently(fn)
	handler := must[func(context.Context, json.RawMessage) error](t)(
		eventguard.EventBridge(newGuard(t, store, c), eventConfig(c), func(ctx context.Context, e eventguard.Event[order]) error { return run(ctx, e.Detail) }))
	return func(ctx context.Context, r entrysuite.Request) entrysuite.Answer {
		event, err := json.Marshal(map[string]any{"id": "e-1", "source": "shop", "detail-type": "order", "detail": payload(r)})
		if err != nil {
			t.Fatal(err)
		}
		return told("", handler(ctx, event))
	}
}

var (
	imageKey      = idempotency.MustJMESPath("dynamodb.NewImage.id.S")
	imageContent  = idempotency.MustJMESPath("dynamodb.NewImage.content.S")
	detailKey     = idempotency.MustJMESPath("detail.id")
	detailContent = idempotency.MustJMESPath("detail.content")
)
