package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

func newAPI(config httpguard.Config) *httpguard.API {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{
		Operation: "payment",
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	api, err := httpguard.New(guard, config)
	if err != nil {
		panic(err)
	}
	return api
}

// A REST API with a Cognito authorizer.
func ExampleAPI_RESTAPI() {
	api := newAPI(httpguard.Config{Scope: httpguard.ByJWTSubject()})
	create := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		fmt.Println("charging")
		return events.APIGatewayProxyResponse{StatusCode: 201, Body: "ch_1"}, nil
	}) // lambda.Start(create) in main

	request := events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Path: "/payments", Body: `{"amount":10}`,
		Headers: map[string]string{"Idempotency-Key": `"8e03978e"`},
		RequestContext: events.APIGatewayProxyRequestContext{Authorizer: map[string]any{
			"claims": map[string]any{"iss": "https://issuer.example", "sub": "user-1"},
		}},
	}
	for range 2 {
		response, err := create(context.Background(), request)
		fmt.Println(response.StatusCode, response.Body, response.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// charging
	// 201 ch_1  <nil>
	// 201 ch_1 true <nil>
}

// An HTTP API; a request without a key is refused.
func ExampleAPI_HTTPAPI() {
	api := newAPI(httpguard.Config{Scope: httpguard.ByJWTSubject(), DocsURL: "https://docs.example/retries"})
	create := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		fmt.Println("charging")
		return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
	}) // lambda.Start(create) in main

	request := events.APIGatewayV2HTTPRequest{RawPath: "/payments", Body: `{"amount":10}`}
	request.RequestContext.HTTP.Method = "POST"
	response, err := create(context.Background(), request)
	fmt.Println(response.StatusCode, response.Headers["Content-Type"], err)
	fmt.Println(response.Headers["Link"])
	// Output:
	// 400 application/problem+json <nil>
	// <https://docs.example/retries>; rel="describedby"; type="text/html"
}

// A load balancer that authenticates users.
func ExampleAPI_ALB() {
	api := newAPI(httpguard.Config{Scope: httpguard.ByHeader("x-amzn-oidc-identity")})
	create := api.ALB(func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
		fmt.Println("charging")
		return events.ALBTargetGroupResponse{StatusCode: 201, StatusDescription: "201 Created"}, nil
	}) // lambda.Start(create) in main

	for _, user := range []string{"user-1", "user-2", "user-2"} {
		response, err := create(context.Background(), events.ALBTargetGroupRequest{
			HTTPMethod: "POST", Path: "/payments",
			Headers: map[string]string{"idempotency-key": "1", "x-amzn-oidc-identity": user},
		})
		fmt.Println(user, response.StatusDescription, response.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// charging
	// user-1 201 Created  <nil>
	// charging
	// user-2 201 Created  <nil>
	// user-2 201 Created true <nil>
}

// A function URL that services call with IAM; another body is another request.
func ExampleAPI_FunctionURL() {
	api := newAPI(httpguard.Config{Scope: httpguard.ByIAMRole()})
	create := api.FunctionURL(func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		return events.LambdaFunctionURLResponse{StatusCode: 201}, nil
	}) // lambda.Start(create) in main

	for _, body := range []string{`{"amount":10,"currency":"EUR"}`, `{"currency": "EUR", "amount": 10.0}`, `{"amount":99}`} {
		request := events.LambdaFunctionURLRequest{Body: body, Headers: map[string]string{"idempotency-key": "8e03978e"}}
		request.RequestContext.HTTP.Method = "POST"
		request.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
			IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserID: "AROAEXAMPLE:orders"},
		}
		response, err := create(context.Background(), request)
		fmt.Println(response.StatusCode, response.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// 201  <nil>
	// 201 true <nil>
	// 422  <nil>
}

// A service of net/http, whose own middleware knows the user.
func ExampleAPI_Middleware() {
	type userKey struct{}
	api := newAPI(httpguard.Config{
		Scope: httpguard.ScopeFunc("user", func(ctx context.Context, _ *httpguard.Request) (string, error) {
			user, _ := ctx.Value(userKey{}).(string)
			return user, nil
		}),
	})
	guarded := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("charging")
		w.Header().Set("Location", "/payments/1")
		w.WriteHeader(http.StatusCreated)
	}))

	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/payments", strings.NewReader(`{"amount":10}`))
		r.Header.Set("Idempotency-Key", `"8e03978e"`)
		r = r.WithContext(context.WithValue(r.Context(), userKey{}, "user-1"))
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Location"), w.Header().Get("Idempotent-Replayed") == "true")
	}
	// Output:
	// charging
	// 201 /payments/1 false
	// 201 /payments/1 true
}

