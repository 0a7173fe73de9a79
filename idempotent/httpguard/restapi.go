package httpguard

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
)

// RESTAPI guards a handler of an API Gateway REST API, or of an HTTP API with
// payload format 1.0. It panics for a nil handler.
func (a *API) RESTAPI(fn func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)) func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	return wrap(a, restAPI, fn)
}

var restAPI = shape[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse]{
	read: func(e events.APIGatewayProxyRequest) *Request {
		return &Request{
			Method: e.HTTPMethod,
			Path:   e.Path,
			Query:  readParameters(e.QueryStringParameters, e.MultiValueQueryStringParameters),
			Header: readHeader(e.Headers, e.MultiValueHeaders),
			body:   bodyOf(e.Body, e.IsBase64Encoded),
			Caller: Caller{
				Claims:          stringsIn(e.RequestContext.Authorizer["claims"]),
				Authorizer:      e.RequestContext.Authorizer,
				IAM:             e.RequestContext.Identity.Caller,
				CognitoIdentity: e.RequestContext.Identity.CognitoIdentityID,
				APIKeyID:        e.RequestContext.Identity.APIKeyID,
			},
			Event: e,
		}
	},
	record: func(r events.APIGatewayProxyResponse) response {
		return response{
			Status: r.StatusCode, Headers: r.Headers, MultiValueHeaders: r.MultiValueHeaders,
			Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
	},
	write: func(_ events.APIGatewayProxyRequest, r response) events.APIGatewayProxyResponse {
		return events.APIGatewayProxyResponse{
			StatusCode: r.Status, Headers: r.Headers, MultiValueHeaders: r.MultiValueHeaders,
			Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
	},
	unsigned: func(e events.APIGatewayProxyRequest) events.APIGatewayProxyRequest {
		e.Headers, e.MultiValueHeaders = unsigned(e.Headers), unsigned(e.MultiValueHeaders)
		e.RequestContext.Identity.APIKey = ""
		return e
	},
	headers: func(r *events.APIGatewayProxyResponse) (*map[string]string, *map[string][]string) {
		return &r.Headers, &r.MultiValueHeaders
	},
}

// stringsIn returns the claims of an authorizer that are strings.
func stringsIn(claims any) map[string]string {
	texts := make(map[string]string)
	all, _ := claims.(map[string]any)
	for name, claim := range all {
		if text, ok := claim.(string); ok {
			texts[name] = text
		}
	}
	return texts
}
