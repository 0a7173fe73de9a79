package httpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// problem is a refusal: a problem document (RFC 9457) and what goes with it.
type problem struct {
	status     int
	title      string
	detail     string
	retryAfter time.Duration // zero where it is of no use to ask again
}

// soon is a Retry-After for what may be over by the next try.
const soon = time.Second

// refuse answers a request with a problem document.
func (a *API) refuse(r *Request, p problem) *response {
	document := struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{a.config.DocsURL, p.title, p.status, p.detail}
	body, _ := json.Marshal(document) // texts and a number always encode
	headers := map[string]string{
		"Content-Type":     "application/problem+json",
		"Content-Language": "en",
		"Link":             fmt.Sprintf(`<%s>; rel="describedby"; type="text/html"`, a.config.DocsURL),
	}
	if p.retryAfter > 0 {
		headers["Retry-After"] = seconds(p.retryAfter)
	}
	return a.ours(r, response{Status: p.status, Headers: headers, Body: string(body)})
}

// seconds is a Retry-After: whole seconds, never too early, at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// refusal says how one of the guard's errors is answered. A permanent failure is what
// the first try has returned, and stays an error.
func (c *Config) refusal(err error) (p problem, refused bool) {
	running, _ := errors.AsType[*idempotent.InProgressError](err)
	failed, _ := errors.AsType[*idempotent.StoreError](err)
	switch {
	case errors.Is(err, idempotent.ErrKey):
		return problem{status: http.StatusBadRequest,
			title:  c.Header + " is missing",
			detail: fmt.Sprintf("This operation needs the header %s, with a value that is new for each request and the same in all its tries.", c.Header)}, true
	case running != nil:
		return problem{status: http.StatusConflict, retryAfter: max(running.RetryAfter, 1),
			title:  "The request is being processed",
			detail: "An earlier try of this request is not finished. Repeat it later, with the same key, for its response."}, true
	case errors.Is(err, idempotent.ErrMismatch):
		status := http.StatusUnprocessableEntity
		if c.OnMismatch == Refuse409 {
			status = http.StatusConflict
		}
		return problem{status: status,
			title:  "The key was used for another request",
			detail: "The key came first with another method, path, query or content. A new request needs a new key."}, true
	case errors.Is(err, idempotent.ErrResultNotStored):
		return problem{status: http.StatusConflict,
			title:  "The response is gone",
			detail: "The request was carried out before, and its response could not be kept. It must not be repeated."}, true
	case errors.Is(err, idempotent.ErrOutcomeUnknown):
		return problem{status: http.StatusConflict,
			title:  "The outcome is unknown",
			detail: "An earlier try of this request did not finish, and may have been carried out. It is not repeated."}, true
	case errors.Is(err, idempotent.ErrLeaseLost):
		return problem{status: http.StatusConflict, retryAfter: soon,
			title:  "Another try has taken over",
			detail: "Repeat the request, with the same key, for the other try's response."}, true
	case failed != nil && failed.Executed:
		// Not a 503 as for other faults of the store: clients repeat that, and once the
		// lease is over it would run again.
		return problem{status: http.StatusConflict,
			title:  "The outcome could not be recorded",
			detail: "The request was carried out, but that could not be recorded. Ask for its state before you repeat it."}, true
	case failed != nil && !failed.Retryable:
		return problem{status: http.StatusServiceUnavailable,
			title:  "The request was not started",
			detail: "The service is not available. Nothing was done."}, true
	case failed != nil, errors.Is(err, idempotent.ErrNotStarted):
		return problem{status: http.StatusServiceUnavailable, retryAfter: soon,
			title:  "The request was not started",
			detail: "Nothing was done. Repeat the request with the same key."}, true
	default:
		return problem{}, false
	}
}

// malformed answers a request that can't be understood, or told from others.
func (a *API) malformed(ctx context.Context, r *Request, err error) *response {
	key, _ := errors.AsType[*keyError](err)
	tooLarge, _ := errors.AsType[*tooLargeError](err)
	switch {
	case key != nil:
		return a.refuse(r, problem{status: http.StatusBadRequest,
			title:  "The key can't be used",
			detail: key.detail})
	case errors.Is(err, errBody):
		return a.refuse(r, problem{status: http.StatusBadRequest,
			title:  "The body can't be read",
			detail: "The body is incomplete or wrongly encoded."})
	case tooLarge != nil:
		return a.refuse(r, problem{status: http.StatusRequestEntityTooLarge,
			title:  "The body is too large",
			detail: fmt.Sprintf("A body may have up to %d bytes.", tooLarge.limit)})
	case errors.Is(err, ErrNoScope):
		// A 401 would have to name a scheme of authentication, which is not known
		// here, and a 400 would blame the request.
		a.config.Logger.LogAttrs(ctx, slog.LevelWarn, "httpguard: refused", slog.Any("error", err))
		return a.refuse(r, problem{status: http.StatusForbidden,
			title:  "The caller is not known",
			detail: "Keys belong to whoever sends them, and this request does not tell who that is."})
	default:
		return a.broken(ctx, r, err)
	}
}

// abandoned is for a handler that has given up without an answer.
var abandoned = problem{status: http.StatusServiceUnavailable, retryAfter: soon,
	title:  "The request was not finished",
	detail: "There was no time left. Repeat the request with the same key."}

// broken answers what only an operator can put right, and tells the operator.
func (a *API) broken(ctx context.Context, r *Request, err error) *response {
	a.config.Logger.LogAttrs(ctx, slog.LevelError, "httpguard: failed", slog.Any("error", err))
	return a.refuse(r, problem{status: http.StatusInternalServerError,
		title:  "The service has failed",
		detail: "The request was not carried out by this try."})
}
