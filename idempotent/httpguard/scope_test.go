package httpguard_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// callers are events of one request by callers of every kind. Those with one name
// are one caller to the scope.
func TestScopes(t *testing.T) {
	claims := func(claims map[string]any) events.APIGatewayProxyRequestContext {
		return events.APIGatewayProxyRequestContext{Authorizer: map[string]any{"claims": claims}}
	}
	identity := func(i events.APIGatewayRequestIdentity) events.APIGatewayProxyRequestContext {
		return events.APIGatewayProxyRequestContext{Identity: i}
	}
	tests := map[string]struct {
		scope   httpguard.Scope
		callers map[string][]events.APIGatewayProxyRequestContext
		nobody  []events.APIGatewayProxyRequestContext
		headers map[string]string
	}{
		"JWT subject": {
			scope: httpguard.ByJWTSubject(),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"a":                   {claims(map[string]any{"iss": "i", "sub": "a"}), claims(map[string]any{"iss": "i", "sub": "a", "jti": "2"})},
				"b":                   {claims(map[string]any{"iss": "i", "sub": "b"})},
				"a of another issuer": {claims(map[string]any{"iss": "j", "sub": "a"})},
			},
			nobody: []events.APIGatewayProxyRequestContext{{}, claims(map[string]any{"iss": "i"}), claims(map[string]any{"sub": "a"}), claims(map[string]any{"iss": "i", "sub": ""}), claims(map[string]any{"iss": "i", "sub": 1})},
		},
		"claim": {
			scope: httpguard.ByClaim("custom:tenant"),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"t1": {claims(map[string]any{"custom:tenant": "t1", "sub": "a"}), claims(map[string]any{"custom:tenant": "t1", "sub": "b"})},
				"t2": {claims(map[string]any{"custom:tenant": "t2", "sub": "a"})},
			},
			nobody: []events.APIGatewayProxyRequestContext{{}, claims(map[string]any{"sub": "a"})},
		},
		"tenant and user": {
			scope: httpguard.ByClaim("tenant").And(httpguard.ByClaim("sub")),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"a of t":   {claims(map[string]any{"tenant": "t", "sub": "a"})},
				"b of t":   {claims(map[string]any{"tenant": "t", "sub": "b"})},
				"exchange": {claims(map[string]any{"tenant": "a", "sub": "t"})},
			},
			nobody: []events.APIGatewayProxyRequestContext{claims(map[string]any{"tenant": "t"}), claims(map[string]any{"sub": "a"})},
		},
		"authorizer": {
			scope: httpguard.ByAuthorizer("principalId"),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"a": {{Authorizer: map[string]any{"principalId": "a"}}},
				"b": {{Authorizer: map[string]any{"principalId": "b"}}},
			},
			nobody: []events.APIGatewayProxyRequestContext{{}, {Authorizer: map[string]any{"principalId": 7}}},
		},
		"IAM principal": {
			scope: httpguard.ByIAMPrincipal(),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"user":    {identity(events.APIGatewayRequestIdentity{Caller: "AIDA1"})},
				"session": {identity(events.APIGatewayRequestIdentity{Caller: "AROA1:s1"})},
				"another": {identity(events.APIGatewayRequestIdentity{Caller: "AROA1:s2"})},
				"identity": {
					identity(events.APIGatewayRequestIdentity{Caller: "AROA1:CognitoIdentityCredentials", CognitoIdentityID: "eu-west-1:a"}),
					identity(events.APIGatewayRequestIdentity{Caller: "AROA1:of-its-own", CognitoIdentityID: "eu-west-1:a"}),
				},
				"another identity": {identity(events.APIGatewayRequestIdentity{Caller: "AROA1:CognitoIdentityCredentials", CognitoIdentityID: "eu-west-1:b"})},
			},
			nobody: []events.APIGatewayProxyRequestContext{{}, identity(events.APIGatewayRequestIdentity{Caller: "AROA1:CognitoIdentityCredentials"})},
		},
		"IAM role": {
			scope: httpguard.ByIAMRole(),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"user":      {identity(events.APIGatewayRequestIdentity{Caller: "AIDA1"})},
				"role":      {identity(events.APIGatewayRequestIdentity{Caller: "AROA1:s1"}), identity(events.APIGatewayRequestIdentity{Caller: "AROA1:s2"})},
				"federated": {identity(events.APIGatewayRequestIdentity{Caller: "123456789012:alice"})},
				"another":   {identity(events.APIGatewayRequestIdentity{Caller: "123456789012:bob"})},
			},
			nobody: []events.APIGatewayProxyRequestContext{{}},
		},
		"API key": {
			scope: httpguard.ByAPIKey(),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"a": {identity(events.APIGatewayRequestIdentity{APIKeyID: "k1", APIKey: "secret"})},
				"b": {identity(events.APIGatewayRequestIdentity{APIKeyID: "k2", APIKey: "secret"})},
			},
			nobody: []events.APIGatewayProxyRequestContext{{}, identity(events.APIGatewayRequestIdentity{APIKey: "secret"})},
		},
		"unscoped": {
			scope: httpguard.Unscoped(),
			callers: map[string][]events.APIGatewayProxyRequestContext{
				"everybody": {{}, claims(map[string]any{"iss": "i", "sub": "a"})},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: test.scope})
			runs := 0
			rest := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				runs++
				return events.APIGatewayProxyResponse{StatusCode: 201}, nil
			})
			send := func(caller events.APIGatewayProxyRequestContext) int {
				r, _ := rest(t.Context(), asEvent[events.APIGatewayProxyRequest](events.APIGatewayProxyRequest{
					HTTPMethod: "POST", Headers: map[string]string{"idempotency-key": "1"}, RequestContext: caller,
				}))
				return r.StatusCode
			}
			for who, same := range test.callers {
				before := runs
				for _, caller := range same {
					if status := send(caller); status != 201 || runs != before+1 {
						t.Errorf("%s: %d after %d more runs", who, status, runs-before)
					}
				}
			}
			for _, caller := range test.nobody {
				before := runs
				if status := send(caller); status != 403 || runs != before {
					t.Errorf("%v: %d", caller, status)
				}
			}
		})
	}
}

