package httpguard_test

// One test for each field report about HTTP (see the project's issues for them).

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// Report 45: the header's value alone was the key, and one user got another's
// response; or all unauthenticated ones shared a bucket.
func TestReport45AnotherCallersKeyIsAnotherKey(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		onEveryStore(t, func(t *testing.T, store persistence.Store) {
			handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{}), createdBy)
			for i, user := range []string{"alice", "bob", "alice#1"} {
				for range 2 {
					r := key("1", fmt.Sprintf(`{"of":%q}`, user))
					r.user = user
					a := handle.send(t.Context(), r)
					if want := fmt.Sprintf(`"run":%d`, i+1); a.status != 201 || !strings.Contains(a.body, want) || handle.ran() != i+1 {
						t.Errorf("%s gets %d %s after %d runs", user, a.status, a.body, handle.ran())
					}
				}
			}
			for _, nobody := range []string{"", " "} {
				r := key("1", `{}`)
				r.user = nobody
				if a := handle.send(t.Context(), r); a.status != 403 || handle.ran() != 3 {
					t.Errorf("nobody %q gets %d after %d runs", nobody, a.status, handle.ran())
				}
			}
		})
	})
}

func TestReport45AScopeMustBeChosen(t *testing.T) {
	guard, err := idempotent.New(persistence.NewMemory(), idempotent.Config{Operation: "payment", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = httpguard.New(guard, httpguard.Config{})
	fault, ok := errors.AsType[*idempotent.ConfigError](err)
	if !ok || fault.Field != "httpguard.Config.Scope" || !errors.Is(err, idempotent.ErrConfig) {
		t.Errorf("without a scope: %v", err)
	}
	if _, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()}); err != nil {
		t.Error(err)
	}
}

// Report 47: passing failures were replayed for a day, or left the key locked.
func TestReport47SettledResponsesAreKeptAndOthersReleased(t *testing.T) {
	settled := []int{200, 201, 202, 204, 303, 400, 402, 404, 405, 410, 413, 414, 422, 451}
	passing := []int{304, 401, 403, 406, 408, 409, 411, 412, 415, 416, 417, 418, 423, 425, 429, 431, 440, 499, 500, 502, 503, 504}
	throughEveryShape(t, func(t *testing.T, s shape) {
		onEveryStore(t, func(t *testing.T, store persistence.Store) {
			api := s.newAPI(t, store, idempotent.Config{}, httpguard.Config{})
			for _, status := range slices.Concat(settled, passing) {
				handle := s.serve(api, func(_ context.Context, run int) (answer, error) {
					if run == 1 {
						return answer{status: status, header: http.Header{"Retry-After": {"7"}}}, nil
					}
					return created(run), nil
				})
				name := fmt.Sprint(status)
				first, second, third := handle.send(t.Context(), key(name, "")), handle.send(t.Context(), key(name, "")), handle.send(t.Context(), key(name, ""))
				if first.status != status || first.replayed() || first.header.Get("Retry-After") != "7" {
					t.Errorf("%d: the first gets %d %v", status, first.status, first.header)
				}
				want, runs := status, 1
				if slices.Contains(passing, status) {
					want, runs = 201, 2
				}
				if second.status != want || second.replayed() != (runs == 1) || third.status != want || !third.replayed() || handle.ran() != runs {
					t.Errorf("%d: then %d and %d after %d runs", status, second.status, third.status, handle.ran())
				}
			}
		})
	})
}

func TestReport47ThePolicyIsTheUsers(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
			// A wrong one-time code is no outcome, a refusal is.
			Settled: func(status int) bool { return status == 403 || status != 400 && httpguard.Settled(status) },
		})
		for status, runs := range map[int]int{400: 2, 403: 1, 201: 1, 500: 2} {
			handle := s.serve(api, func(context.Context, int) (answer, error) { return answer{status: status}, nil })
			for range 2 {
				handle.send(t.Context(), key(fmt.Sprint(status), ""))
			}
			if handle.ran() != runs {
				t.Errorf("%d: %d runs", status, handle.ran())
			}
		}
	})
}

