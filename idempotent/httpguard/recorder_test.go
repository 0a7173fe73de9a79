package httpguard_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

// site is a guarded handler behind a real server.
type site struct {
	*httptest.Server
	store *persistence.Memory
	t     *testing.T
}

func newSite(t *testing.T, config httpguard.Config, handle http.HandlerFunc) *site {
	t.Helper()
	store := persistence.NewMemory()
	config.Scope = httpguard.Unscoped()
	api := shapes[0].newAPI(t, store, idempotent.Config{}, config)
	s := &site{Server: httptest.NewUnstartedServer(api.Middleware(handle)), store: store, t: t}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// post sends a request with the key "a".
func (s *site) post(ctx context.Context, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/payments", body)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", `"a"`)
	return s.Client().Do(r)
}

// answer sends a request and reads the answer.
func (s *site) answer() (*http.Response, string) {
	s.t.Helper()
	r, err := s.post(s.t.Context(), http.NoBody)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return r, string(body)
}

// wantStatuses waits until the handler has let go of its record.
func (s *site) wantStatuses(want ...persistence.Status) {
	s.t.Helper()
	s.Close() // waits for the handlers
	if got := statuses(s.store); !slices.Equal(got, want) {
		s.t.Errorf("the records are %v, want %v", got, want)
	}
}

const completed = persistence.StatusCompleted

// Report 49: a lock was released on one of the ways out of a handler only.
func TestReport49EveryWayOutOfAHandlerSettlesTheRecord(t *testing.T) {
	tests := map[string]struct {
		handle  http.HandlerFunc
		status  int // 0 where the connection breaks
		body    string
		records []persistence.Status
		replay  string // the body that the retry gets, if it is a replay
		then    int    // what the retry gets after a connection that broke, if it gets something
	}{
		"writes nothing": {
			handle: func(http.ResponseWriter, *http.Request) {},
			status: 200, records: []persistence.Status{completed},
		},
		"writes without a status": {
			handle: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") },
			status: 200, body: "hello", records: []persistence.Status{completed}, replay: "hello",
		},
		"writes a status only": {
			handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
			status: 204, records: []persistence.Status{completed},
		},
		"writes where there is no body": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
				if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
					panic(err)
				}
			},
			status: 204, records: []persistence.Status{completed},
		},
		"writes two statuses": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				w.WriteHeader(http.StatusInternalServerError)
			},
			status: 201, records: []persistence.Status{completed},
		},
		"fails": {
			handle: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) },
			status: 503, body: "down\n",
		},
		"flushes and streams": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				for part := range 3 {
					fmt.Fprint(w, part)
					w.(http.Flusher).Flush()
				}
			},
			status: 200, body: "012", records: []persistence.Status{completed}, replay: "012",
		},
		"flushes before it writes": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).Flush(); err != nil {
					panic(err)
				}
				io.WriteString(w, "late")
			},
			status: 200, body: "late", records: []persistence.Status{completed}, replay: "late",
		},
		"flushes a failure": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusInternalServerError)
				w.(http.Flusher).Flush()
				io.WriteString(w, "oh")
			},
			status: 500, body: "oh",
		},
		"copies from a reader": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				if _, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("copied")); err != nil {
					panic(err)
				}
			},
			status: 200, body: "copied", records: []persistence.Status{completed}, replay: "copied",
		},
		"writes less than it has declared": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "5")
				io.WriteString(w, "hell")
			},
			records: []persistence.Status{completed}, then: http.StatusConflict,
		},
		"flushes less than it has declared": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "5")
				io.WriteString(w, "hell")
				w.(http.Flusher).Flush()
			},
			records: []persistence.Status{completed}, then: http.StatusConflict,
		},
		"writes more than it has declared": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "5")
				io.WriteString(w, "hello")
				for range 2 {
					if _, err := io.WriteString(w, "\n"); !errors.Is(err, http.ErrContentLength) {
						panic(err)
					}
				}
			},
			status: 200, body: "hello", records: []persistence.Status{completed}, replay: "hello",
		},
		"declares a length that is none": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "five")
				io.WriteString(w, "hello")
			},
			status: 200, body: "hello", records: []persistence.Status{completed}, replay: "hello",
		},
		"declares what is not there": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "5")
				w.WriteHeader(http.StatusNotModified)
			},
			status: 304,
		},
		"aborts": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				panic(http.ErrAbortHandler)
			},
		},
		"aborts a stream": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			},
		},
		"panics": {
			handle: func(http.ResponseWriter, *http.Request) { panic("oh") },
		},
		"has an invalid status": {
			handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(7) },
		},
		"hijacks": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				_, _, err := w.(http.Hijacker).Hijack()
				_, _, again := http.NewResponseController(w).Hijack()
				if !errors.Is(err, http.ErrNotSupported) || !errors.Is(again, http.ErrNotSupported) {
					panic("hijacked")
				}
				http.Error(w, err.Error(), http.StatusInternalServerError)
			},
			status: 500, body: "httpguard: a guarded connection can't be hijacked: feature not supported\n",
		},
		"switches protocols": {
			handle: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Upgrade", "x")
				w.Header().Set("Connection", "Upgrade")
				w.WriteHeader(http.StatusSwitchingProtocols)
			},
			status: 101,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, httpguard.Config{}, test.handle)
			for try := range 2 {
				r, err := s.post(t.Context(), http.NoBody)
				if err != nil {
					if test.status != 0 {
						t.Fatal(err)
					}
					continue
				}
				var body []byte
				if r.StatusCode != http.StatusSwitchingProtocols { // which is a connection from now on
					body, err = io.ReadAll(r.Body)
				}
				r.Body.Close()
				if test.status == 0 {
					if try == 1 && test.then != 0 {
						if err != nil || r.StatusCode != test.then {
							t.Errorf("the retry gets %d, %v", r.StatusCode, err)
						}
						continue
					}
					if err == nil {
						t.Errorf("the connection does not break, and the client gets %d %q", r.StatusCode, body)
					}
					continue
				}
				if r.StatusCode != test.status || string(body) != test.body {
					t.Errorf("try %d: %d %q", try, r.StatusCode, body)
				}
				replayed := r.Header.Get("Idempotent-Replayed") == "true"
				if replayed != (try == 1 && len(test.records) > 0) {
					t.Errorf("try %d: replayed is %t", try, replayed)
				}
			}
			s.wantStatuses(test.records...)
		})
	}
}

