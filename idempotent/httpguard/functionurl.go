package httpguard

import (
	"cmp"
	"context"

	"github.com/aws/aws-lambda-go/events"
)

// FunctionURL guards a handler of a Lambda function URL whose invoke mode is
// BUFFERED. It panics for a nil handler.
func (a *API) FunctionURL(fn func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error)) func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
	return wrap(a, functionURL, fn)
}

var functionURL = shape[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse]{
	read: func(e events.LambdaFunctionURLRequest) *Request {
		return &Request{
			Method:   e.RequestContext.HTTP.Method,
			Path:     e.RawPath,
			Query:    parseQuery(e.RawQueryString),
			rawQuery: undecoded(e.RawQueryString),
			Header:   readHeader(e.Headers, nil),
			body:     bodyOf(e.Body, e.IsBase64Encoded),
			Caller:   functionURLCaller(e.RequestContext.Authorizer),
			Event:    e,
		}
	},
	record: func(r events.LambdaFunctionURLResponse) response {
		return response{Status: r.StatusCode, Headers: r.Headers, Body: r.Body, IsBase64Encoded: r.IsBase64Encoded}
	},
	write: func(_ events.LambdaFunctionURLRequest, r response) events.LambdaFunctionURLResponse {
		return events.LambdaFunctionURLResponse{
			StatusCode: r.Status, Headers: r.joined(), Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
	},
	unsigned: func(e events.LambdaFunctionURLRequest) events.LambdaFunctionURLRequest {
		e.Headers, e.Cookies = unsigned(e.Headers), nil
		return e
	},
	headers: func(r *events.LambdaFunctionURLResponse) (*map[string]string, *map[string][]string) {
		return &r.Headers, nil
	},
}

func functionURLCaller(a *events.LambdaFunctionURLRequestContextAuthorizerDescription) Caller {
	if a == nil || a.IAM == nil {
		return Caller{}
	}
	return Caller{IAM: cmp.Or(a.IAM.UserID, a.IAM.CallerID)}
}
