package httpguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// What a tool finds is the record that the door writes, for each kind of API and in each form
// that a request may be had in.
func TestTheKeyOfARecordIsFoundFromItsRequest(t *testing.T) {
	const body = `{"id": "in-body", "amount": 10}`
	headers := map[string]string{"content-type": "application/json", "x-user": "ada"}
	var (
		rest    = events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/payments", Headers: headers, Body: body}
		httpAPI = events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: "/payments", Headers: headers, Body: body}
		alb     = events.ALBTargetGroupRequest{HTTPMethod: "POST", Path: "/payments", Headers: headers, Body: body}
		url     = events.LambdaFunctionURLRequest{Version: "2.0", RawPath: "/payments", Headers: headers, Body: body}
	)
	rest.RequestContext.Stage = "prod"
	httpAPI.RequestContext.HTTP.Method, url.RequestContext.HTTP.Method = "POST", "POST"
	url.RequestContext.DomainName = "abc.lambda-url.eu-west-1.on.aws"
	alb.RequestContext.ELB.TargetGroupArn = "arn:aws:elasticloadbalancing:eu-west-1:123456789012:targetgroup/a/1"

	for name, test := range map[string]struct {
		inHeader bool // the key; else in the body
		tenant   string
		scope    httpguard.Scope
	}{
		"in the header":      {inHeader: true, scope: httpguard.Unscoped()},
		"in the body":        {scope: httpguard.Unscoped()},
		"of a caller":        {inHeader: true, scope: httpguard.ByHeader("X-User")},
		"of a tenant":        {inHeader: true, scope: httpguard.Unscoped(), tenant: "blue"},
		"of a tenant's user": {scope: httpguard.ByHeader("X-User"), tenant: "blue"},
	} {
		ctx := t.Context()
		if test.tenant != "" {
			ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{TenantID: test.tenant})
		}
		key := "in-body"
		delete(headers, "idempotency-key")
		if test.inHeader {
			headers["idempotency-key"], key = `"k-1"`, "k-1"
		}
		for shape, run := range map[string]func(*httpguard.API) (any, error){
			"REST API": func(api *httpguard.API) (any, error) {
				_, err := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
					return events.APIGatewayProxyResponse{StatusCode: 201}, nil
				})(ctx, rest)
				return rest, err
			},
			"HTTP API": func(api *httpguard.API) (any, error) {
				_, err := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
					return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
				})(ctx, httpAPI)
				return httpAPI, err
			},
			"load balancer": func(api *httpguard.API) (any, error) {
				_, err := api.ALB(func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
					return events.ALBTargetGroupResponse{StatusCode: 201}, nil
				})(ctx, alb)
				return alb, err
			},
			"function URL": func(api *httpguard.API) (any, error) {
				_, err := api.FunctionURL(func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
					return events.LambdaFunctionURLResponse{StatusCode: 201}, nil
				})(ctx, url)
				return url, err
			},
			"net/http": func(api *httpguard.API) (any, error) {
				made := func() *http.Request {
					r := httptest.NewRequestWithContext(ctx, "POST", "/payments", strings.NewReader(body))
					for name, value := range headers {
						r.Header.Set(name, value)
					}
					return r
				}
				api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })).ServeHTTP(httptest.NewRecorder(), made())
				return made(), nil
			},
		} {
			t.Run(name+"/"+shape, func(t *testing.T) {
				store := persistence.NewMemory()
				api := newRecordKeyAPI(t, store, test.scope)
				request, err := run(api)
				if err != nil || len(store.Records()) != 1 {
					t.Fatal(store.Records(), err)
				}
				forms := map[string]any{
					"as it came": request,
					"by hand":    &httpguard.Request{Header: http.Header{"Idempotency-Key": {key}, "X-User": {"ada"}}},
				}
				if served, ok := request.(*http.Request); ok {
					t.Cleanup(func() {
						if left, err := io.ReadAll(served.Body); err != nil || string(left) != body {
							t.Errorf("left of the body: %q, %v", left, err)
						}
					})
				} else {
					raw, err := json.Marshal(request)
					if err != nil {
						t.Fatal(err)
					}
					forms["as JSON"] = json.RawMessage(raw)
				}
				// Another process, without the table.
				elsewhere := newRecordKeyAPI(t, persistence.NewMemory(), test.scope)
				for form, request := range forms {
					if got, err := elsewhere.RecordKey(ctx, request); err != nil || got != store.Records()[0].Key {
						t.Errorf("%s: %q, %v, want %q", form, got, err, store.Records()[0].Key)
					}
				}
			})
		}
	}
}

func newRecordKeyAPI(t *testing.T, store persistence.Store, scope httpguard.Scope) *httpguard.API {
	t.Helper()
	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: scope, BodyKey: idempotency.MustJMESPath("id"), MaxKey: 20})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestARequestWithoutARecordHasNoKey(t *testing.T) {
	api := newRecordKeyAPI(t, persistence.NewMemory(), httpguard.ByHeader("X-User"))
	header := func(key string) http.Header { return http.Header{"Idempotency-Key": {key}, "X-User": {"ada"}} }
	for name, test := range map[string]struct {
		request any
		want    error
	}{
		"no key":             {&httpguard.Request{Header: http.Header{"X-User": {"ada"}}}, idempotent.ErrKey},
		"a malformed key":    {&httpguard.Request{Header: header(`"a`)}, idempotent.ErrKey},
		"a key that is long": {&httpguard.Request{Header: header(strings.Repeat("a", 21))}, idempotent.ErrKey},
		"nobody's":           {&httpguard.Request{Header: http.Header{"Idempotency-Key": {"a"}}}, httpguard.ErrNoScope},
		"not covered":        {&httpguard.Request{Method: "GET", Header: header("a")}, idempotent.ErrConfig},
		"no request":         {"a", idempotent.ErrConfig},
		"none":               {(*httpguard.Request)(nil), idempotent.ErrConfig},
		"no JSON":            {json.RawMessage(`{`), idempotent.ErrConfig},
		"other JSON":         {json.RawMessage(`{"Records": []}`), idempotent.ErrConfig},
		"misshapen JSON":     {json.RawMessage(`{"httpMethod": "POST", "headers": 1}`), idempotent.ErrConfig},
	} {
		if key, err := api.RecordKey(t.Context(), test.request); key != "" || !errors.Is(err, test.want) {
			t.Errorf("%s: %q, %v, want %v", name, key, err, test.want)
		}
	}
}

// The record of a customer who has told their key, and whose subject the operator knows.
func ExampleAPI_RecordKey() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payments_api"})
	if err != nil {
		panic(err)
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.ByJWTSubject()})
	if err != nil {
		panic(err)
	}
	fmt.Println(api.RecordKey(context.Background(), &httpguard.Request{
		Header: http.Header{"Idempotency-Key": {"8e03978e-40d5-43e8-bc93-6894a57f9324"}},
		Caller: httpguard.Caller{Claims: map[string]string{"iss": "https://login.example.com", "sub": "u-7"}},
	}))
	// Output: payments_api#ebd809cc04ff97442817818d6b33186f349c97a2fc1fcea5e8c6a686003bd668 <nil>
}
