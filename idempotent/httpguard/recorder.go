package httpguard

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/lambdaurl"
)

var (
	// errAbandoned says that the handler has given up without an answer.
	errAbandoned = errors.New("httpguard: the context ended and the handler has answered nothing")
	errReturned  = errors.New("httpguard: written after the handler has returned")
)

// recorder is the http.ResponseWriter of a guarded handler. It holds the response
// back until it is recorded. Once the handler flushes, or writes more than may be held,
// it passes everything on, and goes on recording as long as there is room.
type recorder struct {
	w      http.ResponseWriter
	method string
	limit  int
	off    func() bool // whether the guards are switched off
	outer  http.Header // what w had before
	// plain says that w sends a response without a type as it is; net/http finds one.
	plain bool
	http1 bool // the version, or one before

	mu        sync.Mutex
	header    http.Header // the handler's
	sent      http.Header // the handler's, when it wrote the status
	status    int         // 0 until it did
	implicit  bool        // it wrote none, but a body
	declared  int64       // how long the body is going to be; -1 where that is not known
	written   int64       // what was tried to write of it
	body      bytes.Buffer
	overflown bool // body is not all of it
	streaming bool
	finished  bool
}

func newRecorder(w http.ResponseWriter, r *http.Request, limit int, off func() bool) *recorder {
	_, behindLambda := lambdaurl.RequestFromContext(r.Context())
	return &recorder{
		w: w, method: r.Method, limit: limit, off: off, plain: behindLambda, http1: r.ProtoMajor < 2,
		outer: w.Header().Clone(), header: w.Header().Clone(),
	}
}

// Header implements [http.ResponseWriter].
func (rec *recorder) Header() http.Header {
	if rec.header == nil {
		rec.header = make(http.Header)
	}
	return rec.header
}

// Unwrap lets [http.ResponseController] set deadlines.
func (rec *recorder) Unwrap() http.ResponseWriter { return rec.w }

// WriteHeader implements [http.ResponseWriter]. An informational response goes
// out at once.
func (rec *recorder) WriteHeader(status int) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if !rec.finished {
		rec.writeHeader(status)
	}
}

func (rec *recorder) writeHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status)) // as net/http does
	}
	switch {
	case rec.status != 0:
	case status < 200 && status != http.StatusSwitchingProtocols:
		replaceHeader(rec.w.Header(), rec.header)
		rec.w.WriteHeader(status)
	default:
		rec.status = status
		rec.sent = unmarked(rec.Header().Clone())
		rec.declared = declaredLength(rec.method, status, rec.sent)
	}
}

// Write implements [http.ResponseWriter].
func (rec *recorder) Write(p []byte) (int, error) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.finished {
		return 0, errReturned
	}
	rec.implicit = rec.implicit || rec.status == 0
	rec.writeHeader(http.StatusOK) // unless there is one
	if !bodyAllowed(rec.status) {
		return 0, http.ErrBodyNotAllowed
	}
	rec.written += int64(len(p))
	if rec.declared >= 0 && rec.written > rec.declared {
		return 0, http.ErrContentLength
	}
	if !rec.overflown && len(p) > rec.limit-rec.body.Len() {
		rec.stream(p)
		rec.overflown = true
		rec.body = bytes.Buffer{}
	}
	if !rec.overflown {
		rec.body.Write(p)
	}
	if !rec.streaming {
		return len(p), nil
	}
	n, err := rec.w.Write(p)
	if err != nil && !rec.overflown {
		return len(p), nil // the client is gone; the response is recorded for its next try
	}
	return n, err
}

// WriteString implements [io.StringWriter].
func (rec *recorder) WriteString(s string) (int, error) { return rec.Write([]byte(s)) }

// ReadFrom implements [io.ReaderFrom].
func (rec *recorder) ReadFrom(src io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{rec}, src)
}

// Flush implements [http.Flusher].
func (rec *recorder) Flush() { _ = rec.FlushError() }

// FlushError is what [http.ResponseController] calls.
func (rec *recorder) FlushError() error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.finished {
		return errReturned
	}
	rec.writeHeader(http.StatusOK) // unless there is one
	rec.stream(nil)
	return http.NewResponseController(rec.w).Flush()
}

// Hijack refuses: what goes over a hijacked connection can't be recorded. With the guards
// switched off nothing is.
func (rec *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if rec.off() {
		conn, buffered, err := http.NewResponseController(rec.w).Hijack()
		rec.mu.Lock()
		defer rec.mu.Unlock()
		rec.streaming = rec.streaming || err == nil // there is nothing to pass on any more
		return conn, buffered, err
	}
	return nil, nil, fmt.Errorf("httpguard: a guarded connection can't be hijacked: %w", http.ErrNotSupported)
}

// stream passes on what was held back, and holds nothing back from now on. What the
// handler is about to write goes next.
func (rec *recorder) stream(next []byte) {
	if rec.streaming {
		return
	}
	rec.streaming = true
	rec.settleType(next)
	replaceHeader(rec.w.Header(), rec.sent)
	if !rec.implicit || rec.body.Len() == 0 {
		rec.w.WriteHeader(rec.status)
	}
	if rec.body.Len() > 0 {
		_, _ = rec.w.Write(rec.body.Bytes()) //nolint:gosec // the handler's own response; the client may be gone
	}
	if found := rec.w.Header()["Content-Type"]; rec.plain && len(found) > 0 {
		rec.sent["Content-Type"] = found // by lambdaurl, which was asked to
	}
}

// finish ends the handler's part. Whoever writes later gets an error.
func (rec *recorder) finish() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.finished = true
}

// abandoned tells whether the handler has answered nothing, and had a reason to give up.
func (rec *recorder) abandoned(ctx context.Context) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.status == 0 && ctx.Err() != nil
}

// response returns what the handler has written, to be recorded. Nothing is a 200. Of a stream whose client or time
// was gone nobody knows whether it is complete.
func (rec *recorder) response(ctx context.Context) response {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.writeHeader(http.StatusOK) // unless there is one
	rec.settleType(nil)
	r := response{Status: rec.status, MultiValueHeaders: rec.own()}
	if rec.streaming && ctx.Err() != nil {
		r.Unfit = &unfit{"httpguard: the context ended before the streamed response"}
		return r
	}
	return r.with(rec.body.Bytes(), rec.overflown, rec.limit, rec.declared)
}

// commit sends the response, unless that has begun, and its trailers. What a
// response lacks of its declared length breaks the connection: the server beneath
// sees to that.
func (rec *recorder) commit() {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	rec.stream(nil)
	for name, values := range rec.header {
		if strings.HasPrefix(name, http.TrailerPrefix) || announced(rec.sent, name) {
			rec.w.Header()[name] = values
		}
	}
}

// restored returns the writer beneath as it was before the handler ran, for an
// answer that is not the handler's.
func (rec *recorder) restored() http.ResponseWriter {
	replaceHeader(rec.w.Header(), rec.outer)
	return rec.w
}

func replaceHeader(header, by http.Header) {
	clear(header)
	maps.Copy(header, by)
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
