package httpguard_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

const (
	shop  = "https://shop.example"
	other = "https://other.example"
)

// from is a request that a page of that origin sends.
func from(origin string) request {
	r := key("a", "{}")
	if origin != "" {
		r.header["Origin"] = []string{origin}
	}
	return r
}

// A replay does not let the page of another origin see what was allowed to the first one's.
func TestAReplayIsNotAllowedToAnotherOrigin(t *testing.T) {
	allowing := func(header *httpguard.Request) http.Header {
		if origin := header.Header.Get("Origin"); strings.HasSuffix(origin, ".example") {
			return http.Header{"Access-Control-Allow-Origin": {origin}, "Access-Control-Expose-Headers": {"Idempotent-Replayed, Retry-After"}}
		}
		return nil
	}
	tests := map[string]struct {
		config      httpguard.Config
		handler     http.Header
		first, then string // origins
		allowed     string // Access-Control-Allow-Origin of the replay
		credentials string
		exposed     string
	}{
		"the same origin": {handler: http.Header{"Access-Control-Allow-Origin": {shop}, "Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"ETag"}},
			first: shop, then: shop, allowed: shop, credentials: "true", exposed: "ETag"},
		"another origin": {handler: http.Header{"Access-Control-Allow-Origin": {shop}, "Access-Control-Allow-Credentials": {"true"}, "Access-Control-Expose-Headers": {"ETag"}},
			first: shop, then: other},
		"no origin":                {handler: http.Header{"Access-Control-Allow-Origin": {shop}}, first: shop},
		"any origin":               {handler: http.Header{"Access-Control-Allow-Origin": {"*"}, "Access-Control-Expose-Headers": {"ETag"}}, first: shop, then: other, allowed: "*", exposed: "ETag"},
		"the first had none":       {handler: http.Header{}, then: shop},
		"what goes with one of it": {handler: http.Header{"Access-Control-Expose-Headers": {"ETag"}}, first: shop, then: other, exposed: "ETag"},
		"the API says for which": {config: httpguard.Config{AnswerHeaders: allowing}, handler: http.Header{"Access-Control-Allow-Origin": {shop}},
			first: shop, then: other, allowed: other, exposed: "Idempotent-Replayed, Retry-After"},
		"the API allows it to nobody": {config: httpguard.Config{AnswerHeaders: allowing}, handler: http.Header{"Access-Control-Allow-Origin": {shop}},
			first: shop, then: "https://evil.test"},
	}
	throughEveryShape(t, func(t *testing.T, s shape) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, test.config), func(context.Context, int) (answer, error) {
					header := test.handler.Clone()
					header["Vary"] = []string{"Origin"}
					return answer{status: 201, header: header}, nil
				})
				first := handle.send(t.Context(), from(test.first))
				if got, want := first.header.Get("Access-Control-Allow-Origin"), test.handler.Get("Access-Control-Allow-Origin"); got != want {
					t.Errorf("the first is allowed to %q, want %q", got, want)
				}
				a := handle.send(t.Context(), from(test.then))
				got := [...]string{a.header.Get("Access-Control-Allow-Origin"), a.header.Get("Access-Control-Allow-Credentials"), a.header.Get("Access-Control-Expose-Headers"), a.header.Get("Vary")}
				if want := [...]string{test.allowed, test.credentials, test.exposed, "Origin"}; got != want || !a.replayed() {
					t.Errorf("replayed with %q, want %q", got, want)
				}
			})
		}
	})
}

// Refusals have the headers that the API wants in them, so that a page may read them.
func TestRefusalsHaveTheAPIsHeaders(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
			MaxBody: 10,
			AnswerHeaders: func(r *httpguard.Request) http.Header {
				return http.Header{"access-control-allow-origin": r.Header["Origin"], "Strict-Transport-Security": {"max-age=63072000"}, "X-Two": {"a", "b"}}
			},
		}), createdBy)
		malformed, nobody, large := from(shop), from(shop), from(shop)
		malformed.header["Idempotency-Key"] = []string{`"`}
		nobody.user = ""
		large.body = strings.Repeat("x", 11)
		for status, r := range map[int]request{400: malformed, 403: nobody, 413: large} {
			a := handle.send(t.Context(), r)
			if a.status != status || a.header.Get("Access-Control-Allow-Origin") != shop || a.header.Get("Strict-Transport-Security") == "" ||
				strings.ReplaceAll(strings.Join(a.header["X-Two"], ","), " ", "") != "a,b" || a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d %v", a.status, a.header)
			}
		}
	})
}

// First answers and replays say until when the key is kept, and nothing else does.
func TestAnswersSayUntilWhenTheKeyIsKept(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		synctest.Test(t, func(t *testing.T) {
			api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{TTL: time.Hour}, httpguard.Config{})
			handle := s.serve(api, func(_ context.Context, run int) (answer, error) {
				a := created(run)
				a.header["Idempotency-Key-Expires"] = []string{"of a service behind this one"}
				if run == 1 {
					a.status = 503
				}
				return a, nil
			})
			if a := handle.send(t.Context(), key("a", "{}")); a.status != 503 || a.header.Get("Idempotency-Key-Expires") != "" {
				t.Errorf("a response that is not kept: %d %v", a.status, a.header)
			}
			want := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
			for range 2 {
				a := handle.send(t.Context(), key("a", "{}"))
				if got := a.header["Idempotency-Key-Expires"]; len(got) != 1 || got[0] != want {
					t.Errorf("%d, kept until %q, want %q", a.status, got, want)
				}
				time.Sleep(time.Minute) // virtual
			}
		})
	})
}

// Of what is done, and not kept, another try gets another answer.
func TestAResponseThatIsNotKeptDoesNotSayThatItIs(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		for name, test := range map[string]struct {
			guard     idempotent.Config
			completes []error // the store's answers
		}{
			"only locked":             {guard: idempotent.Config{OnlyLock: true}},
			"too large for the store": {completes: []error{persistence.ErrTooLarge}},
		} {
			store := lab.Before(persistence.NewMemory(), "complete", func() (err error) {
				if len(test.completes) > 0 {
					err, test.completes = test.completes[0], test.completes[1:]
				}
				return err
			})
			handle := s.serve(s.newAPI(t, store, test.guard, httpguard.Config{}), createdBy)
			if a := handle.send(t.Context(), key("a", "{}")); a.status != 201 || a.header.Get("Idempotency-Key-Expires") != "" {
				t.Errorf("%s: %d %v", name, a.status, a.header)
			}
			if a := handle.send(t.Context(), key("a", "{}")); a.status != 409 || handle.ran() != 1 {
				t.Errorf("%s, again: %d %s", name, a.status, a.body)
			}
		}
	})
}
