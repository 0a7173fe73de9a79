package client_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

// pay posts a payment and returns the status and the whole answer.
func pay(ctx context.Context, httpClient *http.Client, url string) (status int, answer, key string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(`{"amount": 10}`))
	if err != nil {
		return 0, "", "", err
	}
	resp, err := httpClient.Do(r)
	if err != nil {
		return 0, "", "", err
	}
	defer resp.Body.Close()
	key, _ = client.KeyFrom(resp.Request.Context())
	read, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(read), key, err
}

func cut(http.ResponseWriter, int) bool { panic(http.ErrAbortHandler) }

func say(status int) func(http.ResponseWriter, int) bool {
	return func(w http.ResponseWriter, _ int) bool {
		w.WriteHeader(status)
		return false
	}
}

// until the n-th request, all before meet this fate.
func until(n int, fate func(http.ResponseWriter, int) bool) func(http.ResponseWriter, int) bool {
	return func(w http.ResponseWriter, came int) bool { return came >= n || fate(w, came) }
}

func TestALostReplyChargesOnce(t *testing.T) {
	for name, c := range map[string]struct {
		each, charged func(http.ResponseWriter, int) bool
		came          int
	}{
		"nothing lost":                      {came: 1},
		"connection lost before the charge": {came: 3, each: until(3, cut)},
		"connection lost after the charge":  {came: 2, charged: cut},
		"unavailable before the charge":     {came: 3, each: until(3, say(http.StatusServiceUnavailable))},
		"charged, and the gateway gave up":  {came: 2, charged: say(http.StatusBadGateway)},
		"one after the other":               {came: 3, each: until(2, cut), charged: say(http.StatusGatewayTimeout)},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bank{each: c.each, charged: c.charged}
			url, beneath := b.serve(t)
			httpClient := &http.Client{Transport: newTransport(t, client.Config{Transport: beneath, FirstPause: time.Millisecond})}
			status, answer, _, err := pay(t.Context(), httpClient, url)
			if err != nil || status != http.StatusCreated || answer != "receipt 1" {
				t.Errorf("got %d %s, %v", status, answer, err)
			}
			if b.charges != 1 || len(b.keys) != c.came || len(slices.Compact(b.keys)) != 1 {
				t.Errorf("%d charges, keys %s", b.charges, b.keys)
			}
		})
	}
}

// What breaks off in the middle of its body has been returned already. The caller
// repeats it, with the key that it reads from the response.
func TestAReplyBrokenOffIsRepeatedByItsCaller(t *testing.T) {
	b := &bank{charged: func(w http.ResponseWriter, n int) bool {
		w.Header().Set("Content-Length", "9")
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "rec")
		w.(http.Flusher).Flush()
		return cut(w, n)
	}}
	url, beneath := b.serve(t)
	httpClient := &http.Client{Transport: newTransport(t, client.Config{Transport: beneath})}
	status, answer, key, err := pay(t.Context(), httpClient, url)
	if err == nil || status != http.StatusCreated || answer != "rec" {
		t.Fatalf("got %d %s, %v", status, answer, err)
	}
	if _, answer, _, err = pay(client.WithKey(t.Context(), key), httpClient, url); err != nil || answer != "receipt 1" {
		t.Errorf("got %s, %v", answer, err)
	}
	if b.charges != 1 {
		t.Errorf("%d charges", b.charges)
	}
}

// A program that crashed after it had stored its key, and starts again.
func TestAKeyThatWasKeptSurvivesItsProgram(t *testing.T) {
	b := &bank{}
	url, beneath := b.serve(t)
	var kept string
	first := &http.Client{Transport: newTransport(t, client.Config{Transport: beneath, OnNewKey: func(_ *http.Request, key string) error {
		kept = key
		return nil
	}})}
	if _, _, _, err := pay(t.Context(), first, url); err != nil {
		t.Fatal(err)
	}
	second := &http.Client{Transport: newTransport(t, client.Config{Transport: beneath})}
	if _, answer, _, err := pay(client.WithKey(t.Context(), kept), second, url); err != nil || answer != "receipt 1" || b.charges != 1 {
		t.Errorf("got %s, %v, %d charges", answer, err, b.charges)
	}
}