// A client that goes away takes nothing with it: what the handler answers is
// recorded, and where it gives up the record is released.
func TestReport49AClientThatIsGoneLeavesNoLock(t *testing.T) {
	stop := func(w http.ResponseWriter) { w.(http.Flusher).Flush() }
	tests := map[string]struct {
		handle  func(http.ResponseWriter)
		after   func(http.ResponseWriter)
		records []persistence.Status
		retry   int
		body    string
	}{
		"gives up":               {after: func(http.ResponseWriter) {}, retry: 200},
		"gives up with an error": {after: func(w http.ResponseWriter) { http.Error(w, "gone", http.StatusServiceUnavailable) }, retry: 200},
		"finishes": {after: func(w http.ResponseWriter) { w.WriteHeader(http.StatusCreated); io.WriteString(w, "done") },
			records: []persistence.Status{completed}, retry: 201, body: "done"},
		// Nobody knows whether that was all.
		"stops a stream": {handle: stop, after: func(w http.ResponseWriter) { io.WriteString(w, "half") },
			records: []persistence.Status{completed}, retry: 409},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan struct{})
			runs := 0
			s := newSite(t, httpguard.Config{}, func(w http.ResponseWriter, r *http.Request) {
				if runs++; runs > 1 {
					return
				}
				if test.handle != nil {
					test.handle(w)
				}
				close(started)
				<-r.Context().Done()
				test.after(w)
			})
			settled := s.Config.Handler
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("First") != "" {
					defer close(ended)
				}
				settled.ServeHTTP(w, r)
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/payments", http.NoBody)
			r.Header.Set("Idempotency-Key", "a")
			r.Header.Set("First", "yes")
			if response, err := s.Client().Do(r); err == nil {
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
			<-ended
			if got := statuses(s.store); !slices.Equal(got, test.records) {
				t.Errorf("the records are %v", got)
			}
			if r, body := s.answer(); r.StatusCode != test.retry || test.body != "" && body != test.body {
				t.Errorf("the retry gets %d %q", r.StatusCode, body)
			}
		})
	}
}

