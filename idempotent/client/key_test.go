package client_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

func TestNewKeysAreRandomUUIDs(t *testing.T) {
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := make(map[string]bool)
	for range 1000 {
		key := client.NewKey()
		if !version4.MatchString(key) || seen[key] {
			t.Fatalf("%s is no new UUID of version 4", key)
		}
		seen[key] = true
	}
}

func TestTheKeyIsAStructuredFieldString(t *testing.T) {
	const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324"
	for key, values := range map[string]struct{ quoted, bare string }{
		uuid:              {`"` + uuid + `"`, uuid},
		"order 7; retry":  {quoted: `"order 7; retry"`},
		"a,b":             {quoted: `"a,b"`},
		`a"b`:             {quoted: `"a\"b"`},
		`C:\orders\7`:     {quoted: `"C:\\orders\\7"`},
		`\"`:              {quoted: `"\\\""`},
		"~!@#$%^&*()_+{}": {`"~!@#$%^&*()_+{}"`, "~!@#$%^&*()_+{}"},
	} {
		for form, want := range map[client.Form]string{client.Quoted: values.quoted, client.Bare: values.bare} {
			w := &wire{script: []answer{{status: 201}}}
			transport := newTransport(t, client.Config{Transport: w, Form: form})
			r := post(t)
			_, err := transport.RoundTrip(r.WithContext(client.WithKey(t.Context(), key)))
			if want == "" { // what only a quoted one can have, and every server takes for something else
				if !errors.Is(err, client.ErrKey) || len(w.sent) != 0 {
					t.Errorf("%s is sent bare, %v", key, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := w.keys(); !slices.Equal(got, []string{want}) {
				t.Errorf("%s is sent as %s, want %s", key, got, want)
			}
		}
	}
}

func TestTheNameOfTheHeaderCanBeChosen(t *testing.T) {
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w, Header: "PayPal-Request-Id", Form: client.Bare})
	if _, err := transport.RoundTrip(post(t).WithContext(client.WithKey(t.Context(), "k-1"))); err != nil {
		t.Fatal(err)
	}
	if h := w.sent[0].header; h.Get("PayPal-Request-Id") != "k-1" || h.Get("Idempotency-Key") != "" {
		t.Error(h)
	}
}

func TestARequestWithTwoKeysIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		ctx    string
	}{
		"two fields":             {http.Header{"Idempotency-Key": {"a", "b"}}, ""},
		"two fields, same key":   {http.Header{"Idempotency-Key": {"a", "a"}}, ""},
		"two spellings":          {http.Header{"Idempotency-Key": {"a"}, "idempotency-key": {"b"}}, ""},
		"one here, one there":    {http.Header{"Idempotency-Key": {"a"}}, "b"},
		"one quoted, one not":    {http.Header{"Idempotency-Key": {`"a"`}}, `"a"`},
		"none here, a bad there": {http.Header{}, "b\n"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.header, c.ctx) })
	}
}