// A wrong code may be corrected under the same key where the first answer was not
// recorded, the key being free again.
func TestReport47ACorrectedRequestRunsAfterAReleasedOne(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{}), func(_ context.Context, run int) (answer, error) {
			if run == 1 {
				return answer{status: 401}, nil
			}
			return created(run), nil
		})
		handle.send(t.Context(), key("a", `{"code":"wrong"}`))
		if a := handle.send(t.Context(), key("a", `{"code":"right"}`)); a.status != 201 {
			t.Errorf("%d", a.status)
		}
	})
}

// The middleware's own answers are not recorded: neither under the key nor at all.
func TestReport47RefusalsAreNotKept(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{}), createdBy)
		handle.send(t.Context(), key("a", "{}"))
		before := fmt.Sprint(store.Records())
		for _, r := range []request{key("a", "[1]"), key(`"a`, "{}"), {user: "user-1"}, {header: http.Header{"Idempotency-Key": {"a"}}}} {
			if a := handle.send(t.Context(), r); a.status < 400 {
				t.Errorf("%v is answered with %d", r, a.status)
			}
		}
		if after := fmt.Sprint(store.Records()); after != before {
			t.Errorf("the records were\n%s\nand are\n%s", before, after)
		}
	})
}

// Report 51: header names are spelt in every way, values come in two forms, and
// bodies may be base64.
func TestReport51EventsOfOneRequestAreOneRequest(t *testing.T) {
	const body = `{"amount":4999,"currency":"EUR"}`
	encoded := base64.StdEncoding.EncodeToString([]byte(body))
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	runs := 0
	rest := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		runs++
		return events.APIGatewayProxyResponse{StatusCode: 201, Body: "done"}, nil
	})
	httpAPI := api.HTTPAPI(func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		runs++
		return events.APIGatewayV2HTTPResponse{StatusCode: 201, Body: "done"}, nil
	})
	alb := api.ALB(func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
		runs++
		return events.ALBTargetGroupResponse{StatusCode: 201, Body: "done"}, nil
	})
	functionURL := api.FunctionURL(func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		runs++
		return events.LambdaFunctionURLResponse{StatusCode: 201, Body: "done"}, nil
	})
	check := func(name string, status int, got string, err error) {
		t.Helper()
		if err != nil || status != 201 || got != "done" || runs != 1 {
			t.Errorf("%s: %d %s %v after %d runs", name, status, got, err, runs)
		}
	}
	bodies := map[string]bool{body: false, encoded: true}
	names := []string{"Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"}
	for text, isBase64 := range bodies {
		for _, name := range names {
			headers := map[string]string{name: "a", "content-type": "application/json"}
			multi := map[string][]string{name: {"a"}, "content-type": {"application/json"}}
			query, queries := map[string]string{"a": "2"}, map[string][]string{"a": {"2"}}
			for form, e := range map[string]events.APIGatewayProxyRequest{
				"single": {Headers: headers, QueryStringParameters: query},
				"multi":  {MultiValueHeaders: multi, MultiValueQueryStringParameters: queries},
				"both":   {Headers: headers, MultiValueHeaders: multi, QueryStringParameters: query, MultiValueQueryStringParameters: queries},
			} {
				e.HTTPMethod, e.Path, e.Body, e.IsBase64Encoded = "POST", "/payments", text, isBase64
				r, err := rest(t.Context(), e)
				check("REST API, "+name+" "+form, r.StatusCode, r.Body, err)
				b, err := alb(t.Context(), events.ALBTargetGroupRequest{
					HTTPMethod: "POST", Path: "/payments", Body: text, IsBase64Encoded: isBase64,
					Headers: e.Headers, MultiValueHeaders: e.MultiValueHeaders,
					QueryStringParameters: e.QueryStringParameters, MultiValueQueryStringParameters: e.MultiValueQueryStringParameters,
				})
				check("ALB, "+name+" "+form, b.StatusCode, b.Body, err)
			}
		}
		e := events.APIGatewayV2HTTPRequest{RawPath: "/payments", RawQueryString: "a=2", Body: text, IsBase64Encoded: isBase64}
		e.Headers = map[string]string{"idempotency-key": "a", "content-type": "application/json"}
		e.RequestContext.HTTP.Method = "POST"
		h, err := httpAPI(t.Context(), e)
		check("HTTP API", h.StatusCode, h.Body, err)
		u := events.LambdaFunctionURLRequest{RawPath: "/payments", RawQueryString: "a=%32", Headers: e.Headers, Body: text, IsBase64Encoded: isBase64}
		u.RequestContext.HTTP.Method = "POST"
		f, err := functionURL(t.Context(), u)
		check("function URL", f.StatusCode, f.Body, err)
	}
}

