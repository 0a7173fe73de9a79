package httpguard_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// reading are the ways in which a handler in front can treat a body.
var reading = map[string]struct {
	read  func(*http.Request)
	taken bool // less is left than the client has sent
	part  bool // ... but not nothing
	open  bool // ... unless closing the body does nothing, as behind lambdaurl
}{
	"not at all": {read: func(*http.Request) {}},
	"all of it":  {read: func(r *http.Request) { io.Copy(io.Discard, r.Body) }, taken: true},
	"all of it, and closes it": {taken: true, read: func(r *http.Request) {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}},
	"closes it":           {read: func(r *http.Request) { r.Body.Close() }, taken: true, open: true},
	"one JSON value":      {read: func(r *http.Request) { json.NewDecoder(r.Body).Decode(new(any)) }, taken: true},
	"into a buffer":       {read: func(r *http.Request) { bufio.NewReader(r.Body).Peek(1) }, taken: true},
	"the first byte only": {read: func(r *http.Request) { r.Body.Read(make([]byte, 1)) }, taken: true, part: true},
	"and puts it back": {read: func(r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(content))
	}},
	"the first byte, and puts it back": {read: func(r *http.Request) {
		first := make([]byte, 1)
		n, _ := r.Body.Read(first)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(first[:n]), r.Body))
	}},
	"and puts less of it back, with its length": {read: func(r *http.Request) {
		io.Copy(io.Discard, r.Body)
		const less = `{}`
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(less)), int64(len(less))
	}},
	"and puts nothing back, with its length": {read: func(r *http.Request) {
		io.Copy(io.Discard, r.Body)
		r.Body, r.ContentLength = http.NoBody, 0
	}},
	"as a form": {taken: true, read: func(r *http.Request) {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.FormValue("csrf")
	}},
	"as a form with files": {taken: true, read: func(r *http.Request) {
		r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		r.FormValue("csrf")
	}},
	"as a form, and puts it back": {read: func(r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(content))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.FormValue("csrf")
		r.Body = io.NopCloser(bytes.NewReader(content))
	}},
	"as JSON that has no form": {read: func(r *http.Request) {
		r.Header.Set("Content-Type", "application/json")
		r.FormValue("csrf")
	}},
	"and makes it another one": {read: func(r *http.Request) {
		io.Copy(io.Discard, r.Body)
		r.Body = io.NopCloser(strings.NewReader(`{"the":"other, longer one"}`))
	}},
}

// A body that somebody in front has read is never compared as an empty one, whichever way
// it came: the request is refused, and nothing runs.
func TestABodyReadInFrontIsNeverComparedAsEmpty(t *testing.T) {
	const sent = `{"amount":900}`
	type way struct {
		send         func(*testing.T, http.Handler) int
		tellsParts   bool // a body of which a part is left is recognised too
		cannotBeShut bool
	}
	ways := map[string]way{
		"behind lambdaurl":            {behindLambdaURL(sent, false), true, true},
		"behind lambdaurl, as base64": {behindLambdaURL(sent, true), true, true},
	}
	for protocol, start := range protocols {
		ways[protocol+", declared"] = way{throughServer(start, func() io.Reader { return strings.NewReader(sent) }), true, false}
		ways[protocol+", of unknown length"] = way{throughServer(start, func() io.Reader { return io.MultiReader(strings.NewReader(sent)) }), false, false}
	}
	for way, w := range ways {
		for name, front := range reading {
			t.Run(way+"/"+name, func(t *testing.T) {
				var logged bytes.Buffer
				api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
					Scope: httpguard.Unscoped(), Logger: slog.New(slog.NewTextHandler(&logged, nil)),
				})
				ran := false
				guarded := api.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ran = true }))
				status := w.send(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					front.read(r)
					guarded.ServeHTTP(w, r)
				}))
				refused := front.taken && (!front.part || w.tellsParts) && (!front.open || !w.cannotBeShut)
				if want := map[bool]int{true: 500, false: 200}[refused]; status != want || ran == refused ||
					strings.Contains(logged.String(), "before the request came to the guard") != refused {
					t.Errorf("%d, has run: %t; logged %s", status, ran, &logged)
				}
			})
		}
	}
}

// What is compressed may be longer than what it says, and what unpacks it in front does
// not know how long that is.
func TestABodyUnpackedInFrontIsNoneThatWasRead(t *testing.T) {
	for _, content := range []string{`{"amount":900}`, ""} {
		unpackedInFront(t, content)
	}
}

func unpackedInFront(t *testing.T, content string) {
	t.Helper()
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	io.WriteString(packer, content)
	packer.Close()
	ways := map[string]func(*testing.T, http.Handler) int{"behind lambdaurl": behindLambdaURL(packed.String(), true)}
	for protocol, start := range protocols {
		ways[protocol] = throughServer(start, func() io.Reader { return bytes.NewReader(packed.Bytes()) })
	}
	for way, send := range ways {
		for name, limit := range map[string]func(http.ResponseWriter, io.ReadCloser) io.ReadCloser{
			"as it is": func(_ http.ResponseWriter, body io.ReadCloser) io.ReadCloser { return body },
			"with a limit": func(w http.ResponseWriter, body io.ReadCloser) io.ReadCloser {
				return http.MaxBytesReader(w, body, 100)
			},
		} {
			got := "nothing"
			guarded := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()}).
				Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					got = string(body)
				}))
			status := send(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				unpacked, err := gzip.NewReader(r.Body)
				if err != nil {
					panic(err)
				}
				r.Header.Set("Content-Encoding", "gzip") // as the client has said
				r.Body = limit(w, unpacked)
				guarded.ServeHTTP(w, r)
			}))
			if status != http.StatusOK || got != content {
				t.Errorf("%s, %s: %d, the handler has read %q", way, name, status, got)
			}
		}
	}
}

