package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
)

// counting returns a context in which it is counted how often a request with these values
// of the key's header, or with none, is sent: the transport beneath may send it more than
// once, and others from that context.
func counting(ctx context.Context, header string, values []string, sent *atomic.Int64) context.Context {
	same := func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) } // as they are sent
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaderField: func(name string, written []string) {
		if strings.EqualFold(name, header) && slices.EqualFunc(values, written, same) {
			sent.Add(1)
		}
	}})
}

// errSpent is why the transport beneath gets no body any more. It asks for one where a kept
// connection has broken, and does not say how.
var errSpent = fmt.Errorf("client: the kept connections that the request was sent on have broken: %w", io.ErrUnexpectedEOF)

// bounded gives the transport beneath the body again for as long as the request may be
// sent, but for the last time: that is RoundTrip's to send, without another body, so that
// the transport's own error comes out.
func (c *Config) bounded(r logical, so course, sent *atomic.Int64) func() (io.ReadCloser, error) {
	left := c.left(so)
	switch {
	case r.onlyOnce: // and not to be sent under a key: net/http knows when that is safe
		return r.body.again
	case r.body.again == nil, left <= 1:
		return nil
	}
	return func() (io.ReadCloser, error) {
		if int(sent.Load()) >= left-1 {
			return nil, errSpent
		}
		return r.body.again()
	}
}

// unrepeated returns the request as [http.Transport] does not send it again by itself. It
// needs nothing from anybody to repeat one without a body, on every kept connection that
// breaks, and tells those that it may by the canonical spelling of the header's name;
// names are the same to servers in any. Other transports may read the header: they get
// the request as it is.
func (c *Config) unrepeated(try *http.Request) *http.Request {
	_, direct := c.Transport.(*http.Transport)
	name := http.CanonicalHeaderKey(c.Header)
	values, has := try.Header[name]
	if !direct || !has || try.Body != nil && try.Body != http.NoBody {
		return try
	}
	respelled := *try
	respelled.Header = try.Header.Clone()
	delete(respelled.Header, name)
	respelled.Header[strings.ToLower(name)] = values
	return &respelled
}

// stamp makes sure that a response tells the request that it belongs to, and for which
// server its key is, whatever the transport beneath has put there.
func stamp(resp *http.Response, try, beneath *http.Request) {
	switch {
	case resp.Request == nil, resp.Request == beneath:
		resp.Request = try
	case resp.Request.Context().Value(inTransit{}) != try.Context().Value(inTransit{}):
		resp.Request = resp.Request.WithContext(try.Context())
	}
}
