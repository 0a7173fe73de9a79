package httpguard

import (
	"context"
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// ALB guards a handler of an Application Load Balancer's target group. It panics
// for a nil handler.
func (a *API) ALB(fn func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error)) func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
	return wrap(a, alb, fn)
}

var alb = shape[events.ALBTargetGroupRequest, events.ALBTargetGroupResponse]{
	read: func(e events.ALBTargetGroupRequest) *Request {
		query := readParameters(e.QueryStringParameters, e.MultiValueQueryStringParameters)
		return &Request{
			Method:   e.HTTPMethod,
			Path:     e.Path,
			Query:    unescapeParameters(query),
			rawQuery: undecoded(rawParameters(query)),
			Header:   readHeader(e.Headers, e.MultiValueHeaders),
			body:     bodyOf(e.Body, e.IsBase64Encoded),
			Event:    e,
		}
	},
	record: func(r events.ALBTargetGroupResponse) response {
		return response{
			Status: r.StatusCode, Description: r.StatusDescription,
			Headers: r.Headers, MultiValueHeaders: r.MultiValueHeaders,
			Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
	},
	// A target group with multi-value headers sends and reads those only, and one
	// without reads the others only.
	write: func(e events.ALBTargetGroupRequest, r response) events.ALBTargetGroupResponse {
		answer := events.ALBTargetGroupResponse{
			StatusCode: r.Status, StatusDescription: r.Description,
			Body: r.Body, IsBase64Encoded: r.IsBase64Encoded,
		}
		if answer.StatusDescription == "" {
			answer.StatusDescription = fmt.Sprintf("%d %s", r.Status, http.StatusText(r.Status))
		}
		if e.MultiValueHeaders != nil {
			answer.MultiValueHeaders = r.separate()
		} else {
			answer.Headers = r.joined()
		}
		return answer
	},
	unsigned: func(e events.ALBTargetGroupRequest) events.ALBTargetGroupRequest {
		e.Headers, e.MultiValueHeaders = unsigned(e.Headers), unsigned(e.MultiValueHeaders)
		return e
	},
	headers: func(r *events.ALBTargetGroupResponse) (*map[string]string, *map[string][]string) {
		return &r.Headers, &r.MultiValueHeaders
	},
	onlyMulti: func(e events.ALBTargetGroupRequest) bool { return e.MultiValueHeaders != nil },
}