// The kind of a scope is part of the key: a tenant's name never passes for a user's.
func TestScopesOfTwoKindsNeverMeet(t *testing.T) {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []httpguard.Scope{
		httpguard.Unscoped(), httpguard.ByClaim("tenant"), httpguard.ByClaim("user"), httpguard.ByAuthorizer("user"), httpguard.ByAPIKey(),
		httpguard.ScopeFunc("user", func(context.Context, *httpguard.Request) (string, error) { return "x", nil }),
	} {
		api, err := httpguard.New(guard, httpguard.Config{Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		rest := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			runs++
			return events.APIGatewayProxyResponse{StatusCode: http.StatusCreated}, nil
		})
		_, _ = rest(t.Context(), events.APIGatewayProxyRequest{
			HTTPMethod: http.MethodPost, Headers: map[string]string{"idempotency-key": "1"},
			RequestContext: events.APIGatewayProxyRequestContext{
				Authorizer: map[string]any{"user": "x", "claims": map[string]any{"tenant": "x", "user": "x"}},
				Identity:   events.APIGatewayRequestIdentity{APIKeyID: "x"},
			},
		})
		if runs != 1 {
			t.Errorf("%v has met another", scope)
		}
	}
}

// HTTP APIs have three kinds of authorizers.
func TestCallersOfAnHTTPAPI(t *testing.T) {
	type authorizer = events.APIGatewayV2HTTPRequestContextAuthorizerDescription
	for name, test := range map[string]struct {
		scope  httpguard.Scope
		caller *authorizer
	}{
		"JWT":    {httpguard.ByClaim("sub"), &authorizer{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": "a"}}}},
		"Lambda": {httpguard.ByAuthorizer("tenant"), &authorizer{Lambda: map[string]any{"tenant": "a"}}},
		"IAM":    {httpguard.ByIAMPrincipal(), &authorizer{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserID: "AIDA1"}}},
	} {
		api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: test.scope})
		create := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated}, nil
		})
		for want, caller := range map[int]*authorizer{http.StatusCreated: test.caller, http.StatusForbidden: {}} {
			e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "1"}}
			e.RequestContext.HTTP.Method, e.RequestContext.Authorizer = http.MethodPost, caller
			if r, err := create(t.Context(), e); err != nil || r.StatusCode != want {
				t.Errorf("%s: %d %v, want %d", name, r.StatusCode, err, want)
			}
		}
	}
}

