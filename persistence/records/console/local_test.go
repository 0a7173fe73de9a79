package console_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/ikkai-go/idempotency/persistence/records/console"
)

// serve serves a console on this machine until the test ends, and returns the address with its
// token.
func serve(t *testing.T, handler http.Handler) *url.URL {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- console.Local(ctx, listener, handler, func(address string) { ready <- address }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	address, err := url.Parse(<-ready)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func TestOnOnesOwnMachineOnlyTheBrowserWithTheTokenIsLetIn(t *testing.T) {
	address := serve(t, newLab(t, console.Config{Access: everybodyWrites}).handler)
	token := address.Query().Get("token")
	jar, _ := cookiejar.New(nil)
	home := homeOf(t, address)
	for _, test := range []struct {
		name   string
		path   string
		cookie string
		change func(*http.Request)
		status int
	}{
		{name: "without a token", path: "/", status: http.StatusUnauthorized},
		{name: "the API without a token", path: "/api/records", status: http.StatusUnauthorized},
		{name: "with a wrong token", path: "/?token=guess", status: http.StatusUnauthorized},
		{name: "with an empty token", path: "/?token=", status: http.StatusUnauthorized},
		{name: "with a wrong cookie", path: home + "", cookie: "guess", status: http.StatusUnauthorized},
		{name: "by a name that leads here", path: home + "", cookie: token, change: func(r *http.Request) { r.Host = "evil.example:" + address.Port() }, status: http.StatusMisdirectedRequest},
		{name: "by a name with the token", path: "/?token=" + token, change: func(r *http.Request) { r.Host = "evil.example" }, status: http.StatusMisdirectedRequest},
		{name: "by another port", path: home + "", cookie: token, change: func(r *http.Request) { r.Host = "127.0.0.1:1" }, status: http.StatusMisdirectedRequest},
		{name: "from a page of another origin", path: home + "api/about", cookie: token, change: func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, status: http.StatusForbidden},
		{name: "from a page of no origin", path: home + "api/about", cookie: token, change: func(r *http.Request) { r.Header.Set("Origin", "null") }, status: http.StatusForbidden},
		{name: "with the token, as a POST", path: "/?token=" + token, change: func(r *http.Request) { r.Method = http.MethodPost }, status: http.StatusUnauthorized},
		{name: "with the cookie, and not below its path", path: "/api/about", cookie: token, status: http.StatusUnauthorized},
		{name: "below the path, without a cookie", path: home, status: http.StatusUnauthorized},
		{name: "with the cookie", path: home + "api/about", cookie: token, status: http.StatusOK},
		{name: "as localhost", path: home + "api/about", cookie: token, change: func(r *http.Request) { r.Host = "localhost:" + address.Port() }, status: http.StatusOK},
		{name: "from its own page", path: home + "api/about", cookie: token, change: func(r *http.Request) { r.Header.Set("Origin", "http://"+address.Host) }, status: http.StatusOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.Host+test.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if test.cookie != "" {
				r.AddCookie(&http.Cookie{Name: "ikkai-console-" + address.Port(), Value: test.cookie})
			}
			if test.change != nil {
				test.change(r)
			}
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != test.status {
				t.Errorf("answers %d, want %d", response.StatusCode, test.status)
			}
		})
	}
	t.Run("the token becomes a cookie, and leaves the address", func(t *testing.T) {
		client := &http.Client{Jar: jar}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address.String(), nil)
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Request.URL.RawQuery != "" {
			t.Errorf("the page is %s: %d", response.Request.URL, response.StatusCode)
		}
		cookie := response.Request.Response.Header.Get("Set-Cookie")
		// Browsers send cookies to all ports of a host: what else is served there must not know the path.
		if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || !strings.Contains(cookie, "Path="+home+";") || len(home) < 20 {
			t.Errorf("the cookie is %q", cookie)
		}
	})
}

// homeOf is where the browser is sent that has the token, wherever it was on its way to.
func homeOf(t *testing.T, address *url.URL) string {
	t.Helper()
	var homes []string
	for _, path := range []string{"/", "//evil.example/", "/\\evil.example/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address.String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = "//" + address.Host + path
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		homes = append(homes, response.Header.Get("Location"))
	}
	if homes[1] != homes[0] || homes[2] != homes[0] {
		t.Errorf("the browser is sent to %q", homes)
	}
	return homes[0]
}

func TestOnOnesOwnMachineMeansLoopback(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	err = console.Local(t.Context(), listener, http.NotFoundHandler(), func(string) { t.Error("it serves") })
	if !errors.Is(err, console.ErrConfig) {
		t.Errorf("a listener that others reach gives %v", err)
	}
}
