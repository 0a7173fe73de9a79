package httpguard_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambdaurl"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// protocols are the versions of HTTP that net/http serves.
var protocols = map[string]func(*httptest.Server){
	"HTTP/1.1": func(s *httptest.Server) { s.Start() },
	"HTTP/2":   func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
}

// received is what a client sees of a response.
type received struct {
	status  int
	header  http.Header
	length  int64
	body    string
	trailer http.Header
	broken  bool // the connection has, or the stream was reset
}

func (r received) String() string {
	return fmt.Sprintf("%d (%d bytes, broken %t) %v %q %v", r.status, r.length, r.broken, r.header, r.body, r.trailer)
}

// exchange is one row of the comparison.
type exchange struct {
	handle http.HandlerFunc
	front  func(http.Handler) http.Handler // in front of the guard
	method string                          // POST where it is empty
	body   func() (body io.Reader, contentType string)
	// notRecorded says that the second request runs again.
	notRecorded bool
	// notReplayed are the headers that only the first answer has.
	notReplayed []string
}

var exchanges = map[string]exchange{
	"nothing":          {handle: func(http.ResponseWriter, *http.Request) {}},
	"a status":         {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }},
	"a status only":    {handle: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
	"a redirect":       {handle: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/payments/1", http.StatusSeeOther) }},
	"an error":         {handle: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusBadGateway) }, notRecorded: true},
	"a refusal":        {handle: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "declined", http.StatusPaymentRequired) }},
	"text":             writes("paid"),
	"HTML":             writes("<html><body>paid</body></html>"),
	"JSON":             writes(`{"id":1}`),
	"an image":         writes("\x89PNG\r\n\x1a\n\x00\xff"),
	"a long text":      writes(strings.Repeat("long ", 4000)),
	"HTML in two":      writes("<ht", "ml><body>paid</body></html>"),
	"HTML, flushed":    writes("<html><body>paid</body></html>", flush),
	"HTML, cut early":  writes("<ht", flush, "ml><body>paid</body></html>"),
	"flushed at first": writes(flush, "<html><body>paid</body></html>"),
	"flushed only":     writes(flush),
	"many parts":       writes("a", flush, "b", flush, strings.Repeat("c", 5000), flush, "d"),
	"empty, typed": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
	}},
	"typed": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		io.WriteString(w, "<html>")
	}},
	"typed, in lower case": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["content-type"] = []string{"text/csv"}
		io.WriteString(w, "<html>")
	}},
	"coded for its transfer": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Transfer-Encoding", "chunked")
		io.WriteString(w, "<html>")
	}},
	"not coded for its transfer": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Transfer-Encoding", "identity")
		io.WriteString(w, "<html>")
	}},
	"a type not to be doubted": {handle: func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>", http.StatusUnprocessableEntity)
	}},
	"no type on purpose": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "<html>")
	}},
	"encoded": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, "<html>")
	}},
	"encoded and flushed": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		w.(http.Flusher).Flush()
		io.WriteString(w, "<html>")
	}},
	"its own length": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		io.WriteString(w, "paid")
	}},
	"an answer to HEAD": {method: http.MethodHead, handle: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }},
	"an answer to HEAD that has a length": {method: http.MethodHead, handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
	}},
	"an answer to GET": {method: http.MethodGet, handle: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }},
	"trailers": {handle: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "a,b")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "2")
	}},
	"aborted": {handle: func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, notRecorded: true},
	"headers from in front": {front: sets(http.Header{"X-Frame-Options": {"DENY"}, "Cache-Control": {"no-store"}}),
		handle: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "paid") }},
	"a header deleted": {front: sets(http.Header{"X-Frame-Options": {"DENY"}, "Cache-Control": {"no-store"}}),
		handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Frame-Options")
			w.Header().Del("Cache-Control")
			io.WriteString(w, "paid")
		}},
	"a type deleted": {front: sets(http.Header{"Content-Type": {"application/json"}}),
		handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("Content-Type")
			io.WriteString(w, "<html>")
		}},
	"a header changed": {front: sets(http.Header{"Cache-Control": {"no-store"}}),
		handle: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Cache-Control", "max-age=60") }},
	"a header added to": {front: sets(http.Header{"Vary": {"Origin"}}),
		handle: func(w http.ResponseWriter, _ *http.Request) { w.Header().Add("Vary", "Accept") }},
	"the pattern in front": {
		front: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Trailer", "X-Pattern")
				next.ServeHTTP(w, r)
				if w.Header().Get("Idempotent-Replayed") == "" {
					w.Header().Set("X-Pattern", r.Pattern)
				}
			})
		},
		handle: func(w http.ResponseWriter, r *http.Request) {
			mux := http.NewServeMux()
			mux.HandleFunc("POST /{kind}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.PathValue("kind")) })
			mux.ServeHTTP(w, r)
		},
	},
	"a body of known length":   {body: text("amount=1"), handle: echo},
	"a body of unknown length": {body: unknown("amount=1"), handle: echo},
	"no body, asked for": {handle: func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%q %v %d %t", body, err, r.ContentLength, r.Body == http.NoBody)
	}},
	"a form": {body: text("amount=1"), handle: func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.FormValue("amount"), r.PostForm)
	}},
	"an upload":          {body: upload, handle: receive},
	"an upload, flushed": {body: upload, handle: func(w http.ResponseWriter, r *http.Request) { receive(w, r); w.(http.Flusher).Flush() }},
	"an upload, refused": {body: upload, handle: func(w http.ResponseWriter, r *http.Request) {
		receive(httptest.NewRecorder(), r)
		http.Error(w, "no", http.StatusServiceUnavailable)
	}, notRecorded: true},
	"an upload behind a copy of one's own": {body: upload, handle: func(w http.ResponseWriter, r *http.Request) {
		inner := r.WithContext(context.WithValue(r.Context(), userKey{}, "user-1"))
		defer func() { r.MultipartForm = inner.MultipartForm }() // as a bare handler has to
		receive(w, inner)
	}},
	"a cookie": {notReplayed: []string{"Set-Cookie"}, handle: func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
		io.WriteString(w, "paid")
	}},
}

