package idempotenttest

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/events"
)

// HTTPRequest is a request to an API, of which each source of Lambda makes an event of
// its own.
type HTTPRequest struct {
	// Method defaults to POST.
	Method string
	// Path defaults to "/".
	Path string
	// Query are the names and values behind the path.
	Query url.Values
	// Key is the header Idempotency-Key; empty for none.
	Key string
	// Header are further headers. Content-Type defaults to application/json.
	Header map[string]string
	// Body is the content.
	Body string
	// Subject is the subject ("sub") of the caller's JSON Web Token, as an authorizer
	// hands it on; empty for none. An ALB and a function URL have no such authorizer.
	Subject string
}

// headers are the request's headers, their names in lower case as HTTP/2 has them.
func (r HTTPRequest) headers() map[string]string {
	headers := map[string]string{"content-type": "application/json"}
	if r.Key != "" {
		headers["idempotency-key"] = r.Key
	}
	maps.Copy(headers, r.Header)
	return headers
}

// first are the first values of names that may have several.
func first(values map[string][]string) map[string]string {
	one := make(map[string]string)
	for name, all := range values {
		if len(all) > 0 {
			one[name] = all[0]
		}
	}
	return one
}

func (r HTTPRequest) method() string { return cmp.Or(r.Method, http.MethodPost) }

func (r HTTPRequest) path() string { return cmp.Or(r.Path, "/") }

// APIGatewayV1 is the event of a REST API of API Gateway (payload format 1.0).
func APIGatewayV1(r HTTPRequest) events.APIGatewayProxyRequest {
	event := events.APIGatewayProxyRequest{
		Resource:                        r.path(),
		Path:                            r.path(),
		HTTPMethod:                      r.method(),
		Headers:                         make(map[string]string),
		MultiValueHeaders:               make(map[string][]string),
		QueryStringParameters:           first(r.Query),
		MultiValueQueryStringParameters: r.Query,
		Body:                            r.Body,
		RequestContext: events.APIGatewayProxyRequestContext{
			AccountID: account, Stage: "prod", RequestID: someID, HTTPMethod: r.method(), Path: "/prod" + r.path(), APIID: "f6g7h8i9j0",
		},
	}
	for name, value := range r.headers() {
		name = http.CanonicalHeaderKey(name)
		event.Headers[name], event.MultiValueHeaders[name] = value, []string{value}
	}
	if r.Subject != "" {
		event.RequestContext.Authorizer = map[string]any{"claims": map[string]any{"sub": r.Subject, "iss": issuer}}
	}
	return event
}

// APIGatewayV2 is the event of an HTTP API of API Gateway (payload format 2.0).
func APIGatewayV2(r HTTPRequest) events.APIGatewayV2HTTPRequest {
	event := events.APIGatewayV2HTTPRequest{
		Version:               "2.0",
		RouteKey:              r.method() + " " + r.path(),
		RawPath:               r.path(),
		RawQueryString:        r.Query.Encode(),
		Headers:               r.headers(),
		QueryStringParameters: first(r.Query),
		Body:                  r.Body,
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: r.method() + " " + r.path(), AccountID: account, Stage: "$default", RequestID: someID, APIID: "a1b2c3d4e5",
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{Method: r.method(), Path: r.path(), Protocol: "HTTP/1.1", SourceIP: sourceIP},
		},
	}
	if r.Subject != "" {
		event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": r.Subject, "iss": issuer}},
		}
	}
	return event
}

// ALB is the event of an Application Load Balancer whose target group has no multi-value
// headers.
func ALB(r HTTPRequest) events.ALBTargetGroupRequest {
	return events.ALBTargetGroupRequest{
		HTTPMethod:            r.method(),
		Path:                  r.path(),
		QueryStringParameters: first(r.Query),
		Headers:               r.headers(),
		Body:                  r.Body,
		RequestContext: events.ALBTargetGroupRequestContext{ELB: events.ELBContext{
			TargetGroupArn: "arn:aws:elasticloadbalancing:" + region + ":" + account + ":targetgroup/function/d6190d154bc908a5",
		}},
	}
}

// FunctionURL is the event of a function URL.
func FunctionURL(r HTTPRequest) events.LambdaFunctionURLRequest {
	return events.LambdaFunctionURLRequest{
		Version:               "2.0",
		RawPath:               r.path(),
		RawQueryString:        r.Query.Encode(),
		Headers:               r.headers(),
		QueryStringParameters: first(r.Query),
		Body:                  r.Body,
		RequestContext: events.LambdaFunctionURLRequestContext{
			AccountID: account, RequestID: someID, APIID: "abcdefghijklmnopqrstuvwxyz012345",
			HTTP: events.LambdaFunctionURLRequestContextHTTPDescription{Method: r.method(), Path: r.path(), Protocol: "HTTP/1.1", SourceIP: sourceIP},
		},
	}
}

const (
	region   = "us-east-1"
	account  = "123456789012"
	someID   = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
	sourceIP = "203.0.113.17"
	issuer   = "https://login.example.com/"
)
