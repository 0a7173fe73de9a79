package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

// brittle is a server that answers GET, and breaks every connection on which it has read
// the header and body of a POST.
func brittle(t *testing.T) (url string, posts *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var connections sync.WaitGroup
	posts = new(atomic.Int64)
	connections.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() {
				defer conn.Close()
				for buffered := bufio.NewReader(conn); ; {
					r, err := http.ReadRequest(buffered)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					if r.Method == http.MethodPost {
						posts.Add(1)
						return
					}
					_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		connections.Wait()
	})
	return "http://" + listener.Addr().String(), posts
}

// net/http sends a request that has a key once more where a kept connection breaks. What
// is sent is what Tries counts.
func TestWhatTriesCountsIsWhatIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		tries  int
		body   func() io.Reader
		header []string // the caller's own
		kept   int      // connections that are kept and break
		want   []int64
	}{
		"one try":                              {tries: 1, kept: 1, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{1}},
		"one try, a reader":                    {tries: 1, kept: 1, body: func() io.Reader { return io.MultiReader(strings.NewReader("{}")) }, want: []int64{1}},
		"three tries":                          {tries: 3, kept: 1, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{3}},
		"three tries, many broken connections": {tries: 3, kept: 5, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{3}},
		"by default":                           {kept: 5, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{5}},
		"one try without a body":               {tries: 1, kept: 6, body: func() io.Reader { return http.NoBody }, want: []int64{1}},
		"three tries without a body":           {tries: 3, kept: 6, body: func() io.Reader { return http.NoBody }, want: []int64{3}},
		"by default, without a body":           {kept: 6, body: func() io.Reader { return http.NoBody }, want: []int64{5}},
		"nothing in the reader":                {tries: 2, kept: 6, body: func() io.Reader { return io.MultiReader() }, want: []int64{2}},
		"a caller's bare key":                  {tries: 2, kept: 6, header: []string{"abc"}, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{2}},
		"a caller's key with blanks":           {tries: 2, kept: 6, header: []string{` "abc" `}, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{2}},
		"a caller's key without a body":        {tries: 2, kept: 6, header: []string{"abc"}, body: func() io.Reader { return http.NoBody }, want: []int64{2}},
		"idempotent without a key":             {tries: 2, kept: 6, header: []string{}, body: func() io.Reader { return strings.NewReader("{}") }, want: []int64{2}},
		"idempotent without a key or a body":   {tries: 2, kept: 6, header: []string{}, body: func() io.Reader { return http.NoBody }, want: []int64{2}},
		"on connections that are new":          {tries: 2, body: func() io.Reader { return http.NoBody }, want: []int64{2}},
	} {
		t.Run(name, func(t *testing.T) {
			url, posts := brittle(t)
			beneath := &http.Transport{MaxIdleConnsPerHost: 10}
			defer beneath.CloseIdleConnections()
			keep(t, beneath, url, c.kept)
			var told []int
			transport := newTransport(t, client.Config{
				Transport: beneath, Tries: c.tries, FirstPause: time.Millisecond,
				OnRetry: func(_ context.Context, r client.Retry) { told = append(told, r.Tries) },
			})
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, c.body())
			if err != nil {
				t.Fatal(err)
			}
			if c.header != nil {
				r.Header["Idempotency-Key"] = c.header
			}
			if resp, err := transport.RoundTrip(r); !isOfTheConnection(err) {
				t.Errorf("got %v, %v, and not how the connection has ended", resp, err)
			}
			if sent := posts.Load(); !slices.Contains(c.want, sent) {
				t.Errorf("sent %d times, want one of %v; told %v", sent, c.want, told)
			}
			if len(told) > 0 && int64(told[len(told)-1]) >= posts.Load() {
				t.Errorf("the last retry was told after %d of %d", told[len(told)-1], posts.Load())
			}
		})
	}
}

// isOfTheConnection tells whether an error says how the server has broken a connection.
func isOfTheConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || err != nil && strings.Contains(err.Error(), "server closed idle connection")
}