// A client that is gone in the middle of a stream does not stop the handler, and
// its next try gets all of it.
func TestReport49WritesToAClientThatIsGoneAreRecorded(t *testing.T) {
	store := persistence.NewMemory()
	api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	guarded := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 3 {
			if _, err := io.WriteString(w, "part "); err != nil {
				t.Errorf("the handler is told %v", err)
			}
			w.(http.Flusher).Flush()
		}
	}))
	guarded.ServeHTTP(deaf{httptest.NewRecorder()}, key("a", "").httpRequest(t.Context()))
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, key("a", "").httpRequest(t.Context()))
	if w.Body.String() != "part part part " || w.Header().Get("Idempotent-Replayed") != "true" {
		t.Errorf("the retry gets %d %q", w.Code, w.Body)
	}
}

// deaf fails to write.
type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestReport49WritingAfterTheReturnFails(t *testing.T) {
	returned, written := make(chan struct{}), make(chan error, 4)
	s := newSite(t, httpguard.Config{}, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "in time")
		go func() {
			<-returned
			_, err := w.Write([]byte(" too late"))
			written <- err
			_, err = io.WriteString(w, " too late")
			written <- err
			written <- http.NewResponseController(w).Flush()
			w.WriteHeader(http.StatusEarlyHints)
			w.(http.Flusher).Flush()
			_, err = io.Copy(w, strings.NewReader(" too late"))
			written <- err
		}()
	})
	r, body := s.answer()
	close(returned)
	if r.StatusCode != http.StatusOK || body != "in time" {
		t.Errorf("%d %q", r.StatusCode, body)
	}
	for range 4 {
		if err := <-written; err == nil {
			t.Error("a write after the return has succeeded")
		}
	}
	if _, body := s.answer(); body != "in time" {
		t.Errorf("replayed as %q", body)
	}
	s.wantStatuses(completed)
}

// What is too large to be held is passed on and completed without a response, so
// that it does not run again.
func TestReport49AResponseTooLargeIsPassedOn(t *testing.T) {
	for name, parts := range map[string][]string{
		"at once":  {strings.Repeat("x", 101)},
		"in parts": {strings.Repeat("x", 60), strings.Repeat("x", 60), "the end"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, httpguard.Config{MaxBody: 100}, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusCreated)
				for _, part := range parts {
					io.WriteString(w, part)
				}
			})
			if r, body := s.answer(); r.StatusCode != http.StatusCreated || body != strings.Join(parts, "") {
				t.Errorf("%d and %d bytes", r.StatusCode, len(body))
			}
			if r, _ := s.answer(); r.StatusCode != http.StatusConflict || r.Header.Get("Retry-After") != "" {
				t.Errorf("the retry gets %d", r.StatusCode)
			}
			s.wantStatuses(completed)
		})
	}
}

// Writes of a client that is gone fail where nothing is recorded any more, so that
// an endless handler notices.
func TestAnEndlessResponseEnds(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped(), MaxBody: 100})
	guarded := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 10)); err != nil {
				return
			}
		}
	}))
	guarded.ServeHTTP(deaf{httptest.NewRecorder()}, key("a", "").httpRequest(t.Context()))
}

// No client hears of a success before it is recorded.
func TestAResponseIsHeldBackUntilItIsRecorded(t *testing.T) {
	store := refusing(persistence.NewMemory(), errors.New("down"))
	api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	guarded := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/payments/1")
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "paid")
	}))
	s := &site{t: t, Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Outer", "kept")
		guarded.ServeHTTP(w, r)
	}))}
	defer s.Close()
	r, body := s.answer()
	if r.StatusCode != http.StatusConflict || strings.Contains(body, "paid") {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if r.Header.Get("Location") != "" || r.Header.Get("X-Outer") != "kept" {
		t.Errorf("the headers are %v", r.Header)
	}
}