// A disagreement between the two forms of a header is two keys.
func TestReport51HeadersThatDisagreeAreRefused(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	rest := api.RESTAPI(func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		t.Error("it has run")
		return events.APIGatewayProxyResponse{}, nil
	})
	for name, e := range map[string]events.APIGatewayProxyRequest{
		"two spellings": {Headers: map[string]string{"Idempotency-Key": "a", "idempotency-key": "b"}},
		"two forms":     {Headers: map[string]string{"Idempotency-Key": "a"}, MultiValueHeaders: map[string][]string{"idempotency-key": {"b"}}},
		"no value":      {MultiValueHeaders: map[string][]string{"idempotency-key": {}}},
		"bad base64":    {Headers: map[string]string{"Idempotency-Key": "a"}, Body: "no base64!", IsBase64Encoded: true},
	} {
		e.HTTPMethod = "POST"
		if r, err := rest(t.Context(), e); err != nil || r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %v", name, r.StatusCode, err)
		}
	}
}

// The repository's own events of every shape are understood: they are one
// request, and have one key and fingerprint.
func TestReport51TheEventsOfEveryShape(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	runs := 0
	handle := func(context.Context) (answer, error) { runs++; return answer{status: 201}, nil }
	send := map[string]func(raw []byte) (int, error){
		"restapi-payment": func(raw []byte) (int, error) {
			r, err := api.RESTAPI(func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
				a, err := handle(ctx)
				return events.APIGatewayProxyResponse{StatusCode: a.status}, err
			})(t.Context(), eventIn[events.APIGatewayProxyRequest](t, raw))
			return r.StatusCode, err
		},
		"alb-payment": func(raw []byte) (int, error) {
			r, err := api.ALB(func(ctx context.Context, _ events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
				a, err := handle(ctx)
				return events.ALBTargetGroupResponse{StatusCode: a.status}, err
			})(t.Context(), eventIn[events.ALBTargetGroupRequest](t, raw))
			return r.StatusCode, err
		},
		"function-url-payment": func(raw []byte) (int, error) {
			r, err := api.FunctionURL(func(ctx context.Context, _ events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
				a, err := handle(ctx)
				return events.LambdaFunctionURLResponse{StatusCode: a.status}, err
			})(t.Context(), eventIn[events.LambdaFunctionURLRequest](t, raw))
			return r.StatusCode, err
		},
	}
	viaHTTPAPI := func(raw []byte) (int, error) {
		r, err := api.HTTPAPI(func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			a, err := handle(ctx)
			return events.APIGatewayV2HTTPResponse{StatusCode: a.status}, err
		})(t.Context(), eventIn[events.APIGatewayV2HTTPRequest](t, raw))
		return r.StatusCode, err
	}
	maps.Copy(send, map[string]func([]byte) (int, error){
		"httpapi-payment": viaHTTPAPI, "httpapi-payment-retry": viaHTTPAPI,
	})
	for name, send := range send {
		raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "events", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if status, err := send(raw); status != 201 || err != nil || runs != 1 {
			t.Errorf("%s: %d %v after %d runs", name, status, err, runs)
		}
	}
}

func eventIn[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var event T
	if err := json.Unmarshal(raw, &event); err != nil {
		t.Fatal(err)
	}
	return event
}
