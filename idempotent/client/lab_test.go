package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

// wire is a transport that answers from a script, the last line of it for ever,
// and remembers what it was sent.
type wire struct {
	mu     sync.Mutex
	script []answer
	sent   []sent
	given  []*content
}

type answer struct {
	status int
	header map[string]string
	body   string
	err    error // instead of a response
}

type sent struct {
	at      time.Time
	header  http.Header
	body    string
	length  int64
	getBody bool // whether it can be had again
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := sent{at: time.Now(), header: r.Header.Clone(), length: r.ContentLength, getBody: r.GetBody != nil}
	if r.Body != nil {
		read, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, err
		}
		s.body = string(read)
	}
	w.sent = append(w.sent, s)
	a := w.script[min(len(w.sent), len(w.script))-1]
	if a.err != nil {
		return nil, a.err
	}
	given := &content{Reader: strings.NewReader(a.body)}
	w.given = append(w.given, given)
	header := make(http.Header)
	for name, value := range a.header {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: given}, nil
}

// keys are the values of the header, in the order of the tries.
func (w *wire) keys() []string {
	var keys []string
	for _, s := range w.sent {
		keys = append(keys, strings.Join(s.header["Idempotency-Key"], " and "))
	}
	return keys
}

// pauses are the times between the tries.
func (w *wire) pauses() []time.Duration {
	var pauses []time.Duration
	for i := 1; i < len(w.sent); i++ {
		pauses = append(pauses, w.sent[i].at.Sub(w.sent[i-1].at))
	}
	return pauses
}

// content is a body that knows whether it was read and closed.
type content struct {
	io.Reader
	ended  bool
	closed int
}

func (c *content) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.ended = c.ended || err == io.EOF
	return n, err
}

func (c *content) Close() error {
	c.closed++
	return nil
}

func newTransport(t testing.TB, c client.Config) *client.Transport {
	t.Helper()
	transport, err := client.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return transport
}

func newRequest(ctx context.Context, method, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, "http://pay.example/payments", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	return r
}

func post(t testing.TB) *http.Request {
	t.Helper()
	return newRequest(t.Context(), http.MethodPost, `{"amount": 10}`)
}