// Everybody who signs with the credentials of one identity pool is one principal to
// IAM. HTTP APIs tell them apart, function URLs don't.
func TestIdentitiesOfACognitoPoolAreCallersOfTheirOwn(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.ByIAMPrincipal()})
	const principal = "AROAEXAMPLE:CognitoIdentityCredentials"
	create := api.HTTPAPI(func(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: e.RequestContext.Authorizer.IAM.CognitoIdentity.IdentityID}, nil
	})
	for _, user := range []string{"eu-west-1:alice", "eu-west-1:mallory"} {
		e := events.APIGatewayV2HTTPRequest{Headers: map[string]string{"idempotency-key": "1"}}
		e.RequestContext.HTTP.Method = http.MethodPost
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{
				UserID:          principal,
				CognitoIdentity: events.APIGatewayV2HTTPRequestContextAuthorizerCognitoIdentity{IdentityID: user},
			},
		}
		if r, err := create(t.Context(), e); err != nil || r.StatusCode != http.StatusCreated || r.Body != user {
			t.Errorf("%s gets %d %s, %v", user, r.StatusCode, r.Body, err)
		}
	}
	for _, through := range []func(*httpguard.API, handler) func(context.Context, request) answer{throughFunctionURL, throughLambdaURL} {
		r := key("1", "")
		r.user = principal
		if a := (shape{guard: through}).serve(api, createdBy).send(t.Context(), r); a.status != http.StatusForbidden {
			t.Errorf("through a function URL: %d", a.status)
		}
	}
}

func TestAHeaderAsScopeMustComeOnce(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.ByHeader("x-tenant")})
	handle := shapes[0].serve(api, createdBy)
	for _, step := range []struct {
		tenant []string
		status int
		runs   int
	}{
		{[]string{"a"}, 201, 1}, {[]string{"b"}, 201, 2}, {[]string{"a"}, 201, 2},
		{nil, 403, 2}, {[]string{""}, 403, 2}, {[]string{"a", "b"}, 403, 2}, {[]string{"a", "a"}, 403, 2}, {[]string{"\xff"}, 403, 2},
	} {
		r := key("1", "")
		if step.tenant != nil {
			r.header["X-Tenant"] = step.tenant
		}
		if len(step.tenant) == 1 && step.tenant[0] == "\xff" {
			continue // JSON has no such bytes; see below
		}
		if a := handle.send(t.Context(), r); a.status != step.status || handle.ran() != step.runs {
			t.Errorf("%q: %d after %d runs", step.tenant, a.status, handle.ran())
		}
	}
	overHTTP := shape{guard: throughHTTP}.serve(api, createdBy)
	r := key("1", "")
	r.header["X-Tenant"] = []string{"\xff"}
	if a := overHTTP.send(t.Context(), r); a.status != 403 || overHTTP.ran() != 0 {
		t.Errorf("a scope that is no text: %d", a.status)
	}
}