func TestRequestsOfManyCallersDontMix(t *testing.T) {
	every := func(n int) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, came int) bool { return came%n != 0 || cut(w, came) }
	}
	b := &bank{each: every(3), charged: every(5)}
	url, beneath := b.serve(t)
	httpClient := &http.Client{Transport: newTransport(t, client.Config{Transport: beneath, Tries: 1 << 10,
		FirstPause: time.Millisecond, MaxPause: time.Millisecond})}
	const callers = 64
	var wg sync.WaitGroup
	answers := make([]string, callers)
	for i := range callers {
		wg.Go(func() {
			status, answer, _, err := pay(t.Context(), httpClient, url)
			answers[i] = answer
			if err != nil || status != http.StatusCreated {
				t.Error(status, answer, err)
			}
		})
	}
	wg.Wait()
	slices.Sort(answers)
	if b.charges != callers || len(slices.Compact(answers)) != callers {
		t.Errorf("%d charges for %d callers", b.charges, callers)
	}
}

// net/http follows a redirect with a new request that has the caller's headers, and
// not the key.
func TestARedirectKeepsTheKey(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		withKey bool // at the end
	}{
		"307": {http.StatusTemporaryRedirect, true},
		"308": {http.StatusPermanentRedirect, true},
		"303": {http.StatusSeeOther, false},
		"302": {http.StatusFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if keys = append(keys, r.Header.Get("Idempotency-Key")); len(keys) < 3 {
					http.Redirect(w, r, "/moved", c.status)
				}
			}))
			defer here.Close()

			made := 0
			httpClient := &http.Client{Transport: newTransport(t, client.Config{Transport: here.Client().Transport,
				OnNewKey: func(*http.Request, string) error { made++; return nil }})}
			if _, _, _, err := pay(t.Context(), httpClient, here.URL); err != nil {
				t.Fatal(err)
			}
			if len(keys) != 3 || keys[0] == "" || made != 1 {
				t.Fatalf("keys %q, %d made", keys, made)
			}
			for _, key := range keys[1:] {
				if c.withKey && key != keys[0] || !c.withKey && key != "" {
					t.Errorf("keys %q", keys)
				}
			}
		})
	}
}