// What a client has seen of a stream stays a stream, also where it can't be
// recorded.
func TestAStreamThatCannotBeRecordedIsLeftWhole(t *testing.T) {
	store := refusing(persistence.NewMemory(), errors.New("down"))
	api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	w := httptest.NewRecorder()
	api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "all ")
		w.(http.Flusher).Flush()
		io.WriteString(w, "of it")
	})).ServeHTTP(w, key("a", "").httpRequest(t.Context()))
	if w.Code != http.StatusOK || w.Body.String() != "all of it" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// What is written while the response is being recorded must not be answered: the
// record does not have it.
func TestReport49WritingWhileItIsRecordedFails(t *testing.T) {
	var late http.ResponseWriter
	store := lab.Before(persistence.NewMemory(), "complete", func() error {
		if _, err := io.WriteString(late, " too late"); err == nil {
			t.Error("a write after the return has succeeded")
		}
		return nil
	})
	api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	w := httptest.NewRecorder()
	api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		late = w
		io.WriteString(w, "in time")
	})).ServeHTTP(w, key("a", "").httpRequest(t.Context()))
	if w.Body.String() != "in time" {
		t.Errorf("%q", w.Body)
	}
}

// Whoever goes on writing is told so, whenever that is, or is recorded.
func TestReport49WritingOnIsNeverLostInSilence(t *testing.T) {
	var writer sync.WaitGroup
	accepted := 0
	s := newSite(t, httpguard.Config{}, func(w http.ResponseWriter, _ *http.Request) { // returns without having written
		writer.Go(func() {
			for {
				if _, err := io.WriteString(w, "x"); err != nil {
					return
				}
				accepted++
			}
		})
	})
	_, body := s.answer()
	if writer.Wait(); len(body) != accepted {
		t.Errorf("%d bytes arrive of %d", len(body), accepted)
	}
}

// What a middleware in front says to a caller is neither recorded nor overwritten.
func TestHeadersFromInFrontAreNotTheHandlers(t *testing.T) {
	store := persistence.NewMemory()
	api := shapes[0].newAPI(t, store, idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	guarded := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Add("Vary", "Accept")
		w.WriteHeader(http.StatusCreated)
	}))
	for _, origin := range []string{"https://www.example.com", "https://admin.example.com"} {
		w := httptest.NewRecorder()
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Cache-Control", "private")
		w.Header().Set("Vary", "Origin")
		guarded.ServeHTTP(w, key("1", "").httpRequest(t.Context()))
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != origin {
			t.Errorf("%s gets %s", origin, got)
		}
		if cache, vary := w.Header().Get("Cache-Control"), w.Header()["Vary"]; cache != "no-store" || !slices.Equal(vary, []string{"Origin", "Accept"}) {
			t.Errorf("%s gets %s and %v", origin, cache, vary)
		}
	}
	if got := string(store.Records()[0].Result); strings.Contains(got, "example.com") {
		t.Errorf("recorded: %s", got)
	}
}

// A panic ends the handler's part as well.
func TestReport49WritingAfterAPanicFails(t *testing.T) {
	var late http.ResponseWriter
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	func() {
		defer func() {
			if recover() != http.ErrAbortHandler {
				t.Error("the panic has changed")
			}
		}()
		api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			late = w
			panic(http.ErrAbortHandler)
		})).ServeHTTP(httptest.NewRecorder(), key("a", "").httpRequest(t.Context()))
	}()
	if _, err := io.WriteString(late, "too late"); err == nil {
		t.Error("a write after the panic has succeeded")
	}
}

func TestTheHandlersContextMayEndBeforeTheClientIsGone(t *testing.T) {
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	guarded := api.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, key("a", "").httpRequest(ctx))
	if w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
}