const flush = "\x00flush"

// writes writes the parts one after the other.
func writes(parts ...string) exchange {
	return exchange{handle: func(w http.ResponseWriter, _ *http.Request) {
		for _, part := range parts {
			if part == flush {
				w.(http.Flusher).Flush()
			} else {
				io.WriteString(w, part)
			}
		}
	}}
}

func sets(header http.Header) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), header.Clone())
			next.ServeHTTP(w, r)
		})
	}
}

func text(body string) func() (io.Reader, string) {
	return func() (io.Reader, string) { return strings.NewReader(body), "application/x-www-form-urlencoded" }
}

func unknown(body string) func() (io.Reader, string) {
	return func() (io.Reader, string) { return io.MultiReader(strings.NewReader(body)), "text/plain" }
}

func echo(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, r.ContentLength, " ")
	io.Copy(w, r.Body)
}

// upload is a form with a file that is too large for memory.
func upload() (io.Reader, string) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.SetBoundary("fixed") // so that both requests are one
	file, _ := form.CreateFormFile("receipt", "receipt.pdf")
	file.Write(bytes.Repeat([]byte("%PDF"), 1<<19))
	form.Close()
	return &body, form.FormDataContentType()
}

func receive(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(1); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, r.MultipartForm.File["receipt"][0].Size)
}

