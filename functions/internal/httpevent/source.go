// Package httpevent keeps the sample functions' handlers free of the event source
// that their HTTP requests come from.
package httpevent

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent/httpguard"
)

// Handler answers a request by its body.
type Handler func(ctx context.Context, body []byte) (Answer, error)

// Guard returns the guarded function that Lambda runs, for the events of a source:
// "httpapi" (API Gateway's HTTP APIs; the default), "restapi", "alb" or
// "functionurl".
func Guard(api *httpguard.API, source string, handler Handler) (function any, err error) {
	switch source {
	case "", "httpapi":
		return api.HTTPAPI(func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			a, err := handler.answer(ctx, e.Body, e.IsBase64Encoded)
			return events.APIGatewayV2HTTPResponse{StatusCode: a.Status, Headers: a.headers(), Body: a.Body}, err
		}), nil
	case "restapi":
		return api.RESTAPI(func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			a, err := handler.answer(ctx, e.Body, e.IsBase64Encoded)
			return events.APIGatewayProxyResponse{StatusCode: a.Status, Headers: a.headers(), Body: a.Body}, err
		}), nil
	case "alb":
		return api.ALB(func(ctx context.Context, e events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			a, err := handler.answer(ctx, e.Body, e.IsBase64Encoded)
			return events.ALBTargetGroupResponse{
				StatusCode: a.Status, StatusDescription: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)),
				Headers: a.headers(), Body: a.Body,
			}, err
		}), nil
	case "functionurl":
		return api.FunctionURL(func(ctx context.Context, e events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
			a, err := handler.answer(ctx, e.Body, e.IsBase64Encoded)
			return events.LambdaFunctionURLResponse{StatusCode: a.Status, Headers: a.headers(), Body: a.Body}, err
		}), nil
	default:
		return nil, fmt.Errorf("EVENT_SOURCE is %q, which is none of httpapi, restapi, alb and functionurl", source)
	}
}

// answer takes the body out of the transport's encoding. An HTTP API, for one,
// delivers in base64 whatever is not declared as text or JSON.
func (h Handler) answer(ctx context.Context, body string, isBase64 bool) (Answer, error) {
	content := []byte(body)
	if isBase64 {
		var err error
		if content, err = base64.StdEncoding.DecodeString(body); err != nil {
			return Answer{}, err
		}
	}
	return h(ctx, content)
}
