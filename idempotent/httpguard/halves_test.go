package httpguard_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/client"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/internal/embedded"
	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/dynamostore"
)

// What was done and could not be recorded must not be done again by a client that
// repeats whatever may come out differently.
func TestTheClientDoesNotRepeatWhatWasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := refusing(persistence.NewMemory(), &persistence.Fault{Op: "complete", Retryable: true, Err: errors.New("throttled")})
		guard, err := idempotent.New(store, idempotent.Config{Operation: "payment", Lease: 2 * time.Second, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
		if err != nil {
			t.Fatal(err)
		}
		charges := 0
		transport, err := client.New(client.Config{Transport: inProcess{api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			charges++
			w.WriteHeader(http.StatusCreated)
		}))}})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/payments", strings.NewReader("{}"))
		response, err := transport.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusConflict || charges != 1 {
			t.Errorf("%v, %v after %d charges", response, err, charges)
		}
	})
}

// inProcess sends requests to a handler without a network.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w.Result(), nil
}

// Both halves: clients that race for one key through a real server, half of whose
// replies are lost. One run, and every client ends with its answer.
func TestClientsThatKeepAskingAllGetTheOneAnswer(t *testing.T) {
	const clients = 20
	_, store := embedded.Store(t, dynamostore.Config{})
	guard, err := idempotent.New(store, idempotent.Config{Operation: "payment"})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpguard.New(guard, httpguard.Config{Scope: httpguard.Unscoped()})
	if err != nil {
		t.Fatal(err)
	}
	var runs, replies atomic.Int64
	pay := api.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, "payment %d", runs.Add(1))
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered := httptest.NewRecorder()
		pay.ServeHTTP(answered, r)
		if replies.Add(1)%2 == 1 {
			panic(http.ErrAbortHandler) // the reply is lost
		}
		maps.Copy(w.Header(), answered.Header())
		w.WriteHeader(answered.Code)
		_, _ = io.Copy(w, answered.Body)
	}))
	defer server.Close()
	transport, err := client.New(client.Config{
		Transport: server.Client().Transport, Tries: 100, FirstPause: time.Millisecond, MaxPause: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx := client.WithKey(t.Context(), client.NewKey())
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/payments", strings.NewReader(`{"amount":10}`))
			if err != nil {
				t.Error(err)
				return
			}
			response, err := (&http.Client{Transport: transport}).Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != http.StatusCreated || string(body) != "payment 1" {
				t.Errorf("got %d %s, %v", response.StatusCode, body, err)
			}
		})
	}
	all.Wait()
	if runs.Load() != 1 {
		t.Errorf("%d runs, want one", runs.Load())
	}
}