// What was packed, and read by somebody who has not put anything in its place, is gone.
func TestAPackedBodyThatWasReadIsGone(t *testing.T) {
	var packed bytes.Buffer
	gzip.NewWriter(&packed).Close()
	for way, send := range map[string]func(*testing.T, http.Handler) int{
		"behind lambdaurl": behindLambdaURL(packed.String(), true),
		"HTTP":             throughServer(func(s *httptest.Server) { s.Start() }, func() io.Reader { return bytes.NewReader(packed.Bytes()) }),
	} {
		guarded := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()}).
			Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Errorf("%s: it runs", way) }))
		status := send(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Content-Encoding", "gzip")
			io.Copy(io.Discard, r.Body)
			guarded.ServeHTTP(w, r)
		}))
		if status != http.StatusInternalServerError {
			t.Errorf("%s: %d", way, status)
		}
	}
}

func throughServer(start func(*httptest.Server), body func() io.Reader) func(*testing.T, http.Handler) int {
	return func(t *testing.T, handler http.Handler) int {
		server := httptest.NewUnstartedServer(handler)
		start(server)
		defer server.Close() // waits for the handler
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body())
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "a")
		response, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
}

func behindLambdaURL(body string, isBase64 bool) func(*testing.T, http.Handler) int {
	return func(t *testing.T, handler http.Handler) int {
		event := urlEvent(key("a", body).withDefaults())
		if isBase64 {
			event.Body, event.IsBase64Encoded = encodeAlways(body), true
		}
		response, err := lambdaurl.Wrap(handler)(t.Context(), &event)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		return response.StatusCode
	}
}

// Refusals for the key and the caller come before the body is looked at, through every
// shape: it may be large, and wrong.
func TestTheKeyAndTheCallerAreCheckedBeforeTheBody(t *testing.T) {
	body := strings.Repeat("x", 100) // more than there may be
	throughEveryShape(t, func(t *testing.T, s shape) {
		for name, test := range map[string]struct {
			request request
			status  int
		}{
			"no key":                  {request{body: body, user: "user-1"}, 400},
			"a malformed key":         {key(`"`, body), 400},
			"two keys":                {request{header: http.Header{"Idempotency-Key": {"a,b"}}, body: body, user: "user-1"}, 400},
			"a key not as published":  {key("short", body), 400},
			"nobody's":                {request{header: http.Header{"Idempotency-Key": {"long-enough"}}, body: body}, 403},
			"nothing else is refused": {key("long-enough", body), 413},
		} {
			handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
				MaxBody: 10, CheckKey: func(key string) error {
					if len(key) < 8 {
						return io.ErrShortBuffer
					}
					return nil
				},
			}), createdBy)
			if a := handle.send(t.Context(), test.request); a.status != test.status || handle.ran() != 0 {
				t.Errorf("%s: %d", name, a.status)
			}
		}
	})
}

// A client that asks before it sends a body is not told to go on with a request that is
// going to be refused.
func TestNobodyIsAskedForABodyInVain(t *testing.T) {
	for name, test := range map[string]struct {
		key    string
		length int
		status string // of the first answer
	}{
		"no key":          {"", 5, "HTTP/1.1 400 Bad Request"},
		"a malformed key": {`"`, 5, "HTTP/1.1 400 Bad Request"},
		"no caller":       {"nobody", 5, "HTTP/1.1 403 Forbidden"},
		"too large":       {"a", 11, "HTTP/1.1 413 Request Entity Too Large"},
		"as it should be": {"a", 5, "HTTP/1.1 100 Continue"},
	} {
		t.Run(name, func(t *testing.T) {
			store := persistence.NewMemory()
			api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{MaxBody: 10, Scope: httpguard.ScopeFunc("key's", func(_ context.Context, r *httpguard.Request) (string, error) {
				return strings.TrimPrefix(r.Header.Get("Idempotency-Key"), "nobody"), nil
			})})
			server := httptest.NewServer(api.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
			defer server.Close()
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n", test.length)
			if test.key != "" {
				fmt.Fprintf(conn, "Idempotency-Key: %s\r\n", test.key)
			}
			fmt.Fprint(conn, "\r\n")
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || strings.TrimSpace(line) != test.status {
				t.Errorf("the first answer is %q, %v", line, err)
			}
		})
	}
}

// Where no key is needed a request without one is passed on with its body unread, be it as
// large as it likes.
func TestABodyOfARequestWithoutAKeyIsLeftAlone(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{RunWithoutKey: true}, httpguard.Config{MaxBody: 10}), createdBy)
		if a := handle.send(t.Context(), request{body: strings.Repeat("x", 100), user: "user-1"}); a.status != http.StatusCreated {
			t.Errorf("%d", a.status)
		}
	})
}
