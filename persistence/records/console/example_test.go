package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/ikkai-go/idempotency/persistence"
	"github.com/ikkai-go/idempotency/persistence/records"
	"github.com/ikkai-go/idempotency/persistence/records/console"
)

// A console behind a sign-in of one's own: everybody who is signed in reads, those on call
// write, and nobody sees card numbers.
func ExampleNew() {
	desk, err := records.New(persistence.NewMemory(), records.Config{})
	if err != nil {
		panic(err)
	}
	page, err := console.New(desk, console.Config{
		Title: "production · payments",
		Access: func(r *http.Request) console.Access {
			if r.Header.Get("X-Group") == "on-call" { // as the sign-in in front has set it
				return console.ReadWrite
			}
			return console.ReadOnly
		},
		Redact: func(_ context.Context, record records.Record, _ console.Part, content []byte) []byte {
			if record.Operation == "payment" {
				return []byte("(hidden)")
			}
			return content
		},
	})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", page))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ops/api/about", nil))
	fmt.Println(w.Body)
	// Output: {"max_bulk":10000,"price_per_million":0,"title":"production · payments","write":false}
}

// A console on one's own machine, until the context ends.
func ExampleLocal() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	server := httptest.NewUnstartedServer(nil) // for its listener, which is on a free port of 127.0.0.1
	err := console.Local(ctx, server.Listener, http.NotFoundHandler(), func(address string) {
		fmt.Println("open", address[:len("http://127.0.0.1:")]+"…")
		stop()
	})
	fmt.Println(err)
	// Output:
	// open http://127.0.0.1:…
	// <nil>
}
