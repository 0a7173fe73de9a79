package httpguard

import (
	"errors"
	"maps"
	"net/http"
	"strings"
)

// replayedHeader tells a replay from a first response.
const replayedHeader = "Idempotent-Replayed"

// response is an HTTP response as it is recorded, in the words of Lambda's proxy
// responses, so that any shape can replay it. Cookies are not among them.
type response struct {
	Status            int                 `json:"statusCode"`
	Description       string              `json:"statusDescription,omitempty"`
	Headers           map[string]string   `json:"headers,omitempty"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders,omitempty"`
	Body              string              `json:"body,omitempty"`
	IsBase64Encoded   bool                `json:"isBase64Encoded,omitempty"`

	// Unfit, if set, is why the response can't be recorded: it is completed
	// without one.
	Unfit *unfit `json:"unfit,omitempty"`
}

// unfit keeps a response from being encoded.
type unfit struct{ reason string }

// MarshalJSON returns the reason as an error.
func (u *unfit) MarshalJSON() ([]byte, error) { return nil, errors.New(u.reason) }

// alwaysReplayed are the headers that describe the content or say where it is,
// and those that let a browser's script see it.
var alwaysReplayed = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Location",
	"Location", "Link", "ETag", "Last-Modified", "Cache-Control", "Expires", "Vary", "Retry-After",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers",
}

// neverReplayed tells whether a header belongs to one response or connection, or
// to the caller that it was made for.
func neverReplayed(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Set-Cookie", "Set-Cookie2", "Date", "Age", replayedHeader,
		"Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length",
		"Www-Authenticate", "Authentication-Info", "Authorization", "Traceparent", "Tracestate":
		return true
	}
	for _, suffix := range []string{"Request-Id", "Requestid", "Trace-Id", "Correlation-Id", "Id-2", "Apigw-Id", "Cf-Id"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return strings.HasPrefix(name, "Proxy-")
}

// replays are the names of headers that are replayed, in canonical form.
type replays map[string]bool

func newReplays(more []string) replays {
	names := make(replays)
	for _, list := range [][]string{alwaysReplayed, more} {
		for _, name := range list {
			names[http.CanonicalHeaderKey(name)] = true
		}
	}
	return names
}

// keep returns the response as it is recorded.
func (names replays) keep(r response) response {
	r.Headers, r.MultiValueHeaders = maps.Clone(r.Headers), maps.Clone(r.MultiValueHeaders)
	maps.DeleteFunc(r.Headers, func(name, _ string) bool { return !names[http.CanonicalHeaderKey(name)] })
	maps.DeleteFunc(r.MultiValueHeaders, func(name string, _ []string) bool { return !names[http.CanonicalHeaderKey(name)] })
	return r
}

// with returns the response with one more header.
func (r response) with(name, value string) response {
	r.Headers = maps.Clone(r.Headers)
	if r.Headers == nil {
		r.Headers = make(map[string]string)
	}
	r.Headers[name] = value
	return r
}

// joined returns all headers as single values, for shapes that have no others.
func (r response) joined() map[string]string {
	headers := maps.Clone(r.Headers)
	if headers == nil {
		headers = make(map[string]string)
	}
	for name, values := range r.MultiValueHeaders {
		headers[name] = strings.Join(values, ", ")
	}
	return headers
}

// separate returns all headers as lists of values, for shapes that have no others.
func (r response) separate() map[string][]string {
	headers := maps.Clone(r.MultiValueHeaders)
	if headers == nil {
		headers = make(map[string][]string)
	}
	for name, value := range r.Headers {
		if _, several := headers[name]; !several {
			headers[name] = []string{value}
		}
	}
	return headers
}

// unmarked returns the headers without the mark of a replay, which the handler
// may have got from a service behind it.
func unmarked[V any](headers map[string]V) map[string]V {
	isMark := func(name string, _ V) bool { return http.CanonicalHeaderKey(name) == replayedHeader }
	for name := range headers {
		if isMark(name, headers[name]) {
			headers = maps.Clone(headers)
			maps.DeleteFunc(headers, isMark)
			break
		}
	}
	return headers
}
