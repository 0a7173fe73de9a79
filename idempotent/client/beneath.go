package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// counting returns a context in which it is counted how often a request is sent under its
// key: the transport beneath may send it more than once.
func counting(ctx context.Context, header, value string, sent *atomic.Int64) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaderField: func(name string, values []string) {
		if strings.EqualFold(name, header) && len(values) == 1 && values[0] == value {
			sent.Add(1)
		}
	}})
}

// errSpent is why the transport beneath gets no body any more.
var errSpent = errors.New("client: the request may not be sent more often")

// bounded gives the transport beneath the body again for as long as the request may be
// sent; nothing at all where this is the last time, so that its own error comes out.
func (c *Config) bounded(r logical, so course, sent *atomic.Int64) func() (io.ReadCloser, error) {
	left := c.left(so)
	switch {
	case r.onlyOnce: // and not to be sent under a key: net/http knows when that is safe
		return r.body.again
	case r.body.again == nil, left <= 1:
		return nil
	}
	return func() (io.ReadCloser, error) {
		if int(sent.Load()) >= left {
			return nil, errSpent
		}
		return r.body.again()
	}
}

// stamp makes sure that a response tells the request that it belongs to, and for which
// server its key is, whatever the transport beneath has put there.
func stamp(resp *http.Response, try *http.Request) {
	switch {
	case resp.Request == nil:
		resp.Request = try
	case resp.Request.Context().Value(inTransit{}) != try.Context().Value(inTransit{}):
		resp.Request = resp.Request.WithContext(try.Context())
	}
}
