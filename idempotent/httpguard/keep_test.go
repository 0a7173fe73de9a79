package httpguard_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// noting is a store that notes the events of the claims.
type noting struct {
	*persistence.Memory
	events map[string]string // by key
}

func (n noting) Acquire(ctx context.Context, c persistence.Claim) (persistence.Record, error) {
	n.events[c.Key] = string(c.Event)
	return n.Memory.Acquire(ctx, c)
}

// keeping is what a function of each shape is, with a guard that keeps events.
func keeping(t *testing.T, store persistence.Store, scope httpguard.Scope, shape string) lambda.Handler {
	t.Helper()
	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", KeepEvent: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: scope})
	if err != nil {
		t.Fatal(err)
	}
	switch shape {
	case "restapi":
		return lambda.NewHandler(api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 201}, nil
		}))
	case "alb":
		return lambda.NewHandler(api.ALB(func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			return events.ALBTargetGroupResponse{StatusCode: 201}, nil
		}))
	case "function-url":
		return lambda.NewHandler(api.FunctionURL(func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
			return events.LambdaFunctionURLResponse{StatusCode: 201}, nil
		}))
	case "middleware":
		return lambda.NewHandler(lambdaurl.Wrap(api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }))))
	default:
		return lambda.NewHandler(api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
		}))
	}
}

// secret is what proves who a client is, wherever an event may have it.
const secret = "Bearer-only-the-client-knows"

// signedIn is a file of testdata/events with that secret, and with what an authorizer has found out.
func signedIn(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile("../../testdata/events/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var event map[string]any
	if err := json.Unmarshal(content, &event); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"headers", "multiValueHeaders"} {
		headers, _ := event[name].(map[string]any)
		for _, header := range []string{"authorization", "Cookie", "x-api-key", "x-amzn-oidc-data", "X-Amz-Security-Token"} {
			switch {
			case headers == nil:
			case name == "headers":
				headers[header] = secret
			default:
				headers[header] = []string{secret}
			}
		}
	}
	if _, has := event["rawPath"]; has {
		event["cookies"] = []string{secret}
	}
	about := event["requestContext"].(map[string]any)
	if identity, ok := about["identity"].(map[string]any); ok {
		identity["apiKey"] = secret
	}
	claims := map[string]any{"iss": "https://issuer", "sub": "ada"}
	about["authorizer"] = map[string]any{
		"claims": claims, "jwt": map[string]any{"claims": claims}, "iam": map[string]any{"userId": "AIDA1"},
	}
	content, err = json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestTheEventThatIsKeptIsTheSameRequestWithoutWhatSignsItIn sends each kept event to another process
// of the function, which has the same record for it.
func TestTheEventThatIsKeptIsTheSameRequestWithoutWhatSignsItIn(t *testing.T) {
	bySubject, byRole := httpguard.ByJWTSubject(), httpguard.ByIAMPrincipal()
	for name, c := range map[string]struct {
		shape, file string
		scope       httpguard.Scope
		tenant      string
	}{
		"REST API, by subject":          {"restapi", "restapi-payment", bySubject, ""},
		"HTTP API, by subject":          {"httpapi", "httpapi-payment", bySubject, ""},
		"HTTP API, a checkout":          {"httpapi", "httpapi-checkout", bySubject, ""},
		"load balancer":                 {"alb", "alb-payment", httpguard.Unscoped(), ""},
		"function URL, by principal":    {"function-url", "function-url-payment", byRole, ""},
		"middleware, by principal":      {"middleware", "function-url-payment", byRole, ""},
		"REST API, of a tenant":         {"restapi", "restapi-payment", bySubject, "blue"},
		"function URL, of a tenant":     {"function-url", "function-url-payment", byRole, "blue"},
		"HTTP API, by header and claim": {"httpapi", "httpapi-payment", bySubject.And(httpguard.ByHeader("Host")), ""},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{TenantID: c.tenant})
			first := noting{persistence.NewMemory(), make(map[string]string)}
			if _, err := keeping(t, first, c.scope, c.shape).Invoke(ctx, signedIn(t, c.file)); err != nil {
				t.Fatal(err)
			}
			if len(first.events) != 1 {
				t.Fatalf("the records are %v", first.events)
			}
			for key, kept := range first.events {
				if kept == "" || strings.Contains(kept, secret) {
					t.Fatalf("it keeps %q", kept)
				}
				again := noting{persistence.NewMemory(), make(map[string]string)}
				if _, err := keeping(t, again, c.scope, c.shape).Invoke(ctx, []byte(kept)); err != nil {
					t.Fatal(err)
				}
				if _, same := again.events[key]; !same || len(again.events) != 1 {
					t.Errorf("the record is %s, and that of the kept event %v", key, again.events)
				}
				if r, s := first.Records()[0], again.Records()[0]; r.Fingerprint != s.Fingerprint {
					t.Errorf("the kept event has another fingerprint: %s", kept)
				}
				if again.events[key] != kept {
					t.Errorf("a resumed run keeps %s, and not %s", again.events[key], kept)
				}
			}
		})
	}
}

// TestAnEventOfWhichTheOwnerWouldBeAnotherIsNotKept: resumed, it would be another request.
func TestAnEventOfWhichTheOwnerWouldBeAnotherIsNotKept(t *testing.T) {
	store := noting{persistence.NewMemory(), make(map[string]string)}
	if _, err := keeping(t, store, httpguard.ByHeader("X-Api-Key"), "httpapi").Invoke(t.Context(), signedIn(t, "httpapi-payment")); err != nil {
		t.Fatal(err)
	}
	for key, kept := range store.events {
		if kept != "" {
			t.Errorf("%s keeps %s", key, kept)
		}
	}
	if len(store.events) != 1 {
		t.Errorf("the records are %v", store.events)
	}
}