// A scope is a choice that can't be forgotten.
func ExampleNew() {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment"})
	if err != nil {
		panic(err)
	}
	_, err = httpguard.New(guard, httpguard.Config{})
	fmt.Println(errors.Is(err, idempotent.ErrConfig))
	_, err = httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// A policy of one's own, on top of the default.
func ExampleSettled() {
	policy := func(status int) bool { return status == 403 || httpguard.Settled(status) }
	fmt.Println(policy(201), policy(403), policy(503))
	// Output:
	// true true false
}

// Users within tenants.
func ExampleScope_And() {
	api := newAPI(httpguard.Config{Scope: httpguard.ByClaim("tenant").And(httpguard.ByJWTSubject())})
	fmt.Println(api != nil)
	// Output:
	// true
}

// A Stripe webhook: the key is the event's id, and a counter in the body differs between the
// deliveries of one event, so that only what the event is about is compared.
func ExampleConfig_webhook() {
	config := httpguard.Config{
		Scope:   httpguard.Unscoped(), // one sender, whose signature was checked in front
		BodyKey: idempotency.MustJMESPath("id"),
		Compare: idempotency.MustJMESPath("[id, type, data]"),
	}
	api := newAPI(config)
	paid := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		fmt.Println("shipping")
		return events.APIGatewayV2HTTPResponse{StatusCode: 204}, nil
	}) // lambda.Start(paid) in main

	for _, delivery := range []string{
		`{"id":"evt_1","type":"charge.succeeded","data":{"object":{"id":"ch_1"}},"pending_webhooks":2}`,
		`{"id":"evt_1","type":"charge.succeeded","data":{"object":{"id":"ch_1"}},"pending_webhooks":1}`,
		`{"id":"evt_1","type":"charge.succeeded","data":{"object":{"id":"ch_2"}},"pending_webhooks":1}`,
	} {
		request := events.APIGatewayV2HTTPRequest{RawPath: "/stripe", Body: delivery, Headers: map[string]string{"content-type": "application/json"}}
		request.RequestContext.HTTP.Method = "POST"
		response, err := paid(context.Background(), request)
		fmt.Println(response.StatusCode, response.Headers["Idempotent-Replayed"], err)
	}
	// Output:
	// shipping
	// 204  <nil>
	// 204 true <nil>
	// 422  <nil>
}

// An API for pages of several origins, which a handler behind a REST API has to allow by
// itself: refusals and replays are allowed to those as well.
func ExampleConfig_browser() {
	cors := func(origin string) map[string]string {
		if origin != "https://shop.example" && origin != "https://admin.example" {
			return nil
		}
		return map[string]string{
			"Access-Control-Allow-Origin":   origin,
			"Access-Control-Expose-Headers": "Idempotent-Replayed, Idempotency-Key-Expires, Retry-After",
			"Vary":                          "Origin",
		}
	}
	api := newAPI(httpguard.Config{
		Scope: httpguard.ByJWTSubject(),
		AnswerHeaders: func(r *httpguard.Request) http.Header {
			header := make(http.Header)
			for name, value := range cors(r.Header.Get("Origin")) {
				header.Set(name, value)
			}
			return header
		},
	})
	create := api.RESTAPI(func(_ context.Context, r events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		return events.APIGatewayProxyResponse{StatusCode: 201, Headers: cors(r.Headers["Origin"])}, nil
	}) // lambda.Start(create) in main

	for _, try := range []struct{ origin, key string }{
		{"https://shop.example", "8e03978e"}, {"https://admin.example", "8e03978e"}, {"https://admin.example", ""}, {"https://evil.example", "8e03978e"},
	} {
		response, err := create(context.Background(), events.APIGatewayProxyRequest{
			HTTPMethod: "POST", Path: "/payments",
			Headers: map[string]string{"Origin": try.origin, "Idempotency-Key": try.key},
			RequestContext: events.APIGatewayProxyRequestContext{Authorizer: map[string]any{
				"claims": map[string]any{"iss": "https://issuer.example", "sub": "user-1"},
			}},
		})
		fmt.Println(response.StatusCode, "allowed to", response.Headers["Access-Control-Allow-Origin"], err)
	}
	// Output:
	// 201 allowed to https://shop.example <nil>
	// 201 allowed to https://admin.example <nil>
	// 400 allowed to https://admin.example <nil>
	// 201 allowed to  <nil>
}
