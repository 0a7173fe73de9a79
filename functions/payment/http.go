package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/ikkai-go/idempotency/idempotent"
)

// refusals is the handler with the guard's refusals, and its own, as HTTP
// responses. Every other error passes unchanged: Lambda reports it, and the client gets a 500.
type refusals struct{ guarded lambda.Handler }

// Invoke implements [lambda.Handler].
func (r refusals) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	response, err := r.guarded.Invoke(ctx, payload)
	if err == nil {
		return response, nil
	}
	refusal, ok := refusalOf(err)
	if !ok {
		return nil, err
	}
	return json.Marshal(refusal)
}

// statuses are those of the table in the documentation of package idempotent.
// *ReplayError is not among them: only an operator can do something about it, and
// as an error it is a 500 that Lambda counts.
var statuses = []struct {
	err    error
	status int
	detail string
}{
	{idempotent.ErrKey, http.StatusBadRequest, "send JSON as application/json, with amount, currency and customer, and an Idempotency-Key header or a payment_id"},
	{idempotent.ErrInProgress, http.StatusConflict, "this request is being processed, try again later"},
	{idempotent.ErrMismatch, http.StatusUnprocessableEntity, "the key was used with another amount, currency or customer"},
	{idempotent.ErrResultNotStored, http.StatusConflict, "the payment was made, its response is not available any more"},
	{idempotent.ErrOutcomeUnknown, http.StatusConflict, "an earlier try did not finish, its outcome is unknown"},
	{idempotent.ErrLeaseLost, http.StatusConflict, "another try has taken over, repeat the request for its response"},
	{idempotent.ErrStore, http.StatusServiceUnavailable, "try again later with the same key"},
	{idempotent.ErrNotStarted, http.StatusServiceUnavailable, "try again later with the same key"},
}

func refusalOf(err error) (events.APIGatewayV2HTTPResponse, bool) {
	if errors.Is(err, idempotent.ErrPermanent) {
		return problem(http.StatusPaymentRequired, err.Error()), true
	}
	if unchargeable, ok := errors.AsType[*orderError](err); ok {
		return problem(http.StatusUnprocessableEntity, unchargeable.reason), true
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			response := problem(s.status, s.detail)
			if running, ok := errors.AsType[*idempotent.InProgressError](err); ok {
				response.Headers["Retry-After"] = seconds(running.RetryAfter)
			}
			return response, true
		}
	}
	return events.APIGatewayV2HTTPResponse{}, false
}

// seconds is a Retry-After: whole seconds, never too early.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// problem is a response with a problem document (RFC 9457).
func problem(status int, detail string) events.APIGatewayV2HTTPResponse {
	body, _ := json.Marshal(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{http.StatusText(status), status, detail}) // text and a number always encode
	return events.APIGatewayV2HTTPResponse{
		StatusCode: status,
		Headers:    map[string]string{"Content-Type": "application/problem+json"},
		Body:       string(body),
	}
}
