package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

func TestBodiesAreSentAgain(t *testing.T) {
	const limit = 8
	for name, c := range map[string]struct {
		content string
		length  int64 // as declared; -1 and 0 mean unknown
		getBody bool
		tries   int
		sent    int64 // the length that is sent
	}{
		"GetBody":                          {content: "0123456789", length: 10, getBody: true, tries: 3, sent: 10},
		"a reader of known length":         {content: "0123", length: 4, tries: 3, sent: 4},
		"a reader of unknown length":       {content: "0123", length: -1, tries: 3, sent: 4},
		"a file":                           {content: "0123", tries: 3, sent: 4},
		"nothing to read":                  {content: "", length: -1, tries: 3, sent: 0},
		"as much as is kept":               {content: "01234567", length: 8, tries: 3, sent: 8},
		"as much as is kept, unknown":      {content: "01234567", length: -1, tries: 3, sent: 8},
		"more than is kept":                {content: "012345678", length: 9, tries: 1, sent: 9},
		"more than is kept, unknown":       {content: "012345678", length: -1, tries: 1, sent: -1},
		"much more than is kept, a file":   {content: strings.Repeat("x", 100_000), tries: 1, sent: 0},
		"declared longer than it is":       {content: "0123", length: 5, tries: 3, sent: 5},
		"declared longer than can be kept": {content: "0123", length: 9, tries: 1, sent: 9},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{script: []answer{{status: 503}, {status: 503}, {status: 201}}}
				transport := newTransport(t, client.Config{Transport: w, MaxBody: limit})
				r, body := post(t), &content{Reader: iotest.OneByteReader(strings.NewReader(c.content))}
				r.Body, r.ContentLength, r.GetBody = body, c.length, nil
				if c.getBody {
					r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(c.content)), nil }
				}
				if _, err := transport.RoundTrip(r); err != nil {
					t.Fatal(err)
				}
				if len(w.sent) != c.tries || w.keys()[0] == "" {
					t.Errorf("%d tries under the key %s", len(w.sent), w.keys()[0])
				}
				for i, s := range w.sent {
					if s.body != c.content || s.length != c.sent {
						t.Errorf("try %d had %d bytes and declared %d", i+1, len(s.body), s.length)
					}
					if again := c.tries > 1; s.getBody != again { // net/http repeats some tries by itself
						t.Errorf("try %d can be repeated by net/http: %t", i+1, s.getBody)
					}
				}
				if body.closed != 1 {
					t.Errorf("the body is closed %d times", body.closed)
				}
			})
		})
	}
}

func TestARequestWithoutABodyIsSentAgain(t *testing.T) {
	for name, body := range map[string]io.ReadCloser{"nil": nil, "NoBody": http.NoBody} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{script: []answer{{status: 503}, {status: 201}}}
			r := post(t)
			r.Body, r.GetBody, r.ContentLength = body, nil, 0
			resp, err := newTransport(t, client.Config{Transport: w}).RoundTrip(r)
			if err != nil || resp.StatusCode != http.StatusCreated || w.sent[1].length != 0 {
				t.Errorf("%s: got %v, %v, length %d", name, resp, err, w.sent[1].length)
			}
		})
	}
}

// A request that is sent once in any case is not kept in memory: no more of it is read ahead
// than tells whether there is any. Where it has a key, the transport beneath can't repeat it
// either.
func TestABodyIsNotReadAheadForOneTry(t *testing.T) {
	getBody := func() (io.ReadCloser, error) { return nil, errors.New("not needed") }
	for name, c := range map[string]struct {
		method  string
		tries   int
		getBody func() (io.ReadCloser, error)
		again   bool // the transport beneath can have it again
	}{
		"not idempotent":              {method: "LOCK"},
		"not idempotent, one of many": {method: "LOCK", getBody: getBody, again: true},
		"one try":                     {method: "POST", tries: 1},
		"one try, one body of many":   {method: "POST", tries: 1, getBody: getBody},
	} {
		body := &content{Reader: strings.NewReader("0123")}
		transport := newTransport(t, client.Config{Tries: c.tries, Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			if (r.GetBody != nil) != c.again || r.ContentLength != -1 {
				t.Errorf("%s: sent with length %d", name, r.ContentLength)
			}
			if left, err := io.ReadAll(body); err != nil || len(left) < 3 {
				t.Errorf("%s: all but %q is read ahead, %v", name, left, err)
			}
			return &http.Response{StatusCode: http.StatusServiceUnavailable}, r.Body.Close()
		})})
		r := newRequest(t.Context(), c.method, "")
		r.Body, r.GetBody, r.ContentLength = body, c.getBody, -1
		if resp, err := transport.RoundTrip(r); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s: got %v, %v", name, resp, err)
		}
	}
}

// Content of unknown length that is none looks to a server like content that was lost.
func TestNoContentIsSaidByItsLength(t *testing.T) {
	for _, tries := range []int{0, 1, 2} {
		w := &wire{script: []answer{{status: 201}}}
		r, body := post(t), &content{Reader: strings.NewReader("")}
		r.Body, r.GetBody, r.ContentLength = body, nil, -1
		resp, err := newTransport(t, client.Config{Transport: w, Tries: tries}).RoundTrip(r)
		if err != nil || resp.StatusCode != http.StatusCreated || w.sent[0].length != 0 || body.closed != 1 {
			t.Errorf("%d tries: got %v, %v, length %d, closed %d times", tries, resp, err, w.sent[0].length, body.closed)
		}
	}
}

