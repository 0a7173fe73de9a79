package httpguard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
)

// RecordKey returns the key of the record that the API has for a request, for whoever looks
// for it: neither the handler nor the store is asked for anything. A request is
//
//   - an event as a handler gets it: events.APIGatewayProxyRequest,
//     events.APIGatewayV2HTTPRequest, events.ALBTargetGroupRequest or
//     events.LambdaFunctionURLRequest;
//
//   - such an event as JSON, a [json.RawMessage], as logs have it;
//
//   - an *http.Request, whose body can be read afterwards as before;
//
//   - a *[Request] made by hand, where no more is known than the key and who has sent it. Its
//     Header has the key, also one that a client sends in the body, and the rest is what the
//     [Scope] looks at:
//
//     &httpguard.Request{
//     Header: http.Header{"Idempotency-Key": {"8e03978e"}},
//     Caller: httpguard.Caller{Claims: map[string]string{"iss": issuer, "sub": user}},
//     }
//
// Method, path and content are compared, and are no part of the key. Where Lambda isolates
// tenants, the tenant is the context's.
//
// The error says why the request has no record: [idempotent.ErrKey] for one without a usable
// key, [ErrNoScope], [idempotent.ErrConfig] for a method that is not covered and for what is
// no request.
func (a *API) RecordKey(ctx context.Context, request any) (string, error) {
	r, err := requestOf(request)
	if err != nil {
		return "", err
	}
	if r.Method != "" && !a.covers(r.Method) {
		return "", &idempotent.ConfigError{Field: "httpguard.Config.Methods", Problem: fmt.Sprintf("does not have %q, so that its requests have no records", r.Method)}
	}
	key, err := a.config.keyInHeader(r)
	if err == nil && key == "" && a.config.BodyKey != nil && r.body != nil {
		var body []byte
		if body, err = r.body(a.config.MaxBody); err == nil {
			key, err = a.config.keyInBody(r, body)
		}
	}
	if err != nil {
		return "", &idempotent.KeyError{Operation: a.guard.Config().Operation, Err: err}
	}
	scoped, err := a.recordKey(ctx, r, key)
	if err != nil {
		return "", err
	}
	return a.guard.Identity(scoped, "").RecordKey(ctx)
}

// requestOf reads a request in any of its forms.
func requestOf(request any) (*Request, error) {
	switch e := request.(type) {
	case *Request:
		if e != nil {
			return e, nil
		}
	case events.APIGatewayProxyRequest:
		return restAPI.read(e), nil
	case events.APIGatewayV2HTTPRequest:
		return httpAPI.read(e), nil
	case events.ALBTargetGroupRequest:
		return alb.read(e), nil
	case events.LambdaFunctionURLRequest:
		return functionURL.read(e), nil
	case json.RawMessage:
		return requestIn(e)
	case *http.Request:
		if e != nil {
			return ofServer(e), nil
		}
	}
	return nil, fmt.Errorf("%w: httpguard: a %T is no request", idempotent.ErrConfig, request)
}

// requestIn reads an event in JSON. What tells the kinds apart is what AWS puts into each:
// the events of a function URL are read as those of an HTTP API, which they are made after.
func requestIn(event json.RawMessage) (*Request, error) {
	var kind struct {
		HTTPMethod     string `json:"httpMethod"`
		RequestContext struct {
			ELB  *struct{} `json:"elb"`
			HTTP *struct{} `json:"http"`
		} `json:"requestContext"`
	}
	err := json.Unmarshal(event, &kind)
	switch {
	case err != nil:
	case kind.RequestContext.HTTP != nil:
		return decodeEvent(event, httpAPI)
	case kind.RequestContext.ELB != nil:
		return decodeEvent(event, alb)
	case kind.HTTPMethod != "":
		return decodeEvent(event, restAPI)
	}
	return nil, fmt.Errorf("%w: httpguard: the JSON is no event of an HTTP API", idempotent.ErrConfig)
}

func decodeEvent[Event, Answer any](event json.RawMessage, s shape[Event, Answer]) (*Request, error) {
	var decoded Event
	if err := json.Unmarshal(event, &decoded); err != nil {
		return nil, fmt.Errorf("%w: httpguard: the JSON does not fit %T", idempotent.ErrConfig, decoded)
	}
	return s.read(decoded), nil
}

// ofServer reads a request of net/http, and puts back what it reads of the body.
func ofServer(r *http.Request) *Request {
	request := readHTTP(r)
	request.body = func(limit int) ([]byte, error) {
		if r.Body == nil {
			return nil, nil
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		switch {
		case err != nil:
			return nil, errBody
		case len(body) > limit:
			return nil, &tooLargeError{int64(limit)}
		}
		return body, nil
	}
	return request
}
