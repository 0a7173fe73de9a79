package client

import (
	"net/http"
	"net/url"
	"strings"
)

// beforeRedirect returns what is known of the key of a request that was redirected here;
// of any other, that it is for the server it goes to. The key may also be in the header:
// [http.Client] takes a caller's headers to wherever a redirect leads.
func (c *Config) beforeRedirect(r *http.Request) transit {
	if r.Response == nil || r.Response.Request == nil {
		return transit{home: r.URL}
	}
	if sent, ok := r.Response.Request.Context().Value(inTransit{}).(*transit); ok {
		return *sent
	}
	// Whoever is above this transport has put another request there.
	before := transit{home: r.Response.Request.URL}
	before.key, _ = KeyFrom(r.Response.Request.Context())
	if values, ok := fieldValues(r.Header, c.Header); ok && before.key == "" {
		before.key = strings.Join(values, ", ")
	}
	return before
}

// sameServer tells whether a key for one address may be sent to another: to the same
// host and port, or from there to TLS on the same port, or from port 80 to 443. [http.Client] takes a caller's headers,
// and the context, to any other.
func sameServer(from, to *url.URL) bool {
	switch {
	case from == to:
		return true
	case !strings.EqualFold(from.Hostname(), to.Hostname()):
		return false
	case from.Scheme == "http" && to.Scheme == "https" && portOf(from) == "80" && portOf(to) == "443":
		return true
	case from.Scheme == "https" && to.Scheme != "https":
		return false
	default:
		return portOf(from) == portOf(to)
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