func TestABodyThatCantBeReadSendsNothing(t *testing.T) {
	broken := errors.New("broken disk")
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w, OnNewKey: func(*http.Request, string) error {
		t.Error("a key is made for nothing")
		return nil
	}})
	r, body := post(t), &content{Reader: iotest.ErrReader(broken)}
	r.Body, r.GetBody = body, nil
	if resp, err := transport.RoundTrip(r); resp != nil || !errors.Is(err, broken) || len(w.sent) != 0 || body.closed != 1 {
		t.Errorf("got %v, %v; %d sent, closed %d times", resp, err, len(w.sent), body.closed)
	}
}

func TestABodyThatCantBeHadAgainEndsTheTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("file is gone")
		w, pauses := &wire{script: []answer{{status: 503}}}, 0
		transport := newTransport(t, client.Config{Transport: w, OnRetry: func(context.Context, client.Retry) { pauses++ }})
		r := post(t)
		r.GetBody = func() (io.ReadCloser, error) { return nil, gone }
		if resp, err := transport.RoundTrip(r); resp != nil || !errors.Is(err, gone) || len(w.sent) != 1 || pauses != 1 {
			t.Errorf("got %v, %v after %d tries and %d pauses", resp, err, len(w.sent), pauses)
		}
	})
}

// eofWhenClosed is a body that waits for its writer, and looks complete when it is
// closed.
type eofWhenClosed struct{ closed chan struct{} }

func (b eofWhenClosed) Read([]byte) (int, error) {
	<-b.closed
	return 0, io.EOF
}

func (b eofWhenClosed) Close() error {
	select {
	case <-b.closed:
	default:
		close(b.closed)
	}
	return nil
}

func TestAContextThatEndsWhileTheBodyIsReadSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, writer := io.Pipe()
		defer writer.Close()
		for name, body := range map[string]io.ReadCloser{"a pipe": pipe, "EOF when closed": eofWhenClosed{make(chan struct{})}} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			w, began := &wire{script: []answer{{status: 201}}}, time.Now()
			r := newRequest(ctx, http.MethodPost, "")
			r.Body, r.GetBody, r.ContentLength = body, nil, -1
			resp, err := newTransport(t, client.Config{Transport: w}).RoundTrip(r)
			if resp != nil || !errors.Is(err, context.DeadlineExceeded) || len(w.sent) != 0 || time.Since(began) != time.Second {
				t.Errorf("%s: got %v, %v after %v, %d sent", name, resp, err, time.Since(began), len(w.sent))
			}
			cancel()
		}
	})
}

// closedWithTheContext is a body that must not be closed by two at once.
type closedWithTheContext struct {
	ended  <-chan struct{}
	closed int
}

func (b *closedWithTheContext) Read([]byte) (int, error) {
	<-b.ended
	return 0, context.Canceled
}

func (b *closedWithTheContext) Close() error {
	b.closed++
	return nil
}

func TestABodyIsClosedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		body := &closedWithTheContext{ended: ctx.Done()}
		r := newRequest(ctx, http.MethodPost, "")
		r.Body, r.GetBody, r.ContentLength = body, nil, -1
		_, err := newTransport(t, client.Config{Transport: &wire{script: []answer{{status: 201}}}}).RoundTrip(r)
		if !errors.Is(err, context.DeadlineExceeded) || body.closed != 1 {
			t.Errorf("%v, closed %d times", err, body.closed)
		}
	})
}

// The body of a 503 that never comes must not hold up the next try.
func TestAResponseThatStallsDoesNotHoldUpTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalled := eofWhenClosed{make(chan struct{})}
		tries := 0
		transport := newTransport(t, client.Config{FirstPause: time.Millisecond, Transport: transportFunc(func(*http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: stalled, ContentLength: -1}, nil
			}
			return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
		})})
		began := time.Now()
		resp, err := transport.RoundTrip(post(t))
		if err != nil || resp.StatusCode != http.StatusCreated || time.Since(began) > 100*time.Millisecond {
			t.Errorf("got %v, %v after %v", resp, err, time.Since(began))
		}
	})
}

// What is known to be too long is not read at all.
func TestALongResponseIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := &content{Reader: strings.NewReader(strings.Repeat("x", 1<<20))}
		tries := 0
		transport := newTransport(t, client.Config{Transport: transportFunc(func(*http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: long, ContentLength: 1 << 20}, nil
			}
			return &http.Response{StatusCode: http.StatusCreated, Body: http.NoBody}, nil
		})})
		if _, err := transport.RoundTrip(post(t)); err != nil {
			t.Fatal(err)
		}
		if left, _ := io.Copy(io.Discard, long.Reader); left != 1<<20 || long.closed != 1 {
			t.Errorf("%d bytes left, closed %d times", left, long.closed)
		}
	})
}

func TestResponsesNotReturnedAreReadAndClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := strings.Repeat("x", 1<<20)
		w := &wire{script: []answer{{status: 503, body: "not now"}, {status: 500}, {status: 429, body: huge}, {status: 201, body: "done"}}}
		resp, err := newTransport(t, client.Config{Transport: w}).RoundTrip(post(t))
		if err != nil || resp.StatusCode != http.StatusCreated {
			t.Fatal(resp, err)
		}
		for i, body := range w.given[:3] {
			left, _ := io.Copy(io.Discard, body.Reader)
			if isHuge := i == 2; body.closed != 1 || (left > 0) != isHuge || isHuge && left < 1<<19 {
				t.Errorf("response %d: %d bytes left, closed %d times", i+1, left, body.closed)
			}
		}
		if last := w.given[3]; last.ended || last.closed != 0 {
			t.Error("the last response is read or closed")
		}
	})
}