func TestInformationalResponsesTrailersAndDeadlinesWork(t *testing.T) {
	for name, flush := range map[string]func(http.ResponseWriter){
		"held back": func(http.ResponseWriter) {},
		"streamed":  func(w http.ResponseWriter) { w.(http.Flusher).Flush() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, httpguard.Config{}, func(w http.ResponseWriter, _ *http.Request) {
				if err := http.NewResponseController(w).SetWriteDeadline(time.Time{}); err != nil {
					t.Error(err)
				}
				w.Header().Set("Link", "</style.css>")
				w.WriteHeader(http.StatusEarlyHints)
				w.Header().Set("Trailer", "X-Sum")
				w.Header().Set("Content-Type", "text/csv")
				io.WriteString(w, "a,b")
				flush(w)
				w.Header().Set("Content-Type", "too/late")
				w.Header().Set("X-Sum", "2")
				w.Header().Set(http.TrailerPrefix+"X-More", "3")
			})
			var hints []string
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
					hints = append(hints, fmt.Sprint(code, header.Get("Link")))
					return nil
				},
			})
			r, err := s.post(ctx, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if string(body) != "a,b" || r.Header.Get("Content-Type") != "text/csv" || !slices.Equal(hints, []string{"103</style.css>"}) {
				t.Errorf("%q %v, hints %q", body, r.Header, hints)
			}
			if r.Trailer.Get("X-Sum") != "2" || r.Trailer.Get("X-More") != "3" {
				t.Errorf("the trailers are %v", r.Trailer)
			}
			replay, text := s.answer()
			if text != "a,b" || replay.Header.Get("Content-Type") != "text/csv" || replay.Header.Get("Link") != "</style.css>" || len(replay.Trailer) != 0 {
				t.Errorf("the replay is %q %v %v", text, replay.Header, replay.Trailer)
			}
		})
	}
}

func TestRequestBodies(t *testing.T) {
	var got []string
	s := newSite(t, httpguard.Config{MaxBody: 10}, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got = append(got, fmt.Sprint(string(body), err))
	})
	for _, test := range []struct {
		body   io.Reader
		status int
	}{
		{strings.NewReader("0123456789"), 200},
		{io.MultiReader(strings.NewReader("01234"), strings.NewReader("56789")), 200}, // of unknown length
		{strings.NewReader("0123456789a"), 413},
		{io.MultiReader(strings.NewReader("0123456789"), strings.NewReader("a")), 413},
	} {
		r, err := s.post(t.Context(), test.body)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != test.status {
			t.Errorf("%d, want %d", r.StatusCode, test.status)
		}
	}
	if !slices.Equal(got, []string{"0123456789<nil>"}) {
		t.Errorf("the handler has seen %q", got)
	}
}

// What handlers in front cut from the path may be all that tells two requests apart.
func TestTheSamePathOfTwoMountsIsTwoPaths(t *testing.T) {
	s := newSite(t, httpguard.Config{}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })
	guarded := s.Config.Handler
	mounts := http.NewServeMux()
	mounts.Handle("/eu/", http.StripPrefix("/eu", guarded))
	mounts.Handle("/us/", http.StripPrefix("/us", guarded))
	guardedURL := lambdaurl.Wrap(mounts)
	s.Config.Handler = mounts
	for _, step := range []struct {
		path   string
		status int
	}{{"/eu/payments", 200}, {"/eu/payments", 200}, {"/us/payments", 422}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+step.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", "a")
		response, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		behind := key("b", "").withDefaults()
		behind.path = step.path
		event := urlEvent(behind)
		streamed, err := guardedURL(t.Context(), &event)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, streamed.Body); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != step.status || streamed.StatusCode != step.status {
			t.Errorf("%s: %d, and %d behind lambdaurl", step.path, response.StatusCode, streamed.StatusCode)
		}
	}
}

func TestABrokenRequestBodyDoesNotRun(t *testing.T) {
	s := newSite(t, httpguard.Config{}, func(http.ResponseWriter, *http.Request) { t.Error("it has run") })
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: a\r\nContent-Length: 10\r\n\r\n123")
	conn.(*net.TCPConn).CloseWrite()
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusBadRequest || len(s.store.Records()) != 0 {
		t.Errorf("%d, %d records", r.StatusCode, len(s.store.Records()))
	}
}

// With the guards switched off a handler may take its connection, as it may without them.
func TestAConnectionMayBeHijackedWhereNothingIsGuarded(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	var logged bytes.Buffer
	server := httptest.NewUnstartedServer(api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 202 Accepted\r\nContent-Length: 4\r\n\r\nmine")
	})))
	server.Config.ErrorLog = log.New(&logged, "", 0)
	server.Start()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	server.Close()
	if response.StatusCode != http.StatusAccepted || string(body) != "mine" || err != nil || logged.Len() > 0 {
		t.Errorf("%d %q, %v; the server has logged %s", response.StatusCode, body, err, &logged)
	}
}
