package httpguard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
)

// The codes of what the adapters refuse by themselves; all others are the guard's.
const (
	// CodeCallerUnknown says that the request does not tell whose key it brings.
	CodeCallerUnknown idempotent.Code = "caller_unknown"
	// CodeScopeFailed says that it could not be found out whose key the request brings.
	CodeScopeFailed idempotent.Code = "scope_failed"
	// CodeBodyUnreadable says that the body is incomplete or wrongly encoded.
	CodeBodyUnreadable idempotent.Code = "body_unreadable"
	// CodeBodyTooLarge says that the body is larger than [Config].MaxBody.
	CodeBodyTooLarge idempotent.Code = "body_too_large"
	// CodeNotFinished says that the handler was given up by its client or its time, and
	// has answered nothing.
	CodeNotFinished idempotent.Code = "not_finished"
	// CodeInternal says that only who runs the API can put it right.
	CodeInternal idempotent.Code = "internal"
)

// kind is what all refusals of a code have in common. docs/http.md explains each.
type kind struct {
	status int // by the verdict where it is 0
	title  string
	about  string // what has happened, without a claim about what was done
}

var kinds = map[idempotent.Code]kind{
	idempotent.CodeKeyMissing:         {400, "The key is missing", "This operation needs a key that is new for each request and the same in all its tries."},
	idempotent.CodeKeyUnusable:        {400, "The key can't be used", "The key is not one that this operation takes."},
	CodeCallerUnknown:                 {403, "The caller is not known", "Keys belong to whoever sends them, and this request does not tell who that is."},
	CodeScopeFailed:                   {503, "The request was not started", "It could not be found out who sends it."},
	CodeBodyUnreadable:                {400, "The body can't be read", "The body is incomplete or wrongly encoded."},
	CodeBodyTooLarge:                  {413, "The body is too large", "The body is larger than this operation takes."},
	idempotent.CodeInProgress:         {409, "The request is being processed", "Another try of this request is under way."},
	idempotent.CodeMismatch:           {422, "The key was used for another request", "The key came first with another method, path, query or content. A new request needs a new key."},
	idempotent.CodeResultNotStored:    {409, "The response is gone", "An earlier try of this request has ended, and its response could not be kept."},
	idempotent.CodeReplayUnreadable:   {500, "The response can't be read", "An earlier try of this request has ended, and its response can't be read."},
	idempotent.CodeOutcomeUnknown:     {409, "The outcome is unknown", "An earlier try of this request did not come to its end."},
	idempotent.CodeLeaseLost:          {409, "Another try has taken over", "This try took too long, and another one has the request by now."},
	idempotent.CodeStoreFailed:        {503, "The request was not started", "It could not be found out whether this request was made before."},
	idempotent.CodeNotStored:          {0, "The outcome could not be recorded", "The request came to an end that could not be recorded."},
	idempotent.CodeNotStarted:         {503, "The request was not started", "There was no time left for it."},
	CodeNotFinished:                   {503, "The request was not finished", "There was no time left for it."},
	idempotent.CodeResponseTooLarge:   {409, "The response is too large", "The response is larger than can be sent."},
	idempotent.CodePartialSuccess:     {0, "The request is not finished", "The request has failed after some of its steps."},
	idempotent.CodeCompensationFailed: {0, "The request is not undone", "The request has failed for good, and what it had done is not all undone."},
	idempotent.CodeStuck:              {0, "The request can't go on", "The request needs somebody to look after it."},
	idempotent.CodeStepFailed:         {0, "The request is not finished", "A step of the request has failed."},
	idempotent.CodeUnfinished:         {0, "The request is not finished", "Some of what the request asks for is left."},
	idempotent.CodeFunctionFailed:     {500, "The request has failed", "The service has failed."},
	idempotent.CodeFailed:             {500, "The request has failed", "The request has failed for good."},
	idempotent.CodeInvalidConfig:      {500, "The service has failed", "The service has to be mended before it can take this request."},
	CodeInternal:                      {500, "The service has failed", "The service has to be mended before it can take this request."},
}

// refusal is why a request is not answered by its handler: a verdict, and what else is
// known.
type refusal struct {
	idempotent.Verdict
	title   string    // instead of the kind's
	about   string    // instead of the kind's
	expires time.Time // until when the key is kept; zero where it is not known
}

// status is that of the answer. What may be repeated is a 503, which clients repeat; what
// must not be is none: 409, unless nothing was done.
func (f refusal) status(c *Config) int {
	status := kinds[f.Code].status
	switch {
	case f.Code == idempotent.CodeMismatch && c.OnMismatch == Refuse409:
		return http.StatusConflict
	case status != 0:
		return status
	case f.Retry, f.Done == idempotent.DoneNothing:
		return http.StatusServiceUnavailable
	default:
		return http.StatusConflict
	}
}

// detail says what has happened, what was done, and what to do, by the verdict and by
// nothing else.
func (f refusal) detail() string {
	sentences := []string{cmp.Or(f.about, kinds[f.Code].about)}
	switch f.Done {
	case idempotent.DoneNothing:
		sentences = append(sentences, "This try has done nothing.")
	case idempotent.DoneMaybe:
		sentences = append(sentences, "The request may have been carried out, in part or as a whole.")
	case idempotent.DoneSomething:
		sentences = append(sentences, "A part of the request was carried out, and that is recorded.")
	case idempotent.DoneAll:
		sentences = append(sentences, "The request was carried out.")
	}
	switch {
	case f.Retry && f.Done == idempotent.DoneSomething:
		sentences = append(sentences, "Repeat it with the same key, so that it comes to its end.")
	case f.Retry:
		sentences = append(sentences, "Repeat it with the same key.")
	case f.Done != idempotent.DoneNothing:
		sentences = append(sentences, "Don't repeat it before you know what has become of it.")
	}
	return strings.Join(sentences, " ")
}

