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
	read: func(e events.LambdaFunctionURLRequest) (*Request, error) {
		body, err := decodeBody(e.Body, e.IsBase64Encoded)
		return &Request{
			Method:   e.RequestContext.HTTP.Method,
			Path:     e.RawPath,
			Query:    parseQuery(e.RawQueryString),
			rawQuery: undecoded(e.RawQueryString),
			Header:   readHeader(e.Headers, nil),
			Body:     body,
			Caller:   functionURLCaller(e.RequestContext.Authorizer),
			Event:    e,
		}, err
	},
	record: func(r events.LambdaFunctionURLResponse) response {
		return response{Status: r.StatusCode, Headers: r.Headers, Body: r.Body, IsBase64Encoded: r.IsBase64Encoded}
	},
	write: func(_ events.LambdaFunctionURLRequest, r response) events.LambdaFunctionURLResponse {
		return events.LambdaFunctionURLResponse{
			StatusCode: r.Status, Headers: r.joined(), Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
	},
	unmark: func(r *events.LambdaFunctionURLResponse) { r.Headers = unmarked(r.Headers) },
}

func functionURLCaller(a *events.LambdaFunctionURLRequestContextAuthorizerDescription) Caller {
	if a == nil || a.IAM == nil {
		return Caller{}
	}
	return Caller{IAM: cmp.Or(a.IAM.UserID, a.IAM.CallerID)}
}