// A scope of one's own may tell nobody from a failure.
func TestAScopeOfOnesOwn(t *testing.T) {
	for status, failure := range map[int]error{403: errors.Join(errors.New("no session"), httpguard.ErrNoScope), 503: errors.New("down")} {
		api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
			Scope: httpguard.ScopeFunc("session", func(context.Context, *httpguard.Request) (string, error) { return "", failure }),
		})
		handle := shapes[0].serve(api, createdBy)
		a := handle.send(t.Context(), key("a", ""))
		if comeBack := a.header.Get("Retry-After") != ""; a.status != status || handle.ran() != 0 || comeBack != (status == 503) {
			t.Errorf("%v: %d, %v", failure, a.status, a.header)
		}
		if !strings.Contains(a.body, `"done":"nothing"`) || strings.Contains(a.body, `"retry":true`) != (status == 503) {
			t.Errorf("%v: %s", failure, a.body)
		}
	}
}

func TestAConfigIsCheckedWhole(t *testing.T) {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	noFunc := httpguard.ScopeFunc("name", nil)
	for field, config := range map[string]httpguard.Config{
		"":              {Scope: httpguard.Unscoped()},
		"Scope":         {Scope: noFunc},
		"Header":        {Scope: httpguard.Unscoped(), Header: "Idempotency Key"},
		"Methods":       {Scope: httpguard.Unscoped(), Methods: []string{"post"}},
		"MaxKey":        {Scope: httpguard.Unscoped(), MaxKey: -1},
		"MaxBody":       {Scope: httpguard.Unscoped(), MaxBody: -1},
		"OnMismatch":    {Scope: httpguard.Unscoped(), OnMismatch: 3},
		"Compare":       {Scope: httpguard.Unscoped(), OnMismatch: httpguard.ReplayFirst, Compare: idempotency.WholePayload()},
		"DocsURL":       {Scope: httpguard.Unscoped(), DocsURL: "/docs"},
		"ReplayHeaders": {Scope: httpguard.Unscoped(), ReplayHeaders: []string{"Set-Cookie"}},
	} {
		_, err := httpguard.New(guard, config)
		fault, _ := errors.AsType[*idempotent.ConfigError](err)
		if (field == "") != (err == nil) || fault != nil && fault.Field != "httpguard.Config."+field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err = httpguard.New(nil, httpguard.Config{Header: " ", Methods: []string{}})
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 2 || !errors.Is(err, idempotent.ErrConfig) {
		t.Errorf("%v", err)
	}
	for name, scope := range map[string]httpguard.Scope{
		"claim": httpguard.ByClaim(""), "authorizer": httpguard.ByAuthorizer(""), "header": httpguard.ByHeader(""),
		"func": httpguard.ScopeFunc("", func(context.Context, *httpguard.Request) (string, error) { return "a", nil }),
		"and":  httpguard.Unscoped().And(noFunc),
	} {
		if _, err := httpguard.New(guard, httpguard.Config{Scope: scope}); err == nil {
			t.Errorf("a scope by a nameless %s is accepted", name)
		}
	}
	for _, name := range []string{"date", "set-cookie", "x-request-id", "X-Amzn-RequestId", "x-amzn-trace-id", "connection", "content-length", "proxy-authenticate", "idempotent-replayed", "a b"} {
		if _, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped(), ReplayHeaders: []string{name}}); err == nil {
			t.Errorf("%s may be replayed", name)
		}
	}
}

// An event of another shape has no method, and must not pass unguarded.
func TestAnEventOfAnotherShapeIsRefused(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
	rest := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		t.Error("it has run")
		return events.APIGatewayProxyResponse{}, nil
	})
	var v2 events.APIGatewayV2HTTPRequest
	v2.RequestContext.HTTP.Method = "POST"
	if r, err := rest(t.Context(), asEvent[events.APIGatewayProxyRequest](v2)); err != nil || r.StatusCode != http.StatusInternalServerError {
		t.Errorf("%d %v", r.StatusCode, err)
	}
}

func TestNilHandlersPanic(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
	for name, wrap := range map[string]func(){
		"RESTAPI":     func() { api.RESTAPI(nil) },
		"HTTPAPI":     func() { api.HTTPAPI(nil) },
		"ALB":         func() { api.ALB(nil) },
		"FunctionURL": func() { api.FunctionURL(nil) },
		"Middleware":  func() { api.Middleware(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes nil", name)
				}
			}()
			wrap()
		}()
	}
}
