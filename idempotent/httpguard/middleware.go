package httpguard

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/ikkai-go/idempotency/idempotent"
)

// Middleware guards a handler of net/http: behind lambdaurl, in a container or on
// a developer's machine. The handler finds the guarded call in its request's
// context.
//
// The body of a request with a key is read before the handler runs. What reads it in
// front of the guard, as FormValue does, must put it back: a body that is gone can't be
// compared, and the request is answered with 500. So is one whose length is not
// declared and that has nothing in it: it looks the same. (What is left of such a body
// after a part of it was read does not show that, unless the guard is behind lambdaurl; nor
// does it where the body was wrapped in front.) What is put there may be shorter than
// what came, such as what was unpacked; behind lambdaurl, a body made by [io.NopCloser]
// needs its ContentLength for that.
// Temporary files of an upload that the handler has parsed are removed when it has
// returned. The response is held back
// until it is recorded; see the package documentation for handlers that flush, and
// for every way in which a handler may end. It panics for a nil handler.
func (a *API) Middleware(next http.Handler) http.Handler {
	if next == nil {
		panic("httpguard: a nil handler")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.covers(r.Method) {
			a.serveHTTP(w, r, next)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

func (a *API) serveHTTP(w http.ResponseWriter, r *http.Request, next http.Handler) {
	request := readHTTP(r)
	var body []byte
	request.body = func(limit int) (_ []byte, err error) {
		body, err = readBody(w, r, limit)
		return body, err
	}
	rec := newRecorder(w, r, a.config.MaxBody, a.guard.Off)
	defer rec.finish()
	answer, err := a.serve(r.Context(), request, func(ctx context.Context) (response, error) {
		handled := r.WithContext(ctx)
		if body != nil {
			handled.Body = again(r, body)
		}
		defer leave(r, handled)
		next.ServeHTTP(rec, handled)
		rec.finish()
		if rec.abandoned(ctx) && !a.guard.Off() {
			return response{}, errAbandoned
		}
		return rec.response(ctx), nil
	})
	switch {
	case rec.streaming:
		rec.commit() // its trailers; nothing else can be said any more
	case errors.Is(err, errAbandoned):
		writeHTTP(rec.restored(), a.refuse(request, abandoned))
	case err != nil: // what the handler enlisted was refused, or another adapter of this guard has recorded a failure
		writeHTTP(rec.restored(), a.failed(r.Context(), request, err))
	case answer.instead != nil:
		writeHTTP(rec.restored(), answer.instead)
	default:
		rec.add(answer.name, answer.value)
		rec.commit()
	}
}

// abandoned is for a handler that has given up without an answer.
var abandoned = refusal{Verdict: idempotent.Verdict{Done: idempotent.DoneMaybe, Retry: true, Code: CodeNotFinished}}

// leave ends a handler's part of its request, a copy: the server removes only the
// temporary files of the request that it has made itself, and those in front ask that
// one which pattern has matched.
func leave(r, handled *http.Request) {
	r.Pattern = handled.Pattern
	if handled.MultipartForm != nil && r.MultipartForm == nil {
		_ = handled.MultipartForm.RemoveAll() // as the server does it
	}
}

// readHTTP reads the request, but for its body.
func readHTTP(r *http.Request) *Request {
	request := &Request{
		Method:   r.Method,
		Path:     requestedPath(r),
		Query:    parseQuery(r.URL.RawQuery),
		rawQuery: undecoded(r.URL.RawQuery),
		Header:   r.Header,
		Event:    r,
	}
	if event, ok := lambdaurl.RequestFromContext(r.Context()); ok {
		request.Caller = functionURLCaller(event.RequestContext.Authorizer)
		request.kept = func() (any, *Request) {
			unsigned := functionURL.unsigned(*event)
			return unsigned, functionURL.read(unsigned)
		}
	}
	return request
}

// requestedPath returns the path that the client has asked for: handlers in front may
// have cut the URL's, and what they have cut may be all that tells two requests apart.
func requestedPath(r *http.Request) string {
	if event, ok := lambdaurl.RequestFromContext(r.Context()); ok {
		return event.RawPath
	}
	if requested, err := url.ParseRequestURI(r.RequestURI); err == nil {
		return requested.EscapedPath()
	}
	return r.URL.EscapedPath() // of a request that no server has received
}

// writeHTTP writes a response that is not the handler's.
func writeHTTP(w http.ResponseWriter, r *response) {
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		body, _ = base64.StdEncoding.DecodeString(r.Body) // it was encoded here, or by a handler that API Gateway has understood
	}
	maps.Copy(w.Header(), canonical(r.separate()))
	if r.Status != http.StatusOK || len(body) == 0 { // as a handler does, so that lambdaurl sees the body when it looks for a type
		w.WriteHeader(r.Status)
	}
	_, _ = w.Write(body) //nolint:gosec // the handler's own response, or a problem document; the client may be gone
}

func canonical(headers map[string][]string) http.Header {
	header := make(http.Header, len(headers))
	for name, values := range headers {
		name = http.CanonicalHeaderKey(name)
		header[name] = append(header[name], values...)
	}
	return header
}
