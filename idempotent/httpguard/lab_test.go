package httpguard_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// request is a request in no shape's terms: what a client sends.
type request struct {
	method string // POST where it is empty
	path   string // /payments where it is empty
	query  string // as in the URL
	header http.Header
	body   string
	user   string // whom the shape's authorizer has found out
}

func (r request) withDefaults() request {
	if r.method == "" {
		r.method = "POST"
	}
	if r.path == "" {
		r.path = "/payments"
	}
	r.header = r.header.Clone()
	if r.header == nil {
		r.header = make(http.Header)
	}
	r.header.Set("Host", "api.example.com") // as every event has it
	return r
}

// key is a request with that key, as its header has it, and a body.
func key(text, body string) request {
	return request{header: http.Header{"Idempotency-Key": {text}}, body: body, user: "user-1"}
}

// answer is a response in no shape's terms: what a client gets.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // that Lambda reports instead
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// handler is a handler in no shape's terms.
type handler func(context.Context) (answer, error)

// shape takes requests through one kind of event source.
type shape struct {
	name string
	// scope is the one in which the shape finds the user.
	scope httpguard.Scope
	// guard wraps the handler.
	guard func(*httpguard.API, handler) func(context.Context, request) answer
}

var shapes = []shape{
	{"REST API", httpguard.ByJWTSubject(), throughRESTAPI},
	{"HTTP API", httpguard.ByJWTSubject(), throughHTTPAPI},
	{"load balancer", httpguard.ByHeader("X-Amzn-Oidc-Identity"), throughALB(false)},
	{"load balancer with multi-value headers", httpguard.ByHeader("X-Amzn-Oidc-Identity"), throughALB(true)},
	{"function URL", httpguard.ByIAMPrincipal(), throughFunctionURL},
	{"streamed function URL", httpguard.ByIAMPrincipal(), throughStreamedFunctionURL},
	{"streamed REST API", httpguard.ByJWTSubject(), throughStreamedRESTAPI},
	{"net/http", byUserInContext, throughHTTP},
	{"net/http behind lambdaurl", httpguard.ByIAMPrincipal(), throughLambdaURL},
}

// throughEveryShape runs a story for each shape.
func throughEveryShape(t *testing.T, story func(*testing.T, shape)) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) { story(t, s) })
	}
}

type userKey struct{}

var byUserInContext = httpguard.ScopeFunc("user", func(ctx context.Context, _ *httpguard.Request) (string, error) {
	user, _ := ctx.Value(userKey{}).(string)
	return user, nil
})

// newAPI returns a guarded API whose scope is the shape's, if the config has none.
func (s shape) newAPI(t testing.TB, store persistence.Store, guarding idempotent.Config, config httpguard.Config) *httpguard.API {
	t.Helper()
	guarding.Operation = "payment"
	guarding.Logger = slog.New(slog.DiscardHandler)
	guard, err := idempotent.New(store, guarding)
	if err != nil {
		t.Fatal(err)
	}
	if isZero(config.Scope) {
		config.Scope = s.scope
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	api, err := httpguard.New(guard, config)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func isZero(s httpguard.Scope) bool {
	_, err := httpguard.New(nil, httpguard.Config{Scope: s})
	return strings.Contains(err.Error(), "Scope")
}

// serve is a guarded handler that notes how often it runs.
type served struct {
	send func(context.Context, request) answer
	mu   sync.Mutex
	runs int
}

func (s *served) ran() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs
}

// serve guards a handler through the shape; the handler is told the run's number.
func (s shape) serve(api *httpguard.API, handle func(ctx context.Context, run int) (answer, error)) *served {
	counted := new(served)
	counted.send = s.guard(api, func(ctx context.Context) (answer, error) {
		counted.mu.Lock()
		counted.runs++
		run := counted.runs
		counted.mu.Unlock()
		return handle(ctx, run)
	})
	return counted
}

// created is the answer of most handlers here.
func created(run int) answer {
	return answer{status: 201, header: http.Header{
		"Content-Type": {"application/json"},
		"Location":     {"/payments/1"},
		"Link":         {`</a>; rel="a"`, `</b>; rel="b"`},
		"Set-Cookie":   {"session=secret"},
		"Date":         {"Mon, 01 Dec 2025 09:14:05 GMT"},
		"X-Request-Id": {"first-callers"},
		"X-Private":    {"first-callers"},
	}, body: `{"id":1,"run":` + string(rune('0'+run)) + `,"html":"<b>&"}`}
}

func createdBy(_ context.Context, run int) (answer, error) { return created(run), nil }

// asEvent takes a value through JSON, as Lambda does.
func asEvent[T any](v any) T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var event T
	if err := json.Unmarshal(raw, &event); err != nil {
		panic(err)
	}
	return event
}

func lowerCase(header http.Header) map[string]string {
	headers := make(map[string]string)
	for name, values := range header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	return headers
}

