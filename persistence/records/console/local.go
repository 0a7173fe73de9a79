package console

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Local serves a console on one's own machine until the context ends: on a loopback address,
// and only to who has the address that it calls ready with, which has a random token. The
// browser gets the token as a cookie and shows an address without it.
//
// Requests for any other host name are refused, also where such a name leads here (DNS
// rebinding), and so are those that come from pages of other origins. The token is in no log.
// The error matches [ErrConfig] where the listener is not on a loopback address.
func Local(ctx context.Context, listener net.Listener, console http.Handler, ready func(address string)) error {
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil || !address.Addr().IsLoopback() {
		return errors.Join(fault("the listener is not on a loopback address"), listener.Close())
	}
	l := newLocal(address, console)
	server := &http.Server{
		Handler:           l,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		stopped <- server.Shutdown(wait)
	})
	defer stop()
	ready(l.address())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}

// local lets nobody through but the browser that was given the token.
type local struct {
	token string
	path  string // of the page; random
	host  netip.AddrPort
	names map[string]bool // that the server is called by
	next  http.Handler
}

func newLocal(host netip.AddrPort, next http.Handler) *local {
	_, port, _ := net.SplitHostPort(host.String())
	path := "/" + rand.Text()
	return &local{
		token: rand.Text(),
		path:  path + "/",
		host:  host,
		names: map[string]bool{host.String(): true, net.JoinHostPort("localhost", port): true},
		next:  http.StripPrefix(path, next),
	}
}

// address is where a browser is let in.
func (l *local) address() string {
	return "http://" + l.host.String() + "/?token=" + l.token
}

// cookie has the port in its name: browsers send cookies to every port of a host.
func (l *local) cookie() string {
	_, port, _ := net.SplitHostPort(l.host.String())
	return "ikkai-console-" + port
}

func (l *local) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !l.names[r.Host]:
		problem(w, http.StatusMisdirectedRequest, "wrong_host", "This server has another name.")
	case !l.own(r.Header.Get("Origin")):
		problem(w, http.StatusForbidden, "wrong_origin", "Requests of other pages are refused.")
	case l.matches(r.URL.Query().Get("token")) && r.Method == http.MethodGet:
		http.SetCookie(w, &http.Cookie{Name: l.cookie(), Value: l.token, Path: l.path, HttpOnly: true, SameSite: http.SameSiteStrictMode}) //nolint:gosec // there is no TLS on loopback
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Location", l.path)
		w.WriteHeader(http.StatusSeeOther)
	case !strings.HasPrefix(r.URL.Path, l.path), !l.known(r):
		problem(w, http.StatusUnauthorized, "no_token", "Open the address that the command has printed: it has a token.")
	default:
		l.next.ServeHTTP(w, r)
	}
}

// own tells whether an origin is this server's, or not given.
func (l *local) own(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && l.names[u.Host]
}

func (l *local) known(r *http.Request) bool {
	cookie, err := r.Cookie(l.cookie())
	return err == nil && l.matches(cookie.Value)
}

func (l *local) matches(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(l.token)) == 1
}
