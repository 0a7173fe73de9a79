package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

// unreliable is a server whose first answer gets lost.
func unreliable() *httptest.Server {
	tries := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries++
		fmt.Println("try", tries)
		if tries == 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
	}))
}

// The key is made by the program, which stores it together with what it is about
// to do, and finds it there if it has to start again.
func ExampleWithKey() {
	server := unreliable()
	defer server.Close()
	transport, err := client.New(client.Config{FirstPause: time.Millisecond})
	if err != nil {
		panic(err)
	}
	httpClient := &http.Client{Transport: transport, Timeout: 20 * time.Second}

	key := "order-7" // client.NewKey() at first, and from the database after a crash
	ctx := client.WithKey(context.Background(), key)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(`{"amount": 10}`))
	if err != nil {
		panic(err)
	}
	resp, err := httpClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Request.Header.Get("Idempotency-Key"))
	// Output:
	// try 1
	// try 2
	// 201 Created "order-7"
}

// The transport makes the keys; the program stores them before they are sent, and
// is told of each retry.
func ExampleNew() {
	server := unreliable()
	defer server.Close()
	journal := make(map[string]string)
	transport, err := client.New(client.Config{
		Form:       client.Bare,
		FirstPause: time.Millisecond,
		OnNewKey: func(r *http.Request, key string) error {
			journal[r.Header.Get("X-Order")] = key
			return nil
		},
		OnRetry: func(_ context.Context, retry client.Retry) {
			fmt.Println("again after", retry.Tries, "try:", retry.Err)
		},
	})
	if err != nil {
		panic(err)
	}
	httpClient := &http.Client{Transport: transport}

	r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(`{"amount": 10}`))
	if err != nil {
		panic(err)
	}
	r.Header.Set("X-Order", "7")
	resp, err := httpClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	key, _ := client.KeyFrom(resp.Request.Context())
	fmt.Println(resp.Status, key == journal["7"])
	// Output:
	// try 1
	// again after 1 try: EOF
	// try 2
	// 201 Created true
}

// A provider that says "in use" by a 409 without Retry-After, in a body of its own.
func ExampleConfig_decide() {
	answers := []string{
		`{"error":{"code":"idempotency_key_in_use"}}`,
		`{"error":{"code":"out_of_stock"}}`,
	}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		io.WriteString(w, answers[0])
		answers = answers[1:]
	}))
	defer provider.Close()
	transport, err := client.New(client.Config{
		Form:       client.Bare,
		FirstPause: time.Millisecond,
		Decide: func(resp *http.Response, _ error) client.Decision {
			var body struct{ Error struct{ Code string } }
			if resp == nil || resp.StatusCode != http.StatusConflict || json.NewDecoder(resp.Body).Decode(&body) != nil {
				return client.AsUsual
			}
			if body.Error.Code == "idempotency_key_in_use" {
				return client.SendAgain
			}
			return client.Return
		},
	})
	if err != nil {
		panic(err)
	}
	httpClient := &http.Client{Transport: transport}
	resp, err := httpClient.Post(provider.URL, "application/json", strings.NewReader(`{"amount": 10}`))
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body), err)
	// Output: 409 {"error":{"code":"out_of_stock"}} <nil>
}

// Keys are random UUIDs.
func ExampleNewKey() {
	payment, refund := client.NewKey(), client.NewKey()
	fmt.Println(len(payment), payment == refund)
	// Output: 36 false
}

// A context knows the key of its requests, also that of the request in a response.
func ExampleKeyFrom() {
	ctx := client.WithKey(context.Background(), "order-7")
	fmt.Println(client.KeyFrom(ctx))
	// Output: order-7 true
}