// keep leaves so many idle connections to a server.
func keep(t *testing.T, beneath http.RoundTripper, url string, connections int) {
	t.Helper()
	var open []*http.Response
	var mu sync.Mutex
	var all sync.WaitGroup
	gate := make(chan struct{})
	for range connections {
		all.Go(func() {
			r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			<-gate
			resp, err := beneath.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			open = append(open, resp)
		})
	}
	close(gate)
	all.Wait()
	for _, resp := range open {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// A key stays with its server and its request, whatever the transport beneath says of the
// request that it has sent.
func TestAKeyStaysWithItsServerWhateverIsBeneath(t *testing.T) {
	elsewhere := func(ctx context.Context) *http.Request {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://evil.example/", http.NoBody)
		if err != nil {
			panic(err)
		}
		return r
	}
	for beneath, told := range map[string]func(*http.Request) *http.Request{
		"the request":                      func(r *http.Request) *http.Request { return r },
		"nothing":                          func(*http.Request) *http.Request { return nil },
		"a copy":                           func(r *http.Request) *http.Request { return r.Clone(r.Context()) },
		"a copy with a context of its own": func(r *http.Request) *http.Request { return r.Clone(context.Background()) },
		"a copy without headers": func(r *http.Request) *http.Request {
			c := r.Clone(context.Background())
			c.Header = nil
			return c
		},
		"another address":                   func(r *http.Request) *http.Request { return elsewhere(r.Context()) },
		"another address and context":       func(*http.Request) *http.Request { return elsewhere(context.Background()) },
		"a request that has a key already":  func(*http.Request) *http.Request { return elsewhere(client.WithKey(context.Background(), "k-2")) },
		"the request that was sent earlier": earlier(),
	} {
		for how, given := range map[string]func(*http.Request) *http.Request{
			"made":       func(r *http.Request) *http.Request { return r },
			"in context": func(r *http.Request) *http.Request { return r.WithContext(client.WithKey(r.Context(), "k-1")) },
			"in header": func(r *http.Request) *http.Request {
				r.Header.Set("Idempotency-Key", "k-1")
				return r
			},
		} {
			for to, allowed := range map[string]bool{
				"https://bank.example/2": true, "https://evil.example/": false, "https://bank.example:8443/": false, "http://bank.example/": false,
			} {
				t.Run(beneath+"/"+how+"/"+to, func(t *testing.T) {
					var addresses, keys []string
					httpClient := &http.Client{Transport: newTransport(t, client.Config{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
						addresses, keys = append(addresses, r.URL.String()), append(keys, strings.Trim(r.Header.Get("Idempotency-Key"), `"`))
						resp := &http.Response{StatusCode: http.StatusCreated, Header: make(http.Header), Body: http.NoBody, Request: told(r)}
						if len(addresses) == 1 {
							resp.StatusCode = http.StatusTemporaryRedirect
							resp.Header.Set("Location", to)
						}
						return resp, nil
					})})}
					for range 2 {
						addresses, keys = nil, nil
						r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://bank.example/payments", strings.NewReader("{}"))
						if err != nil {
							t.Fatal(err)
						}
						resp, err := httpClient.Do(given(r))
						if err == nil {
							resp.Body.Close()
						}
						if allowed {
							if err != nil || len(keys) != 2 || keys[0] != keys[1] {
								t.Errorf("sent to %v under %v, %v", addresses, keys, err)
							}
							if key, _ := client.KeyFrom(resp.Request.Context()); key != keys[0] {
								t.Errorf("the response is said to have the key %q, and went under %q", key, keys[0])
							}
						} else if !errors.Is(err, client.ErrKey) || len(addresses) != 1 {
							t.Errorf("sent to %v under %v, %v", addresses, keys, err)
						}
					}
				})
			}
		}
	}
}

// earlier tells each time the request before, the first time the first.
func earlier() func(*http.Request) *http.Request {
	var before *http.Request
	return func(r *http.Request) *http.Request {
		if before == nil {
			before = r
		}
		told := before
		before = r
		return told
	}
}

// A wrapper above that puts its own request into the response hides which key it had. A
// key that the caller has written into the header still goes nowhere else.
func TestAKeyInTheHeaderStaysWhateverIsAbove(t *testing.T) {
	for to, allowed := range map[string]bool{"https://bank.example/2": true, "https://evil.example/": false} {
		var addresses []string
		inner := newTransport(t, client.Config{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			addresses = append(addresses, r.URL.String())
			resp := &http.Response{StatusCode: http.StatusCreated, Header: make(http.Header), Body: http.NoBody, Request: r}
			if len(addresses) == 1 {
				resp.StatusCode = http.StatusTemporaryRedirect
				resp.Header.Set("Location", to)
			}
			return resp, nil
		})})
		httpClient := &http.Client{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(r.Clone(r.Context()))
			if resp != nil {
				resp.Request = r
			}
			return resp, err
		})}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://bank.example/payments", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "k-1")
		resp, err := httpClient.Do(r)
		if err == nil {
			resp.Body.Close()
		}
		if errors.Is(err, client.ErrKey) == allowed || (len(addresses) == 2) != allowed {
			t.Errorf("%s: sent to %v, %v", to, addresses, err)
		}
	}
}
