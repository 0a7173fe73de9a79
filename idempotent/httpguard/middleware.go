package httpguard

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/lambdaurl"
)

// Middleware guards a handler of net/http: behind lambdaurl, in a container or on
// a developer's machine. The handler finds the guarded call in its request's
// context.
//
// The request's body is read before the handler runs. What reads it in front of the
// guard, as FormValue does, must put it back: a body that is gone can't be compared,
// and the request is answered with 500. The response is held back
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
	request, err := a.readHTTP(w, r)
	if err != nil {
		writeHTTP(w, a.malformed(r.Context(), err))
		return
	}
	rec := newRecorder(w, r.Method, a.config.MaxBody)
	defer rec.finish()
	answer, err := a.serve(r.Context(), request, func(ctx context.Context) (response, error) {
		r := r.WithContext(ctx)
		r.Body = io.NopCloser(bytes.NewReader(request.Body))
		next.ServeHTTP(rec, r)
		rec.finish()
		return rec.response(ctx)
	})
	switch {
	case rec.streaming:
		rec.commit() // its trailers; nothing else can be said any more
	case errors.Is(err, errAbandoned):
		writeHTTP(rec.restored(), a.problem(problem{status: http.StatusServiceUnavailable, retryAfter: soon,
			title:  "The request was not finished",
			detail: "There was no time left. Repeat the request with the same key."}))
	case err != nil: // recorded by another adapter of this guard
		writeHTTP(rec.restored(), a.broken(r.Context(), err))
	case answer != nil:
		writeHTTP(rec.restored(), answer)
	default:
		rec.commit()
	}
}

// readHTTP reads the request, and its body up to the limit.
func (a *API) readHTTP(w http.ResponseWriter, r *http.Request) (*Request, error) {
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
	}
	var body bytes.Buffer
	if r.Body != nil {
		_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, int64(a.config.MaxBody)))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			return nil, errTooLarge
		}
		if err != nil {
			return nil, errBody
		}
	}
	if isTaken(r, body.Bytes()) {
		return nil, errTaken
	}
	request.Body = body.Bytes()
	return request, nil
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

// isTaken tells whether somebody in front has read the content of a request, so that
// there is nothing left of it.
func isTaken(r *http.Request, content []byte) bool {
	return len(content) == 0 && (r.ContentLength > 0 || len(r.PostForm) > 0 || r.MultipartForm != nil)
}

// writeHTTP writes a response that is not the handler's.
func writeHTTP(w http.ResponseWriter, r *response) {
	body := []byte(r.Body)
	if r.IsBase64Encoded {
		body, _ = base64.StdEncoding.DecodeString(r.Body) // it was encoded here, or by a handler that API Gateway has understood
	}
	maps.Copy(w.Header(), canonical(r.separate()))
	w.WriteHeader(r.Status)
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