func lastOf(values map[string][]string) map[string]string {
	last := make(map[string]string)
	for name, all := range values {
		last[name] = all[len(all)-1]
	}
	return last
}

// parameters reads a raw query.
func parameters(raw string, read func(string) string) map[string][]string {
	query := make(map[string][]string)
	for pair := range strings.SplitSeq(raw, "&") {
		if name, value, found := strings.Cut(pair, "="); found {
			query[read(name)] = append(query[read(name)], read(value))
		}
	}
	return query
}

// decoded decodes what can be decoded.
func decoded(s string) string {
	if text, err := url.QueryUnescape(s); err == nil {
		return text
	}
	return s
}

// split divides headers into those with one value and those with more.
func split(header http.Header) (single map[string]string, multi map[string][]string) {
	single, multi = make(map[string]string), make(map[string][]string)
	for name, values := range header {
		if len(values) == 1 {
			single[name] = values[0]
		} else {
			multi[name] = values
		}
	}
	return single, multi
}

// join makes one value of all that a header has, and leaves cookies apart.
func join(header http.Header) (single map[string]string, cookies []string) {
	single = make(map[string]string)
	for name, values := range header {
		if name == "Set-Cookie" {
			cookies = values
		} else {
			single[name] = strings.Join(values, ", ")
		}
	}
	return single, cookies
}

// merge is what a gateway makes of a response's headers.
func merge(single map[string]string, multi map[string][]string, cookies ...string) http.Header {
	header := make(http.Header)
	for name, value := range single {
		header.Add(name, value)
	}
	for name, values := range multi {
		header[http.CanonicalHeaderKey(name)] = values
	}
	for _, cookie := range cookies {
		header.Add("Set-Cookie", cookie)
	}
	return header
}

func decode(body string, isBase64 bool) string {
	if !isBase64 {
		return body
	}
	content, err := base64.StdEncoding.DecodeString(body)
	if err != nil {
		panic(err)
	}
	return string(content)
}

// encode sends bodies that are no text as base64.
func encode(body string) (string, bool) {
	if strings.ToValidUTF8(body, "") == body {
		return body, false
	}
	return encodeAlways(body), true
}

func encodeAlways(body string) string { return base64.StdEncoding.EncodeToString([]byte(body)) }

func throughRESTAPI(api *httpguard.API, handle handler) func(context.Context, request) answer {
	fn := api.RESTAPI(func(ctx context.Context, _ events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		a, err := handle(ctx)
		r := events.APIGatewayProxyResponse{StatusCode: a.status}
		r.Headers, r.MultiValueHeaders = split(a.header)
		r.Body, r.IsBase64Encoded = encode(a.body)
		return r, err
	})
	return func(ctx context.Context, r request) answer {
		w, err := fn(ctx, restEvent(r.withDefaults()))
		return answer{w.StatusCode, merge(w.Headers, w.MultiValueHeaders), decode(w.Body, w.IsBase64Encoded), err}
	}
}

func restEvent(r request) events.APIGatewayProxyRequest {
	query := parameters(r.query, decoded)
	e := events.APIGatewayProxyRequest{
		HTTPMethod: r.method, Path: r.path,
		Headers: lastOf(r.header), MultiValueHeaders: r.header,
		QueryStringParameters: lastOf(query), MultiValueQueryStringParameters: query,
	}
	e.Body, e.IsBase64Encoded = encode(r.body)
	if r.user != "" {
		e.RequestContext.Authorizer = map[string]any{"claims": map[string]any{"iss": "https://issuer", "sub": r.user}}
	}
	return asEvent[events.APIGatewayProxyRequest](e)
}

func throughHTTPAPI(api *httpguard.API, handle handler) func(context.Context, request) answer {
	fn := api.HTTPAPI(func(ctx context.Context, _ events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		a, err := handle(ctx)
		r := events.APIGatewayV2HTTPResponse{StatusCode: a.status}
		r.Headers, r.Cookies = join(a.header)
		r.Body, r.IsBase64Encoded = encode(a.body)
		return r, err
	})
	return func(ctx context.Context, r request) answer {
		r = r.withDefaults()
		e := events.APIGatewayV2HTTPRequest{Version: "2.0", RawPath: r.path, RawQueryString: r.query, Headers: lowerCase(r.header)}
		e.RequestContext.HTTP.Method = r.method
		e.Body, e.IsBase64Encoded = encode(r.body)
		if r.user != "" {
			e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
				JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{
					Claims: map[string]string{"iss": "https://issuer", "sub": r.user},
				},
			}
		}
		w, err := fn(ctx, asEvent[events.APIGatewayV2HTTPRequest](e))
		return answer{w.StatusCode, merge(w.Headers, nil, w.Cookies...), decode(w.Body, w.IsBase64Encoded), err}
	}
}

