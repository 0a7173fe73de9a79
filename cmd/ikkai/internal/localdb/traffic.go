package localdb

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// traffic counts the requests that it hands on.
type traffic struct {
	next http.Handler

	mu      sync.Mutex
	served  int
	refused int    // answered with an error
	last    string // operation
}

func (t *traffic) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	t.next.ServeHTTP(answer, r)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.served++
	if answer.status >= http.StatusBadRequest {
		t.refused++
	}
	t.last = operation
}

// String is the traffic so far in a line.
func (t *traffic) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.served == 0 {
		return "no requests so far"
	}
	line := fmt.Sprintf("requests: %d, refused: %d", t.served, t.refused)
	if t.last != "" {
		line += ", the last: " + t.last
	}
	return line
}

// statusWriter notes the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