// refuse answers a request with a problem document (RFC 9457).
func (a *API) refuse(r *Request, f refusal) *response {
	document := struct {
		Type    string `json:"type"`
		Title   string `json:"title"`
		Status  int    `json:"status"`
		Detail  string `json:"detail"`
		Code    string `json:"code"`
		Done    string `json:"done"`
		Retry   bool   `json:"retry"`
		Expires string `json:"expires,omitempty"`
	}{
		Type: a.config.TypeBase + string(f.Code), Title: cmp.Or(f.title, kinds[f.Code].title), Status: f.status(&a.config), Detail: f.detail(),
		Code: string(f.Code), Done: f.Done.String(), Retry: f.Retry,
	}
	if !f.expires.IsZero() {
		document.Expires = f.expires.UTC().Format(time.RFC3339)
	}
	body, _ := json.Marshal(document) // texts and a number always encode
	headers := map[string]string{
		"Content-Type":     "application/problem+json",
		"Content-Language": "en",
		"Link":             fmt.Sprintf(`<%s>; rel="describedby"; type="text/html"`, a.config.DocsURL),
	}
	if f.Retry {
		headers["Retry-After"] = seconds(f.After)
	}
	return a.ours(r, response{Status: document.Status, Headers: headers, Body: string(body)})
}

// seconds is a Retry-After: whole seconds, never too early, at least one.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}

// judge answers a request with the verdict on a call's error. What the handler itself has
// failed with is none of the guard's.
func (a *API) judge(ctx context.Context, r *Request, err error, expires time.Time) (_ *response, refused bool) {
	v := idempotent.VerdictOf(err)
	if v.Code == idempotent.CodeFunctionFailed || v.Code == idempotent.CodeFailed {
		return nil, false
	}
	f := refusal{Verdict: v, expires: expires}
	if other, ok := errors.AsType[*idempotent.MismatchError](err); ok && v.Code == idempotent.CodeMismatch {
		f.expires = other.Record.ExpiresAt
	}
	if v.Code == idempotent.CodeKeyMissing {
		f.title = a.config.Header + " is missing"
		f.about = fmt.Sprintf("This operation needs the header %s, with a value that is new for each request and the same in all its tries.", a.config.Header)
	}
	if f.status(&a.config) == http.StatusInternalServerError {
		a.log(ctx, slog.LevelError, eventFailed, f.Code, err)
	}
	return a.refuse(r, f), true
}

// malformed answers a request that can't be understood, or told from others. Nothing has
// run.
func (a *API) malformed(ctx context.Context, r *Request, err error) *response {
	f := refusal{Verdict: idempotent.Verdict{Done: idempotent.DoneNothing, Code: CodeInternal}}
	key, _ := errors.AsType[*keyError](err)
	tooLarge, _ := errors.AsType[*tooLargeError](err)
	switch {
	case key != nil:
		f.Code, f.about = idempotent.CodeKeyUnusable, key.detail
		a.guard.Report(ctx, idempotent.Event{Kind: idempotent.EventKeyRefused, Err: &idempotent.KeyError{Operation: a.guard.Config().Operation, Err: key}})
	case errors.Is(err, errBody):
		f.Code = CodeBodyUnreadable
	case tooLarge != nil:
		f.Code, f.about = CodeBodyTooLarge, fmt.Sprintf("A body may have up to %d bytes.", tooLarge.limit)
	case errors.Is(err, ErrNoScope):
		// A 401 would have to name a scheme of authentication, which is not known
		// here, and a 400 would blame the request.
		f.Code = CodeCallerUnknown
		a.log(ctx, slog.LevelWarn, eventRefused, f.Code, err)
	default:
		if _, passing := errors.AsType[*scopeError](err); passing {
			f.Code, f.Retry = CodeScopeFailed, true
		}
		a.log(ctx, slog.LevelError, eventFailed, f.Code, err)
	}
	return a.refuse(r, f)
}

// failed answers for a handler of net/http what a typed one would return as its error.
func (a *API) failed(ctx context.Context, r *Request, err error) *response {
	v := idempotent.VerdictOf(err)
	a.log(ctx, slog.LevelError, eventFailed, v.Code, err)
	return a.refuse(r, refusal{Verdict: v})
}

// What log lines of this package have as their attribute "event", beside those of the guard's
// events.
const (
	eventFailed  = "request_failed"
	eventRefused = "request_refused"
)

// log tells the operator. Filters go by the attributes "event" and "code", as with the guard's
// own lines. The default logger is looked up each time: a program sets it after its packages
// are initialised.
func (a *API) log(ctx context.Context, level slog.Level, event string, code idempotent.Code, err error) {
	logger := a.config.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.LogAttrs(ctx, level, "idempotency: "+strings.ReplaceAll(event, "_", " "),
		slog.String("event", event), slog.String("operation", a.guard.Config().Operation), slog.String("code", string(code)), slog.Any("error", err))
}