func TestUnusableKeysAreRefused(t *testing.T) {
	for name, value := range map[string]string{
		"empty": "", "blank": " \t", "empty string": `""`, "not closed": `"a`, "bad escape": `"a\b"`,
		"escape at the end": `"a\`, "parameters": `"a";v=1`, "two strings": `"a" "b"`,
		"not ASCII": "ключ", "not ASCII, quoted": `"é"`, "a control character": "a\x00b", "a new line": "a\nX: y",
	} {
		t.Run(name, func(t *testing.T) { refused(t, http.Header{"Idempotency-Key": {value}}, "") })
	}
	for name, key := range map[string]string{
		"empty in context": "", "not ASCII in context": "é", "a new line in context": "a\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			ctx := client.WithKey(t.Context(), key)
			if _, err := newTransport(t, client.Config{}).RoundTrip(post(t).WithContext(ctx)); !errors.Is(err, client.ErrKey) {
				t.Error(err)
			}
		})
	}
	for _, key := range []string{" a", "a ", `"a"`} {
		ctx := client.WithKey(t.Context(), key)
		_, err := newTransport(t, client.Config{Form: client.Bare}).RoundTrip(post(t).WithContext(ctx))
		if !errors.Is(err, client.ErrKey) {
			t.Errorf("bare %q: %v", key, err)
		}
	}
}

func refused(t *testing.T, header http.Header, inContext string) {
	t.Helper()
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w})
	r, body := post(t), &content{Reader: strings.NewReader("x")}
	if inContext != "" {
		r = r.WithContext(client.WithKey(t.Context(), inContext))
	}
	r.Header, r.Body = header, body
	resp, err := transport.RoundTrip(r)
	var unusable *client.KeyError
	if resp != nil || !errors.As(err, &unusable) || !errors.Is(err, client.ErrKey) {
		t.Errorf("got %v, %v", resp, err)
	}
	if len(w.sent) != 0 || body.closed == 0 {
		t.Errorf("%d requests sent, body closed %d times", len(w.sent), body.closed)
	}
}

func TestAKeyInTheHeaderIsSentAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for spelled, value := range map[string]string{
			"Idempotency-Key": `"a"`, "idempotency-key": "a", "IDEMPOTENCY-KEY": ` "a\\" `,
		} {
			w := &wire{script: []answer{{status: 503}, {status: 201}}}
			transport := newTransport(t, client.Config{Transport: w, OnNewKey: func(*http.Request, string) error {
				return errors.New("there is no new key")
			}})
			r := post(t)
			r.Header = http.Header{spelled: {value}}
			if _, err := transport.RoundTrip(r); err != nil {
				t.Fatal(err)
			}
			for _, s := range w.sent {
				if len(s.header) != 1 || !slices.Equal(s.header[spelled], []string{value}) {
					t.Errorf("%s: sent %v", spelled, s.header)
				}
			}
			if len(w.sent) != 2 {
				t.Errorf("%s: %d tries", spelled, len(w.sent))
			}
		}
	})
}

func TestWhichRequestsHaveKeysAndAreSentAgain(t *testing.T) {
	noValue := http.Header{"Idempotency-Key": nil} // how net/http is told that a request needs no key
	for name, c := range map[string]struct {
		method    string
		methods   []string
		header    http.Header
		withKey   bool
		sentAgain bool
	}{
		"POST":                      {method: "POST", withKey: true, sentAgain: true},
		"PATCH":                     {method: "PATCH", withKey: true, sentAgain: true},
		"GET":                       {method: "GET", sentAgain: true},
		"GET without a name":        {method: "", sentAgain: true},
		"HEAD":                      {method: "HEAD", sentAgain: true},
		"OPTIONS":                   {method: "OPTIONS", sentAgain: true},
		"TRACE":                     {method: "TRACE", sentAgain: true},
		"PUT":                       {method: "PUT", sentAgain: true},
		"DELETE":                    {method: "DELETE", sentAgain: true},
		"an unknown method":         {method: "LOCK"},
		"a chosen method":           {method: "LOCK", methods: []string{"LOCK"}, withKey: true, sentAgain: true},
		"PUT, chosen":               {method: "PUT", methods: []string{"PUT"}, withKey: true, sentAgain: true},
		"POST, not chosen":          {method: "POST", methods: []string{"PATCH"}},
		"POST, none chosen":         {method: "POST", methods: []string{}},
		"POST that needs no key":    {method: "POST", header: noValue, sentAgain: true},
		"unknown, key in header":    {method: "LOCK", header: http.Header{"Idempotency-Key": {"k"}}, withKey: true, sentAgain: true},
		"not chosen, key in header": {method: "POST", methods: []string{}, header: http.Header{"Idempotency-Key": {"k"}}, withKey: true, sentAgain: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{script: []answer{{status: 503}, {status: 200}}}
				transport := newTransport(t, client.Config{Transport: w, Methods: c.methods})
				r := newRequest(t.Context(), c.method, "x")
				r.Method = c.method
				if c.header != nil {
					r.Header = c.header
				}
				if _, err := transport.RoundTrip(r); err != nil {
					t.Fatal(err)
				}
				if again := len(w.sent) == 2; again != c.sentAgain {
					t.Errorf("sent %d times", len(w.sent))
				}
				if withKey := w.keys()[0] != ""; withKey != c.withKey {
					t.Errorf("sent under the key %s", w.keys()[0])
				}
			})
		})
	}
}

// A key in the context is for the requests that need one, not for the GET that
// follows a 303.
func TestAKeyInTheContextIsNotForIdempotentMethods(t *testing.T) {
	w := &wire{script: []answer{{status: 200}}}
	r := newRequest(client.WithKey(t.Context(), "k"), http.MethodGet, "")
	if _, err := newTransport(t, client.Config{Transport: w}).RoundTrip(r); err != nil || w.keys()[0] != "" {
		t.Error(w.keys(), err)
	}
}

func TestEveryRequestHasItsOwnKey(t *testing.T) {
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w})
	r := post(t) // even the same request: only the caller knows whether it means the same
	for range 100 {
		r.Body, _ = r.GetBody()
		if _, err := transport.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
	}
	keys := w.keys()
	slices.Sort(keys)
	if len(slices.Compact(keys)) != 100 {
		t.Error("requests share keys")
	}
}

func TestTheRequestIsLeftAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{script: []answer{{status: 503}, {status: 201}}}
		transport := newTransport(t, client.Config{Transport: w})
		r := post(t)
		r.Header.Set("Content-Type", "application/json")
		before, headers := *r, r.Header.Clone()
		if _, err := transport.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.Header, headers) || r.Context() != before.Context() ||
			r.Body != before.Body || r.ContentLength != before.ContentLength {
			t.Errorf("was %+v, is %+v", before, r)
		}
	})
}

// Signing transports add to the header of the request they are given.
func TestATryDoesNotSeeWhatWasAddedToTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{script: []answer{{status: 503}, {status: 201}}}
		transport := newTransport(t, client.Config{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
			r.Header.Add("Authorization", "signed")
			return w.RoundTrip(r)
		})})
		if _, err := transport.RoundTrip(post(t)); err != nil {
			t.Fatal(err)
		}
		if signed := w.sent[1].header["Authorization"]; len(signed) != 1 {
			t.Errorf("the second try is signed %d times", len(signed))
		}
	})
}

func TestARedirectFromElsewhereMakesANewKey(t *testing.T) {
	for name, from := range map[string]*http.Response{
		"a request without a key": {Request: newRequest(t.Context(), http.MethodPost, "")},
		"no request":              {},
	} {
		w := &wire{script: []answer{{status: 201}}}
		r := post(t)
		r.Response = from
		if _, err := newTransport(t, client.Config{Transport: w}).RoundTrip(r); err != nil || w.keys()[0] == "" {
			t.Errorf("%s: sent under %q, %v", name, w.keys(), err)
		}
	}
}

func TestTheCallerCanReadTheKey(t *testing.T) {
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w})
	for name, r := range map[string]*http.Request{
		"made":      post(t),
		"context":   newRequest(client.WithKey(t.Context(), "k-1"), http.MethodPost, ""),
		"header":    {Method: "POST", Header: http.Header{"Idempotency-Key": {`"k-2"`}}},
		"no header": {Method: "POST"},
	} {
		w.sent = nil
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		key, ok := client.KeyFrom(resp.Request.Context())
		if !ok || w.keys()[0] != `"`+key+`"` {
			t.Errorf("%s: sent %s, got %s", name, w.keys(), key)
		}
	}
	if key, ok := client.KeyFrom(context.Background()); ok {
		t.Error("a context without a key has", key)
	}
}

// A transport beneath that sends requests of its own, such as for a token, does so
// from the context of the request that it is given.
func TestARequestMadeBeneathHasItsOwnKey(t *testing.T) {
	w := &wire{script: []answer{{status: 200}}}
	inner := newTransport(t, client.Config{Transport: w})
	outer := newTransport(t, client.Config{Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
		if _, err := inner.RoundTrip(newRequest(r.Context(), http.MethodPost, "a token, please")); err != nil {
			t.Error(err)
		}
		return inner.RoundTrip(r)
	})})
	if _, err := outer.RoundTrip(post(t)); err != nil {
		t.Fatal(err)
	}
	if keys := w.keys(); len(keys) != 2 || keys[0] == keys[1] {
		t.Errorf("sent under %s", keys)
	}
}

func TestANewKeyIsKeptBeforeItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{script: []answer{{status: 503}, {status: 201}}}
		var kept []string
		transport := newTransport(t, client.Config{Transport: w, OnNewKey: func(r *http.Request, key string) error {
			if len(w.sent) != 0 || r.URL.Path != "/payments" {
				t.Errorf("%d requests sent before, request %v", len(w.sent), r.URL)
			}
			kept = append(kept, `"`+key+`"`)
			return nil
		}})
		if _, err := transport.RoundTrip(post(t)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(append(kept, kept...), w.keys()) {
			t.Errorf("kept %s, sent %s", kept, w.keys())
		}
	})
}

func TestAKeyThatIsNotKeptIsNotSent(t *testing.T) {
	full := errors.New("disk full")
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w, OnNewKey: func(*http.Request, string) error { return full }})
	r, body := post(t), &content{Reader: strings.NewReader("x")}
	r.Body = body
	if resp, err := transport.RoundTrip(r); resp != nil || err != full || len(w.sent) != 0 || body.closed == 0 {
		t.Errorf("got %v, %v; %d sent, body closed %d times", resp, err, len(w.sent), body.closed)
	}
}