// net/http takes headers and context to wherever a redirect leads. The key stays with
// its server: what needs it is not sent elsewhere, what needs none goes without.
func TestAKeyDoesNotFollowARedirectToAnotherServer(t *testing.T) {
	const bank = "https://bank.example/payments"
	for name, c := range map[string]struct {
		from   string // bank where it is empty
		to     []string
		status int
		sent   []string // to which addresses of to
		keys   int      // how many of those requests have the key
		fails  bool
	}{
		"another host":               {to: []string{"https://evil.example/"}, status: 307, fails: true},
		"a host beneath":             {to: []string{"https://eu.bank.example/"}, status: 308, fails: true},
		"another port":               {to: []string{"https://bank.example:8443/"}, status: 307, fails: true},
		"clear text":                 {to: []string{"http://bank.example/payments"}, status: 307, fails: true},
		"a GET elsewhere":            {to: []string{"https://shop.example/thanks"}, status: 303, sent: []string{"https://shop.example/thanks"}},
		"a GET further on elsewhere": {to: []string{"https://shop.example/1", "https://shop.example/2"}, status: 303, sent: []string{"https://shop.example/1", "https://shop.example/2"}},
		"elsewhere by way of itself": {to: []string{"https://bank.example/2", "https://evil.example/"}, status: 307, sent: []string{"https://bank.example/2"}, keys: 1, fails: true},
		"the same port, spelt out":   {to: []string{"https://BANK.example:443/2"}, status: 307, sent: []string{"https://BANK.example:443/2"}, keys: 1},
		"to TLS on another port":     {from: "http://bank.example/payments", to: []string{"https://bank.example:8443/"}, status: 307, fails: true},
		"to TLS from another port":   {from: "http://bank.example:8080/payments", to: []string{bank}, status: 307, fails: true},
		"to TLS on the same port":    {from: "http://bank.example:8443/payments", to: []string{"https://bank.example:8443/payments"}, status: 307, sent: []string{"https://bank.example:8443/payments"}, keys: 1},
		"to TLS":                     {from: "http://bank.example/payments", to: []string{bank}, status: 308, sent: []string{bank}, keys: 1},
	} {
		for how, given := range map[string]func(*http.Request) *http.Request{
			"made":       func(r *http.Request) *http.Request { return r },
			"in context": func(r *http.Request) *http.Request { return r.WithContext(client.WithKey(r.Context(), "k-1")) },
			"in header": func(r *http.Request) *http.Request {
				r.Header["idempotency-key"] = []string{"k-1"}
				return r
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				var sent []string
				keys := 0
				transport := newTransport(t, client.Config{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
					if sent = append(sent, r.URL.String()); len(sent) > 1 {
						for field := range r.Header {
							if strings.EqualFold(field, "Idempotency-Key") {
								keys++
							}
						}
					}
					resp := &http.Response{StatusCode: http.StatusCreated, Header: make(http.Header), Body: http.NoBody, Request: r}
					if len(sent) <= len(c.to) {
						resp.StatusCode = c.status
						resp.Header.Set("Location", c.to[len(sent)-1])
					}
					return resp, nil
				})})
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cmp.Or(c.from, bank), strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := (&http.Client{Transport: transport}).Do(given(r))
				if err == nil {
					resp.Body.Close()
				}
				if errors.Is(err, client.ErrKey) != c.fails || err != nil && !c.fails {
					t.Errorf("ends with %v", err)
				}
				if !slices.Equal(sent[1:], c.sent) || keys != c.keys {
					t.Errorf("sent to %v, %d with a key", sent[1:], keys)
				}
			})
		}
	}
}

// A body that is read ahead still has its trailers, which its reader fills in.
func TestTrailersAreSent(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body)+" "+r.Trailer.Get("Digest"))
		if len(got) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	transport := newTransport(t, client.Config{Transport: server.Client().Transport, FirstPause: time.Millisecond})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Trailer = http.Header{"Digest": nil}
	r.ContentLength = -1
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("content"), atEnd(func() { r.Trailer.Set("Digest", "d-1") })))
	resp, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if want := []string{"content d-1", "content d-1"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

type atEnd func()

func (f atEnd) Read([]byte) (int, error) {
	f()
	return 0, io.EOF
}

// idleTransport knows whether it was asked to close what is idle.
type idleTransport struct {
	http.RoundTripper
	closed int
}

func (i *idleTransport) CloseIdleConnections() { i.closed++ }

func TestIdleConnectionsBeneathCanBeClosed(t *testing.T) {
	beneath := &idleTransport{}
	for _, transport := range []http.RoundTripper{beneath, &wire{}} {
		(&http.Client{Transport: newTransport(t, client.Config{Transport: transport})}).CloseIdleConnections()
	}
	if beneath.closed != 1 {
		t.Errorf("asked %d times", beneath.closed)
	}
}

// A connection is used again for the next try, because the response before has
// been read.
func TestOneConnectionIsEnough(t *testing.T) {
	connections := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, strings.Repeat("not now ", 1000))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections++
		}
	}
	server.Start()
	defer server.Close()
	httpClient := &http.Client{Transport: newTransport(t, client.Config{Transport: server.Client().Transport, FirstPause: time.Millisecond})}
	if status, _, _, err := pay(t.Context(), httpClient, server.URL); err != nil || status != http.StatusServiceUnavailable || connections != 1 {
		t.Errorf("got %d, %v over %d connections", status, err, connections)
	}
}
