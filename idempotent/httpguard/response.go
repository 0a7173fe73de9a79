package httpguard

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// The marks of the guard. replayedHeader tells a replay from a first response;
// expiresHeader says until when the key is kept, on both.
const (
	replayedHeader = "Idempotent-Replayed"
	expiresHeader  = "Idempotency-Key-Expires"
)

// isMark tells whether a header is one of these, which a handler may have got from a
// service behind it.
func isMark(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return name == replayedHeader || name == expiresHeader
}

// httpDate is a time in a header (RFC 9110, section 5.6.7): whole seconds, not later.
func httpDate(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

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

// with returns the response with a body, or with why that is not recorded: it is larger than
// the limit, or, by the length that the handler has declared (if it is not -1), not the whole.
func (r response) with(body []byte, overflown bool, limit int, declared int64) response {
	switch {
	case overflown:
		r.Unfit = &unfit{fmt.Sprintf("httpguard: the response has more than %d bytes", limit)}
	case int64(len(body)) < declared:
		r.Unfit = &unfit{fmt.Sprintf("httpguard: the response has %d bytes of the %d that it has declared", len(body), declared)}
	case utf8.Valid(body):
		r.Body = string(body)
	default:
		r.Body, r.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return r
}

// alwaysReplayed are the headers that describe the content or say where it is, and
// those that let a browser's script see it, as far as they are for the same origin.
var alwaysReplayed = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Disposition", "Content-Location",
	"Location", "Link", "ETag", "Last-Modified", "Cache-Control", "Expires", "Vary", "Retry-After", "X-Content-Type-Options",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers",
}

// neverReplayed tells whether a header belongs to one response or connection, or
// to the caller that it was made for.
func neverReplayed(name string) bool {
	name = http.CanonicalHeaderKey(name)
	switch name {
	case "Set-Cookie", "Set-Cookie2", "Date", "Age", replayedHeader, expiresHeader,
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

// keep returns the response as it is recorded. A name without values is one that must not
// be sent, whatever it is.
func (names replays) keep(r response) response {
	r.Headers, r.MultiValueHeaders = maps.Clone(r.Headers), maps.Clone(r.MultiValueHeaders)
	maps.DeleteFunc(r.Headers, func(name, _ string) bool { return !names[http.CanonicalHeaderKey(name)] })
	maps.DeleteFunc(r.MultiValueHeaders, func(name string, values []string) bool {
		return len(values) > 0 && !names[http.CanonicalHeaderKey(name)]
	})
	return r
}

// forOrigin returns a recorded response as it may be answered to a request: without what
// allows it to the page of another origin.
func (r response) forOrigin(request *Request) response {
	origin := request.Header["Origin"]
	allowed := canonical(r.separate())["Access-Control-Allow-Origin"]
	if len(allowed) == 0 || len(allowed) == 1 && (allowed[0] == "*" || slices.Equal(allowed, origin)) {
		return r
	}
	return r.without(isOfCORS)
}

// isOfCORS tells whether a header lets the page of one origin see a response.
func isOfCORS(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return strings.HasPrefix(name, "Access-Control-") || name == "Timing-Allow-Origin"
}

// without returns the response without the headers that drop names.
func (r response) without(drop func(name string) bool) response {
	r.Headers, r.MultiValueHeaders = maps.Clone(r.Headers), maps.Clone(r.MultiValueHeaders)
	maps.DeleteFunc(r.Headers, func(name, _ string) bool { return drop(name) })
	maps.DeleteFunc(r.MultiValueHeaders, func(name string, _ []string) bool { return drop(name) })
	return r
}

// withHeader returns the response with these values of a header, and no others.
func (r response) withHeader(name string, values ...string) response {
	r = r.without(func(present string) bool { return strings.EqualFold(present, name) })
	if len(values) == 1 {
		r.Headers = with(r.Headers, name, values[0])
	} else {
		r.MultiValueHeaders = with(r.MultiValueHeaders, name, values)
	}
	return r
}

// withoutEmpty returns the response without the names that have no values, which say
// nothing outside of net/http.
func (r response) withoutEmpty() response {
	r.MultiValueHeaders = maps.Clone(r.MultiValueHeaders)
	maps.DeleteFunc(r.MultiValueHeaders, func(_ string, values []string) bool { return len(values) == 0 })
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

// unmarked returns the headers without the guard's marks. It leaves the map alone, which
// may be shared.
func unmarked[V any](headers map[string]V) map[string]V {
	for name := range headers {
		if isMark(name) {
			headers = maps.Clone(headers)
			maps.DeleteFunc(headers, func(name string, _ V) bool { return isMark(name) })
			break
		}
	}
	return headers
}