func throughALB(multiValue bool) func(*httpguard.API, handler) func(context.Context, request) answer {
	return func(api *httpguard.API, handle handler) func(context.Context, request) answer {
		fn := api.ALB(func(ctx context.Context, _ events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			a, err := handle(ctx)
			r := events.ALBTargetGroupResponse{StatusCode: a.status, StatusDescription: "as the handler says"}
			if multiValue {
				r.MultiValueHeaders = a.header
			} else {
				r.Headers = make(map[string]string)
				for name, values := range a.header {
					r.Headers[name] = strings.Join(values, ", ")
				}
			}
			r.Body, r.IsBase64Encoded = encode(a.body)
			return r, err
		})
		return func(ctx context.Context, r request) answer {
			r = r.withDefaults()
			if r.user != "" {
				r.header.Set("X-Amzn-Oidc-Identity", r.user)
			}
			query := parameters(r.query, func(s string) string { return s }) // a load balancer decodes nothing
			e := events.ALBTargetGroupRequest{HTTPMethod: r.method, Path: r.path}
			if multiValue {
				e.MultiValueHeaders, e.MultiValueQueryStringParameters = r.header, query
			} else {
				e.Headers, e.QueryStringParameters = lowerCase(r.header), lastOf(query)
			}
			e.Body, e.IsBase64Encoded = encode(r.body)
			w, err := fn(ctx, asEvent[events.ALBTargetGroupRequest](e))
			if multiValue {
				w.Headers = nil // as the load balancer does
			} else {
				w.MultiValueHeaders = nil
			}
			return answer{w.StatusCode, merge(w.Headers, w.MultiValueHeaders), decode(w.Body, w.IsBase64Encoded), err}
		}
	}
}

func urlEvent(r request) events.LambdaFunctionURLRequest {
	e := events.LambdaFunctionURLRequest{Version: "2.0", RawPath: r.path, RawQueryString: r.query, Headers: lowerCase(r.header)}
	e.RequestContext.HTTP.Method = r.method
	e.RequestContext.DomainName = "id.lambda-url.eu-west-1.on.aws"
	e.Body, e.IsBase64Encoded = encode(r.body)
	if r.user != "" {
		e.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
			IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserID: r.user},
		}
	}
	return asEvent[events.LambdaFunctionURLRequest](e)
}

func throughFunctionURL(api *httpguard.API, handle handler) func(context.Context, request) answer {
	fn := api.FunctionURL(func(ctx context.Context, _ events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
		a, err := handle(ctx)
		r := events.LambdaFunctionURLResponse{StatusCode: a.status}
		r.Headers, r.Cookies = join(a.header)
		r.Body, r.IsBase64Encoded = encode(a.body)
		return r, err
	})
	return func(ctx context.Context, r request) answer {
		w, err := fn(ctx, urlEvent(r.withDefaults()))
		return answer{w.StatusCode, merge(w.Headers, nil, w.Cookies...), decode(w.Body, w.IsBase64Encoded), err}
	}
}

// middleware guards a net/http handler that answers as the handler does. An error
// of the handler is a 500.
func middleware(api *httpguard.API, handle handler) http.Handler {
	return api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := handle(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		maps.Copy(w.Header(), a.header)
		w.WriteHeader(a.status)
		io.WriteString(w, a.body)
	}))
}

// httpRequest is what a server makes of a request.
func (r request) httpRequest(ctx context.Context) *http.Request {
	r = r.withDefaults()
	hr := httptest.NewRequestWithContext(ctx, r.method, r.path+"?"+r.query, strings.NewReader(r.body))
	maps.Copy(hr.Header, r.header)
	if r.user != "" {
		hr = hr.WithContext(context.WithValue(ctx, userKey{}, r.user))
	}
	return hr
}

func throughHTTP(api *httpguard.API, handle handler) func(context.Context, request) answer {
	guarded := middleware(api, handle)
	return func(ctx context.Context, r request) answer {
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r.httpRequest(ctx))
		return answer{status: w.Code, header: w.Header(), body: w.Body.String()}
	}
}

func throughLambdaURL(api *httpguard.API, handle handler) func(context.Context, request) answer {
	fn := lambdaurl.Wrap(middleware(api, handle))
	return func(ctx context.Context, r request) answer {
		event := urlEvent(r.withDefaults())
		w, err := fn(ctx, &event)
		if err != nil {
			return answer{err: err}
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(w.Body); err != nil {
			return answer{err: err}
		}
		return answer{w.StatusCode, merge(w.Headers, nil, w.Cookies...), body.String(), nil}
	}
}

// onEveryStore runs a story on the reference store and on DynamoDB.
func onEveryStore(t *testing.T, story func(*testing.T, persistence.Store)) {
	t.Run("Memory", func(t *testing.T) { story(t, persistence.NewMemory()) })
	t.Run("DynamoDB", func(t *testing.T) {
		_, store := embedded.Store(t, dynamostore.Config{})
		story(t, store)
	})
}

// statuses are those of the records in a store.
func statuses(store *persistence.Memory) []persistence.Status {
	var all []persistence.Status
	for _, r := range store.Records() {
		all = append(all, r.Status)
	}
	slices.Sort(all)
	return all
}
