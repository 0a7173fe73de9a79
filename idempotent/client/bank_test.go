package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// bank is a server that charges once for each key. It stands for every server that
// keeps to the draft, so it shares no code with this module's own.
type bank struct {
	mu       sync.Mutex
	charges  int
	receipts map[string]string // by key; empty while the charge is under way
	keys     []string          // as they came
	// each is called for the n-th request before anything else, and charged for the
	// first under its key, between the charge and the answer. They return false where
	// they have answered.
	each, charged func(w http.ResponseWriter, n int) bool
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	if body, err := io.ReadAll(r.Body); err != nil || len(body) == 0 {
		http.Error(w, "no payload", http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	b.keys = append(b.keys, key)
	n := len(b.keys)
	b.mu.Unlock()
	if b.each != nil && !b.each(w, n) {
		return
	}
	b.mu.Lock()
	receipt, known := b.receipts[key]
	if !known {
		b.charges++
		receipt = fmt.Sprintf("receipt %d", b.charges)
		b.receipts[key] = ""
	}
	b.mu.Unlock()
	switch {
	case known && receipt == "":
		w.Header().Set("Retry-After", "0")
		http.Error(w, "a request is outstanding for this key", http.StatusConflict)
		return
	case !known:
		defer func() {
			b.mu.Lock()
			b.receipts[key] = receipt
			b.mu.Unlock()
		}()
		if b.charged != nil && !b.charged(w, n) {
			return
		}
	}
	w.WriteHeader(http.StatusCreated)
	io.WriteString(w, receipt)
}

// serve starts the bank on a listener of its own, and returns its address and a
// transport that knows no other connections.
func (b *bank) serve(t *testing.T) (string, *http.Transport) {
	t.Helper()
	b.receipts = make(map[string]string)
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return server.URL, server.Client().Transport.(*http.Transport)
}
