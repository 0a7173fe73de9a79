package client

import (
	"net/http"
	"net/url"
	"strings"
)

// origin returns the request that was redirected here, be it by way of others; the
// request itself where it was not.
func origin(r *http.Request) *http.Request {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
	}
	return r
}

// sameServer tells whether a key for one address may be sent to another: to the same
// host and port, or by TLS to the same host. [http.Client] takes a caller's headers,
// and the context, to any other.
func sameServer(from, to *url.URL) bool {
	switch {
	case from == to:
		return true
	case !strings.EqualFold(from.Hostname(), to.Hostname()):
		return false
	case from.Scheme == "http" && to.Scheme == "https":
		return true
	default:
		return from.Scheme == to.Scheme && portOf(from) == portOf(to)
	}
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}
