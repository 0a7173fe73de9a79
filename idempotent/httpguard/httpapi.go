package httpguard

import (
	"cmp"
	"context"

	"github.com/aws/aws-lambda-go/events"
)

// HTTPAPI guards a handler of an API Gateway HTTP API with payload format 2.0. It
// panics for a nil handler.
func (a *API) HTTPAPI(fn func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error)) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return wrap(a, httpAPI, fn)
}

var httpAPI = shape[events.APIGatewayV2HTTPRequest, events.APIGatewayV2HTTPResponse]{
	read: func(e events.APIGatewayV2HTTPRequest) *Request {
		return &Request{
			Method:   e.RequestContext.HTTP.Method,
			Path:     e.RawPath,
			Query:    parseQuery(e.RawQueryString),
			rawQuery: undecoded(e.RawQueryString),
			Header:   readHeader(e.Headers, nil),
			body:     bodyOf(e.Body, e.IsBase64Encoded),
			Caller:   httpAPICaller(e.RequestContext.Authorizer),
			Event:    e,
		}
	},
	// Format 2.0 has no multi-value headers, whatever the type has: they are sent by
	// nobody, and so are not replayed.
	record: func(r events.APIGatewayV2HTTPResponse) response {
		return response{Status: r.StatusCode, Headers: r.Headers, Body: r.Body, IsBase64Encoded: r.IsBase64Encoded}
	},
	write: func(_ events.APIGatewayV2HTTPRequest, r response) events.APIGatewayV2HTTPResponse {
		return events.APIGatewayV2HTTPResponse{
			StatusCode: r.Status, Headers: r.joined(), Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
	},
	unsigned: func(e events.APIGatewayV2HTTPRequest) events.APIGatewayV2HTTPRequest {
		e.Headers, e.Cookies = unsigned(e.Headers), nil
		return e
	},
	headers: func(r *events.APIGatewayV2HTTPResponse) (*map[string]string, *map[string][]string) {
		return &r.Headers, nil
	},
}

func httpAPICaller(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) Caller {
	var caller Caller
	if a == nil {
		return caller
	}
	caller.Authorizer = a.Lambda
	if a.JWT != nil {
		caller.Claims = a.JWT.Claims
	}
	if a.IAM != nil {
		caller.IAM = cmp.Or(a.IAM.UserID, a.IAM.CallerID)
		caller.CognitoIdentity = a.IAM.CognitoIdentity.IdentityID
	}
	return caller
}