// serveAlone serves a handler, sends it a row's request some times, and tells which files
// are left when it has ended.
func (e exchange) serveAlone(t *testing.T, start func(*httptest.Server), handler http.Handler, times int) (all []received, left []string) {
	t.Helper()
	files := t.TempDir()
	t.Setenv("TMPDIR", files)
	if e.front != nil {
		handler = e.front(handler)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(server)
	for range times {
		all = append(all, e.send(t, server))
	}
	server.Close()
	entries, err := os.ReadDir(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		left = append(left, entry.Name())
	}
	return all, left
}

func (e exchange) send(t *testing.T, server *httptest.Server) received {
	t.Helper()
	method, body, contentType := http.MethodPost, io.Reader(http.NoBody), ""
	if e.method != "" {
		method = e.method
	}
	if e.body != nil {
		body, contentType = e.body()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/payments", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", `"a"`)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	response, err := server.Client().Transport.RoundTrip(r)
	if err != nil {
		return received{broken: true}
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	header := response.Header.Clone()
	header.Del("Date")
	return received{response.StatusCode, header, response.ContentLength, string(content), response.Trailer, err != nil}
}

// A client of a guarded handler gets what it would get without the guard, the first time
// and each time after, and nothing stays behind.
func TestAGuardedHandlerAnswersLikeABareOne(t *testing.T) {
	for protocol, start := range protocols {
		for name, e := range exchanges {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				bare, bareFiles := e.serveAlone(t, start, e.handle, 1)
				api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
					Scope: httpguard.Unscoped(), Methods: []string{"POST", "GET", "HEAD"},
				})
				guarded, files := e.serveAlone(t, start, api.Middleware(e.handle), 2)
				first, second := guarded[0], guarded[1]
				if replayed := second.header.Get("Idempotent-Replayed") == "true"; replayed == e.notRecorded {
					t.Errorf("the second answer is %v", second)
				}
				want := bare[0]
				if e.notRecorded {
					wantReceived(t, "the first", first, want)
					wantReceived(t, "the second", second, want)
				} else {
					wantReceived(t, "the first", first, want)
					want.header = want.header.Clone()
					for _, name := range append(e.notReplayed, "Trailer") {
						want.header.Del(name)
					}
					want.trailer, second.trailer = nil, nil
					want.length, second.length = 0, 0 // a stream has none, and its replay has
					want.header.Del("Content-Length")
					second.header.Del("Content-Length")
					wantReceived(t, "the replay", second, want)
				}
				if len(files) > 0 {
					t.Errorf("these files are left: %v (%v without the guard)", files, bareFiles)
				}
			})
		}
	}
}

// Behind lambdaurl a response has the type that it is given there, or none, the first time
// and each time after.
func TestAGuardedHandlerBehindLambdaURLHasTheTypeOfABareOne(t *testing.T) {
	for _, detects := range []bool{false, true} {
		for _, name := range []string{"a status only", "text", "HTML", "HTML, cut early", "flushed at first", "many parts", "typed", "empty, typed", "a type deleted"} {
			t.Run(fmt.Sprintf("%s/detects %t", name, detects), func(t *testing.T) {
				types := func(handler http.Handler) string {
					if front := exchanges[name].front; front != nil {
						handler = front(handler)
					}
					if detects {
						handler = detecting(handler)
					}
					event := urlEvent(key("a", "{}").withDefaults())
					response, err := lambdaurl.Wrap(handler)(t.Context(), &event)
					if err != nil {
						t.Fatal(err)
					}
					body, _ := io.ReadAll(response.Body)
					return fmt.Sprintf("%d %q %s", response.StatusCode, response.Headers["Content-Type"], body)
				}
				bare := exchanges[name].handle
				guarded := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()}).Middleware(bare)
				want := types(flushable(bare))
				for range 2 {
					if got := types(guarded); got != want {
						t.Errorf("answered with %s, without the guard with %s", got, want)
					}
				}
			})
		}
	}
}

// detecting does what lambdaurl.WithDetectContentType asks for, which only a running Lambda
// function can be given.
func detecting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(&detector{ResponseWriter: w}, r) })
}

type detector struct {
	http.ResponseWriter
	began bool
}

func (d *detector) begin(found string) {
	if !d.began && d.Header().Get("Content-Type") == "" {
		d.Header().Set("Content-Type", found)
	}
	d.began = true
}

func (d *detector) WriteHeader(status int) {
	d.begin("application/octet-stream")
	d.ResponseWriter.WriteHeader(status)
}

func (d *detector) Write(p []byte) (int, error) {
	found := http.DetectContentType(p)
	if len(p) == 0 {
		found = "application/octet-stream"
	}
	d.begin(found)
	return d.ResponseWriter.Write(p)
}

// flushable lets a handler flush where there is nothing to flush: lambdaurl streams what is
// written.
func flushable(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(unbuffered{w}, r) })
}

type unbuffered struct{ http.ResponseWriter }

func (w unbuffered) Flush() { w.Write(nil) }

// wantReceived compares an answer with another one, but for the guard's marks.
func wantReceived(t *testing.T, which string, got, want received) {
	t.Helper()
	header := got.header.Clone()
	maps.DeleteFunc(header, func(name string, _ []string) bool {
		return slices.Contains([]string{"Idempotent-Replayed", "Idempotency-Key-Expires"}, name)
	})
	got.header = header
	if got.String() != want.String() {
		t.Errorf("%s answer is\n%v, without the guard it is\n%v", which, got, want)
	}
}
