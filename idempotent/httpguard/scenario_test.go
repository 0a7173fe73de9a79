package httpguard_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency"
	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/idempotent/internal/lab"
	"github.com/ikkai-go/idempotency/persistence"
)

func TestADuplicateIsReplayed(t *testing.T) {
	bodies := map[string]string{
		"text":    `{"id":1,"html":"<b>&` + "\u2028" + `"}`,
		"binary":  "\x89PNG\r\n\x1a\n\x00\xff",
		"nothing": "",
	}
	throughEveryShape(t, func(t *testing.T, s shape) {
		onEveryStore(t, func(t *testing.T, store persistence.Store) {
			api := s.newAPI(t, store, idempotent.Config{}, httpguard.Config{ReplayHeaders: []string{"x-order"}})
			for name, body := range bodies {
				handle := s.serve(api, func(_ context.Context, run int) (answer, error) {
					a := created(run)
					a.body = body
					a.header["X-Order"] = []string{"17"}
					return a, nil
				})
				first := handle.send(t.Context(), key(name, "{}"))
				again := handle.send(t.Context(), key(name, "{}"))
				if handle.ran() != 1 || first.err != nil || again.err != nil {
					t.Fatalf("%s: %d runs, %v, %v", name, handle.ran(), first.err, again.err)
				}
				if first.replayed() || !again.replayed() {
					t.Errorf("%s: the first is marked %t, the replay %t", name, first.replayed(), again.replayed())
				}
				if again.status != 201 || again.body != body || first.body != body {
					t.Errorf("%s: replayed %d %q, first %q", name, again.status, again.body, first.body)
				}
				for _, kept := range []string{"Content-Type", "Location", "Link", "X-Order"} {
					if !slices.Equal(first.header[kept], again.header[kept]) || len(first.header[kept]) == 0 {
						t.Errorf("%s: %s was %q and is replayed as %q", name, kept, first.header[kept], again.header[kept])
					}
				}
				for _, gone := range []string{"Set-Cookie", "Date", "X-Request-Id", "X-Private"} {
					if first.header.Get(gone) == "" || again.header.Get(gone) != "" {
						t.Errorf("%s: %s was %q and is replayed as %q", name, gone, first.header.Get(gone), again.header.Get(gone))
					}
				}
			}
		})
	})
}

// A handler may have got the mark from a service behind it, and its maps may be
// shared.
func TestOnlyAReplayIsMarked(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		shared := http.Header{"Idempotent-Replayed": {"true"}, "idempotent-replayed": {"true"}, "Content-Type": {"text/plain"}}
		for _, status := range []int{200, 503} {
			api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
			handle := s.serve(api, func(context.Context, int) (answer, error) {
				return answer{status: status, header: shared, body: "hello"}, nil
			})
			if a := handle.send(t.Context(), key("a", "")); a.replayed() || len(lowerCase(a.header)["idempotent-replayed"]) > 0 || a.header.Get("Content-Type") != "text/plain" {
				t.Errorf("%d: a first response has the headers %v", status, a.header)
			}
		}
		if len(shared) != 3 {
			t.Error("the handler's own map was changed")
		}
	})
}

func TestQuotedAndBareAreOneKey(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
		handle := s.serve(api, createdBy)
		for _, text := range []string{`8e03-978e`, `"8e03-978e"`, ` "8e03-978e" `, "\t8e03-978e"} {
			if a := handle.send(t.Context(), key(text, "{}")); a.status != 201 {
				t.Errorf("%q is answered with %d %s", text, a.status, a.body)
			}
		}
		if handle.ran() != 1 {
			t.Errorf("%d runs", handle.ran())
		}
		handle.send(t.Context(), key(`"a\"b\\c"`, "{}"))
		if handle.ran() != 2 {
			t.Error("an escaped key was not understood")
		}
	})
}

func TestAKeyThatCannotBeReadIsNeverNoKey(t *testing.T) {
	tests := map[string][]string{
		"empty":                  {""},
		"blank":                  {"  "},
		"an empty string":        {`""`},
		"a blank string":         {`"  "`},
		"no closing quote":       {`"abc`},
		"something behind it":    {`"abc"def`},
		"parameters":             {`"abc";v=1`},
		"bare parameters":        {`abc;v=1`},
		"a wrong escape":         {`"a\b"`},
		"an open escape":         {`"a\`},
		"a quote inside":         {`a"b`},
		"a control character":    {"\"a\x01b\""},
		"a bare one":             {"a\x01b"},
		"DEL":                    {"a\x7fb"},
		"no ASCII":               {"ключ"},
		"no ASCII in a string":   {`"ключ"`},
		"a space":                {"a b"},
		"a list":                 {"a, b"},
		"a list of strings":      {`"a", "b"`},
		"there twice":            {"a", "b"},
		"there twice, and equal": {"a", "a"},
		"there twice and quoted": {`"a"`, `"a"`},
		"once empty":             {"", "a"},
		"too long":               {strings.Repeat("k", 256)},
		"too long a string":      {`"` + strings.Repeat("k", 256) + `"`},
	}
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		// A guard that runs requests without a key must not run these.
		api := s.newAPI(t, store, idempotent.Config{RunWithoutKey: true}, httpguard.Config{})
		handle := s.serve(api, createdBy)
		for name, values := range tests {
			a := handle.send(t.Context(), request{header: http.Header{"Idempotency-Key": values}, user: "user-1"})
			if a.status != 400 || handle.ran() != 0 {
				t.Errorf("%s: %d after %d runs", name, a.status, handle.ran())
			}
		}
		if a := handle.send(t.Context(), key(strings.Repeat("k", 255), "")); a.status != 201 {
			t.Errorf("the longest key is answered with %d", a.status)
		}
		if len(store.Records()) != 1 {
			t.Errorf("%d records", len(store.Records()))
		}
	})
}

func TestKeysMustHaveThePublishedFormat(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{
			MaxKey: 8,
			CheckKey: func(key string) error {
				if !strings.HasPrefix(key, "k-") {
					return errors.New("it must begin with k-")
				}
				return nil
			},
		})
		handle := s.serve(api, createdBy)
		for text, status := range map[string]int{`"k-123456"`: 201, `"k-1234567"`: 400, "123": 400} {
			if a := handle.send(t.Context(), key(text, "")); a.status != status {
				t.Errorf("%s is answered with %d %s", text, a.status, a.body)
			}
		}
		if a := handle.send(t.Context(), key("123", "")); !strings.Contains(a.body, "it must begin with k-") {
			t.Errorf("the client is not told why: %s", a.body)
		}
	})
}

func TestAMissingKeyIsRefused(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		api := s.newAPI(t, store, idempotent.Config{}, httpguard.Config{})
		handle := s.serve(api, createdBy)
		a := handle.send(t.Context(), request{user: "user-1"})
		if a.status != 400 || handle.ran() != 0 || len(store.Records()) != 0 {
			t.Errorf("%d after %d runs", a.status, handle.ran())
		}
		if !strings.Contains(a.body, "Idempotency-Key is missing") || !strings.Contains(a.header.Get("Link"), "describedby") {
			t.Errorf("%v %s", a.header, a.body)
		}
	})
}

// Whether a key is needed is the guard's to say.
func TestAMissingKeyMayBeAllowed(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		api := s.newAPI(t, store, idempotent.Config{RunWithoutKey: true}, httpguard.Config{})
		handle := s.serve(api, createdBy)
		for range 2 {
			if a := handle.send(t.Context(), request{}); a.status != 201 || a.header.Get("Set-Cookie") == "" {
				t.Errorf("%d %v", a.status, a.header)
			}
		}
		if handle.ran() != 2 || len(store.Records()) != 0 {
			t.Errorf("%d runs, %d records", handle.ran(), len(store.Records()))
		}
	})
}

func TestTheKeyMayBeInTheBody(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{RunWithoutKey: true}, httpguard.Config{
			BodyKey: idempotency.MustJMESPath("payment_id"),
			MaxKey:  20,
		})
		handle := s.serve(api, createdBy)
		for _, step := range []struct {
			body   string
			status int
			runs   int
		}{
			{`{"payment_id":"p-1"}`, 201, 1},
			{`{ "payment_id": "p-1" }`, 201, 1},
			{`{"payment_id":"p-1","amount":1}`, 422, 1},
			{`{"payment_id":"p-2"}`, 201, 2},
			{`{"payment_id":"  "}`, 400, 2},
			{`{"payment_id":17}`, 400, 2},
			{`{"payment_id":"123456789012345678901"}`, 400, 2},
			{`no JSON`, 400, 2},
			{`{"payment_id":""}`, 201, 3}, // missing
			{`{}`, 201, 4},
			{``, 201, 5},
		} {
			if a := handle.send(t.Context(), request{body: step.body, user: "user-1"}); a.status != step.status || handle.ran() != step.runs {
				t.Errorf("%s: %d after %d runs, want %d after %d", step.body, a.status, handle.ran(), step.status, step.runs)
			}
		}
		// The header comes first, and gives the same key.
		if a := handle.send(t.Context(), key(`"p-1"`, `{"payment_id":"p-1"}`)); !a.replayed() {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}

// A body that neither claims to be JSON nor is has no key, and what that means is for the
// guard to say. One that claims it, or is it in spite of its type, is judged.
func TestABodyThatIsNoJSONHasNoKey(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		for unprotected, missing := range map[bool]int{true: 201, false: 400} {
			handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{RunWithoutKey: unprotected}, httpguard.Config{BodyKey: idempotency.MustJMESPath("id")}), createdBy)
			for _, step := range []struct {
				contentType, body string
				status            int
				code              string // of a 400
			}{
				{"application/x-www-form-urlencoded", "id=1", missing, "key_missing"},
				{"text/plain", "hello", missing, "key_missing"},
				{"application/octet-stream", "\x00", missing, "key_missing"},
				{"application/json", "id=1", 400, "key_unusable"},
				{"application/json", `{"id":"a"`, 400, "key_unusable"},
				{"text/plain", `{"id":7}`, 400, "key_unusable"},
				{"text/plain", `{"id":"a"}`, 201, ""},
			} {
				a := handle.send(t.Context(), request{header: http.Header{"Content-Type": {step.contentType}}, body: step.body, user: "user-1"})
				if a.status != step.status || a.status == 400 && !strings.Contains(a.body, `"code":"`+step.code+`"`) {
					t.Errorf("%s %q: %d %s", step.contentType, step.body, a.status, a.body)
				}
			}
		}
	})
}

// A Go function takes "Payment_ID" for payment_id: a body that has a name in another case is
// neither one with that key nor one without a key, and what is compared of it is all of it.
func TestNamesInAnotherCaseAreNoNames(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		config := httpguard.Config{BodyKey: idempotency.MustJMESPath("payment_id"), Compare: idempotency.MustJMESPath("amount")}
		handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{RunWithoutKey: true}, config), createdBy)
		for _, body := range []string{
			`{"payment_id":"x1","Payment_ID":"7","amount":1}`, `{"Payment_ID":"7","amount":1}`, `{"payment_\u0049d":"7","amount":1}`,
		} {
			if a := handle.send(t.Context(), request{body: body, user: "user-1"}); a.status != 400 || handle.ran() != 0 {
				t.Errorf("%s: %d after %d runs", body, a.status, handle.ran())
			}
		}
		for body, status := range map[string]int{`{"amount":1,"Amount":1000}`: 422, `{"amount":1,"note":"again"}`: 201} {
			handle.send(t.Context(), key(fmt.Sprint(len(body)), `{"amount":1}`))
			if a := handle.send(t.Context(), key(fmt.Sprint(len(body)), body)); a.status != status {
				t.Errorf("%s: %d, want %d", body, a.status, status)
			}
		}
	})
}

func TestAnotherRequestUnderTheKeyIsRefused(t *testing.T) {
	other := map[string]request{
		"method": {method: "PATCH", query: "a=1", body: "{}"},
		"path":   {path: "/payments/2", query: "a=1", body: "{}"},
		"query":  {query: "a=2", body: "{}"},
		"body":   {query: "a=1", body: `{"amount":1}`},
	}
	for policy, status := range map[httpguard.Mismatch]int{httpguard.Refuse422: 422, httpguard.Refuse409: 409, httpguard.ReplayFirst: 201} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			throughEveryShape(t, func(t *testing.T, s shape) {
				onEveryStore(t, func(t *testing.T, store persistence.Store) {
					api := s.newAPI(t, store, idempotent.Config{}, httpguard.Config{OnMismatch: policy})
					handle := s.serve(api, createdBy)
					first := key("a", "{}")
					first.query = "a=1"
					handle.send(t.Context(), first)
					for name, r := range other {
						r.header, r.user = first.header, first.user
						a := handle.send(t.Context(), r)
						if a.status != status || handle.ran() != 1 || a.replayed() != (policy == httpguard.ReplayFirst) {
							t.Errorf("another %s: %d after %d runs, replayed: %t", name, a.status, handle.ran(), a.replayed())
						}
						if a.header.Get("Retry-After") != "" {
							t.Errorf("another %s: to be repeated in %s", name, a.header.Get("Retry-After"))
						}
					}
					if a := handle.send(t.Context(), first); !a.replayed() {
						t.Errorf("the first request is not replayed any more: %d", a.status)
					}
				})
			})
		})
	}
}

// Spelling and transport do not make another request.
func TestTheFingerprint(t *testing.T) {
	jsonBody := `{"a":[1,2],"b":{"x":"ä","y":100}}`
	respelt := "{ \"b\": {\"y\":1e2, \"x\":\"\\u00e4\"},\n \"a\": [1.0, 2] }"
	tests := map[string]struct {
		first, second request
		same          bool
	}{
		"JSON":                         {request{body: jsonBody}, request{body: respelt}, true},
		"JSON, said so":                {typed("application/json", jsonBody), typed("Application/JSON; charset=utf-8", respelt), true},
		"some kind of JSON":            {typed("application/vnd.api+json", jsonBody), typed("application/json", respelt), true},
		"an array in another order":    {request{body: `[1,2]`}, request{body: `[2,1]`}, false},
		"large numbers":                {request{body: `9007199254740992`}, request{body: `9007199254740993`}, false},
		"text that looks like JSON":    {typed("text/plain", jsonBody), typed("text/plain", respelt), false},
		"text":                         {typed("text/plain", "a"), typed("text/plain", "a"), true},
		"other text":                   {typed("text/plain", "a"), typed("text/plain", "a "), false},
		"binary":                       {request{body: "\xff\x00"}, request{body: "\xff\x00"}, true},
		"other binary":                 {request{body: "\xff\x00"}, request{body: "\xfe\x00"}, false},
		"broken JSON":                  {request{body: `{"a":1`}, request{body: `{"a":1 `}, false},
		"a name twice":                 {request{body: `{"a":1,"a":2}`}, request{body: `{"a":2}`}, false},
		"nothing and null":             {request{body: ``}, request{body: `null`}, false},
		"the query's order":            {request{query: "a=1&b=2"}, request{query: "b=2&a=1"}, true},
		"the query's spelling":         {request{query: "a=%41+b"}, request{query: "a=A%20b"}, true},
		"a parameter's case":           {request{query: "a=1"}, request{query: "A=1"}, false},
		"names and values exchanged":   {request{query: "a=b"}, request{query: "b=a"}, false},
		"a value in the next name":     {request{query: "a=1&b=2"}, request{query: "a=1b&=2"}, false},
		"a query that can't be read":   {request{query: "a=%zz"}, request{query: "a=%yy"}, false},
		"headers that say nothing":     {request{header: http.Header{"Accept": {"a"}}}, request{header: http.Header{"Accept": {"b"}}}, true},
		"a query in the path":          {request{path: "/payments", query: "a=1"}, request{path: "/paymentsa", query: "=1"}, false},
		"the end of the path":          {request{path: "/payments"}, request{path: "/payments/"}, false},
		"an escaped slash in the path": {request{path: "/payments/a%2Fb"}, request{path: "/payments/a/b"}, false},
	}
	throughEveryShape(t, func(t *testing.T, s shape) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
				handle := s.serve(api, createdBy)
				var got []int
				for _, r := range []request{test.first, test.second} {
					r = r.withDefaults()
					r.user = "user-1"
					r.header.Set("Idempotency-Key", "a")
					got = append(got, handle.send(t.Context(), r).status)
				}
				if got[0] != 201 || (got[1] == 201) != test.same || !test.same && got[1] != 422 {
					t.Errorf("answered with %v", got)
				}
			})
		}
	})
}

// Decoded, a broken escape looks like an escaped percent sign, and an escaped
// semicolon like one that separates; handlers take them for different requests. REST
// APIs are not among these: their events have no raw query.
func TestQueriesThatDecodingWouldMakeOneDiffer(t *testing.T) {
	for _, s := range shapes {
		if strings.HasSuffix(s.name, "REST API") {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			for _, test := range [][2]string{
				{"to=%zz", "to=%25zz"}, {"a=1;to=eve", "a=1%3Bto=eve"}, {"to=%", "to=%25"},
			} {
				handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{}), createdBy)
				var got []int
				for _, query := range []string{test[0], test[0], test[1]} {
					r := key("a", "")
					r.query = query
					got = append(got, handle.send(t.Context(), r).status)
				}
				if !slices.Equal(got, []int{201, 201, 422}) {
					t.Errorf("%s twice, and %s: %v", test[0], test[1], got)
				}
			}
		})
	}
}

func TestWhatIsComparedCanBeChosen(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Compare: idempotency.MustJMESPath("[amount, currency]")})
		for _, bodies := range []struct {
			first, second string
			status        int
		}{
			{`{"amount":1,"currency":"EUR"}`, `{"currency":"EUR","amount":1.0,"note":"again"}`, 201},
			{`{"amount":1,"currency":"EUR"}`, `{"amount":2,"currency":"EUR"}`, 422},
			{`{"amount":1,"currency":"EUR"}`, `{"amount":1}`, 422},
			{`{"amount":1}`, `{"amount":1,"note":"again"}`, 422}, // all of it is compared
			{`{"amount":1}`, `{ "amount":1}`, 201},
			{`no JSON`, `no JSON`, 201},
			{`no JSON`, `No JSON`, 422},
			{`["a",1]`, `{"amount":"a","currency":1}`, 422},
		} {
			handle := s.serve(api, createdBy)
			name := fmt.Sprintf("%x", sha256.Sum256([]byte(bodies.first+bodies.second)))
			handle.send(t.Context(), key(name, bodies.first))
			if a := handle.send(t.Context(), key(name, bodies.second)); a.status != bodies.status {
				t.Errorf("%s, then %s: %d", bodies.first, bodies.second, a.status)
			}
		}
	})
}

func typed(contentType, body string) request {
	return request{header: http.Header{"Content-Type": {contentType}}, body: body}
}

// All values of a parameter count, in their order, wherever the shape has them.
func TestAllValuesOfAParameterCount(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		if s.name == "load balancer" {
			t.Skip("without multi-value headers a load balancer sends the last value only, to the handler too")
		}
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
		handle := s.serve(api, createdBy)
		for query, status := range map[string]int{"a=1&a=2": 201, "a=1&b=3&a=2": 422} {
			first, second := key(query, ""), key(query, "")
			first.query, second.query = "a=1&a=2", query
			handle.send(t.Context(), first)
			if a := handle.send(t.Context(), second); a.status != status {
				t.Errorf("%s: %d", query, a.status)
			}
		}
		first, second := key("order", ""), key("order", "")
		first.query, second.query = "a=1&a=2", "a=2&a=1"
		handle.send(t.Context(), first)
		if a := handle.send(t.Context(), second); a.status != 422 {
			t.Errorf("values in another order: %d", a.status)
		}
	})
}

func TestOtherMethodsPass(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{}), createdBy)
		for i, method := range []string{"GET", "HEAD", "OPTIONS", "PUT", "DELETE"} {
			for j, r := range []request{{}, key("a", ""), key(`"malformed`, "")} {
				r.method = method
				if a := handle.send(t.Context(), r); a.status != 201 || a.replayed() || handle.ran() != 3*i+j+1 {
					t.Errorf("%s: %d after %d runs", method, a.status, handle.ran())
				}
			}
		}
		if len(store.Records()) != 0 {
			t.Errorf("%d records", len(store.Records()))
		}
	})
}

func TestMethodsCanBeChosen(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Methods: []string{"PUT"}, Header: "x-token"})
		handle := s.serve(api, createdBy)
		for range 2 {
			handle.send(t.Context(), request{method: "PUT", header: http.Header{"X-Token": {"a"}}, user: "user-1"})
		}
		if handle.ran() != 1 {
			t.Errorf("%d runs of PUT", handle.ran())
		}
		handle.send(t.Context(), request{method: "POST"})
		if handle.ran() != 2 {
			t.Error("POST is covered")
		}
	})
}

func TestARunningDuplicateIsAConflict(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		synctest.Test(t, func(t *testing.T) {
			api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{})
			handle := s.serve(api, func(_ context.Context, run int) (answer, error) {
				time.Sleep(time.Minute) // virtual
				return created(run), nil
			})
			var first answer
			done := make(chan struct{})
			go func() {
				defer close(done)
				first = handle.send(context.Background(), key("a", "{}"))
			}()
			synctest.Wait()
			a := handle.send(t.Context(), key("a", "{}"))
			if a.status != 409 || a.header.Get("Retry-After") != "1" || a.replayed() {
				t.Errorf("%d, to be repeated in %q", a.status, a.header.Get("Retry-After"))
			}
			if a := handle.send(t.Context(), key("a", `{"amount":1}`)); a.status != 422 {
				t.Errorf("another request meanwhile: %d", a.status)
			}
			<-done
			if a := handle.send(t.Context(), key("a", "{}")); first.status != 201 || !a.replayed() || handle.ran() != 1 {
				t.Errorf("%d, then %d after %d runs", first.status, a.status, handle.ran())
			}
		})
	})
}

func TestAKeyIsForgottenWhenItExpires(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		synctest.Test(t, func(t *testing.T) {
			api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{TTL: time.Hour}, httpguard.Config{})
			handle := s.serve(api, createdBy)
			handle.send(t.Context(), key("a", "{}"))
			time.Sleep(time.Hour - time.Second) // virtual
			if a := handle.send(t.Context(), key("a", "{}")); !a.replayed() {
				t.Errorf("after an hour less a second: %d", a.status)
			}
			time.Sleep(3 * time.Second) // virtual
			if a := handle.send(t.Context(), key("a", `{"other":1}`)); a.status != 201 || a.replayed() || handle.ran() != 2 {
				t.Errorf("after it: %d after %d runs", a.status, handle.ran())
			}
		})
	})
}

// A lease that ends between two seconds is waited for to the end.
func TestRetryAfterIsRoundedUp(t *testing.T) {
	s := shapes[0]
	synctest.Test(t, func(t *testing.T) {
		api := s.newAPI(t, persistence.NewMemory(), idempotent.Config{Lease: 300 * time.Millisecond, ClockSkew: time.Millisecond}, httpguard.Config{})
		handle := s.serve(api, func(_ context.Context, run int) (answer, error) {
			time.Sleep(200 * time.Millisecond) // virtual
			return created(run), nil
		})
		go handle.send(context.Background(), key("a", ""))
		synctest.Wait()
		if a := handle.send(t.Context(), key("a", "")); a.status != 409 || a.header.Get("Retry-After") != "1" {
			t.Errorf("%d, to be repeated in %q", a.status, a.header.Get("Retry-After"))
		}
		time.Sleep(time.Second) // virtual; for the first to end
	})
}

// refusing is a store that records no outcome, but fails.
func refusing(behind persistence.Store, err error) persistence.Store {
	return lab.Before(behind, "complete", func() error { return err })
}

func TestEveryRefusalIsAProblemDocument(t *testing.T) {
	fault := func(retryable bool) error {
		return &persistence.Fault{Op: "acquire", Retryable: retryable, Err: errors.New("secret endpoint")}
	}
	dead := func(t *testing.T, m *persistence.Memory) { // makes of every record one whose run has died
		t.Helper()
		for _, r := range m.Records() {
			r.Status, r.Result = persistence.StatusProcessing, nil
			r.LeaseUntil = time.Now().Add(-time.Second)
			m.Put(r)
		}
	}
	tests := map[string]struct {
		guard      idempotent.Config
		config     httpguard.Config
		acquire    error
		complete   error
		between    func(*testing.T, *persistence.Memory) // the first request, which is the same, and this
		request    request
		deadline   time.Duration
		status     int
		code, done string
		retryAfter string
		runs       int
	}{
		"no key":         {request: request{}, status: 400, code: "key_missing", done: "nothing"},
		"unusable key":   {request: key(`"`, ""), status: 400, code: "key_unusable", done: "nothing"},
		"no scope":       {request: request{header: http.Header{"Idempotency-Key": {"a"}}}, status: 403, code: "caller_unknown", done: "nothing"},
		"body too large": {config: httpguard.Config{MaxBody: 3}, request: key("a", "1234"), status: 413, code: "body_too_large", done: "nothing"},
		"store is down": {acquire: fault(true), request: key("a", ""),
			status: 503, retryAfter: "1", code: "store_failed", done: "nothing"},
		"store refuses": {acquire: fault(false), request: key("a", ""), status: 503, code: "store_failed", done: "nothing"},
		"no time left":  {request: key("a", ""), deadline: -time.Second, status: 503, retryAfter: "1", code: "not_started", done: "nothing"},
		"not recorded":  {complete: fault(true), request: key("a", ""), status: 409, runs: 1, code: "not_stored", done: "all"},
		"lease lost": {complete: persistence.ErrLeaseLost, request: key("a", ""),
			status: 409, retryAfter: "1", runs: 1, code: "lease_lost", done: "all"},
		"response not kept": {request: key("a", ""), status: 409, runs: 1, code: "result_not_stored", done: "all",
			between: func(_ *testing.T, m *persistence.Memory) {
				for _, r := range m.Records() {
					r.Result, r.ResultOmitted = nil, true
					m.Put(r)
				}
			}},
		"outcome unknown": {guard: idempotent.Config{RefuseUnknown: true},
			request: key("a", ""), between: dead, status: 409, runs: 1, code: "outcome_unknown", done: "maybe"},
		"response can't be read": {request: key("a", ""), status: 500, runs: 1, code: "replay_unreadable", done: "all",
			between: func(_ *testing.T, m *persistence.Memory) {
				for _, r := range m.Records() {
					r.Result = []byte(`"another type"`)
					m.Put(r)
				}
			}},
		"a scope that fails": {request: key("a", ""), status: 503, retryAfter: "1", code: "scope_failed", done: "nothing",
			config: httpguard.Config{Scope: httpguard.ScopeFunc("s", func(context.Context, *httpguard.Request) (string, error) {
				return "", errors.New("secret endpoint")
			})}},
	}
	throughEveryShape(t, func(t *testing.T, s shape) {
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				memory := persistence.NewMemory()
				store := lab.Before(refusing(memory, test.complete), "acquire", func() error { return test.acquire })
				test.config.DocsURL, test.config.TypeBase = "https://docs.example/idempotency", "https://docs.example/problems/"
				handle := s.serve(s.newAPI(t, store, test.guard, test.config), createdBy)
				if test.between != nil {
					handle.send(t.Context(), test.request)
					test.between(t, memory)
				}
				ctx := t.Context()
				if test.deadline != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
					defer cancel()
				}
				a := handle.send(ctx, test.request)
				if a.err != nil || a.status != test.status || a.header.Get("Retry-After") != test.retryAfter || handle.ran() != test.runs {
					t.Errorf("%d (%v), to be repeated in %q, after %d runs", a.status, a.err, a.header.Get("Retry-After"), handle.ran())
				}
				var document struct {
					Type, Title, Detail, Code, Done string
					Status                          int
					Retry                           bool
				}
				if err := json.Unmarshal([]byte(a.body), &document); err != nil {
					t.Fatalf("%v: %s", err, a.body)
				}
				if document.Type != test.config.TypeBase+test.code || document.Code != test.code || document.Done != test.done ||
					document.Retry != (test.retryAfter != "") || document.Status != test.status || document.Title == "" || document.Detail == "" {
					t.Errorf("the document is %s", a.body)
				}
				if got := a.header.Get("Content-Type"); got != "application/problem+json" {
					t.Errorf("Content-Type is %q", got)
				}
				if got, want := a.header.Get("Link"), `<https://docs.example/idempotency>; rel="describedby"; type="text/html"`; got != want {
					t.Errorf("Link is %s", got)
				}
				if a.replayed() || a.header.Get("Set-Cookie") != "" || a.header.Get("Location") != "" {
					t.Errorf("the headers are %v", a.header)
				}
				if strings.Contains(a.body, "secret") {
					t.Errorf("the document tells too much: %s", a.body)
				}
			})
		}
	})
}

func TestAnErrorOfTheHandlerStaysAsItIs(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		failure := &idempotent.InProgressError{Key: "of a guard further in"}
		handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{}), func(_ context.Context, run int) (answer, error) {
			if run == 1 {
				return answer{}, failure
			}
			return created(run), nil
		})
		a := handle.send(t.Context(), key("a", ""))
		if strings.HasPrefix(s.name, "net/http") {
			if a.status != 500 {
				t.Errorf("%d", a.status)
			}
		} else if same, ok := a.err.(*idempotent.InProgressError); !ok || same.Key != failure.Key || !errors.Is(a.err, failure) { //nolint:errorlint // as it is
			t.Errorf("the error became %v", a.err)
		}
		if v := idempotent.VerdictOf(failure); v.Code != idempotent.CodeInProgress {
			t.Errorf("the handler's own copy says %v now", v.Code)
		}
		if len(store.Records()) != 0 {
			t.Errorf("records %v", statuses(store))
		}
		if a := handle.send(t.Context(), key("a", "")); a.status != 201 || handle.ran() != 2 {
			t.Errorf("the retry: %d", a.status)
		}
	})
}

// A permanent failure is an error each time; only typed handlers can have one.
func TestAPermanentFailureStaysAnError(t *testing.T) {
	throughEveryShape(t, func(t *testing.T, s shape) {
		if strings.HasPrefix(s.name, "net/http") {
			t.Skip("handlers of net/http return no errors")
		}
		handle := s.serve(s.newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{}), func(context.Context, int) (answer, error) {
			return answer{}, idempotent.Permanent(errors.New("declined"))
		})
		for range 2 {
			if a := handle.send(t.Context(), key("a", "")); !errors.Is(a.err, idempotent.ErrPermanent) || a.err.Error() != "declined" {
				t.Errorf("%d %v", a.status, a.err)
			}
		}
		if handle.ran() != 1 {
			t.Errorf("%d runs", handle.ran())
		}
	})
}

// With the guards switched off, as for local runs, nothing is refused: there is no
// authorizer to say who calls.
func TestSwitchedOffNothingIsRefused(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	throughEveryShape(t, func(t *testing.T, s shape) {
		store := persistence.NewMemory()
		handle := s.serve(s.newAPI(t, store, idempotent.Config{}, httpguard.Config{
			MaxBody: 5, BodyKey: idempotency.MustJMESPath("id"), CheckKey: func(string) error { return errors.New("never good enough") },
		}), createdBy)
		requests := []request{
			{}, key("a", ""), key("a", "other"), key(`"malformed`, ""), {header: http.Header{"Idempotency-Key": {"a"}}},
			key("a", "longer than MaxBody"), {body: `{"id":`}, {body: `{"id":7}`},
		}
		for _, r := range requests {
			a := handle.send(t.Context(), r)
			if a.status != http.StatusCreated || a.replayed() || a.header.Get("Idempotency-Key-Expires") != "" {
				t.Errorf("%v %q: %d %v %s", r.header, r.body, a.status, a.header, a.body)
			}
		}
		if handle.ran() != len(requests) || len(store.Records()) != 0 {
			t.Errorf("%d runs, %d records", handle.ran(), len(store.Records()))
		}
	})
}

// The middleware then leaves the body alone as well, and has no answer of its own for a
// handler that gives up.
func TestSwitchedOffTheMiddlewareOnlyPassesOn(t *testing.T) {
	t.Setenv("IDEMPOTENCY_DISABLED", "true")
	api := shapes[0].newAPI(t, persistence.NewMemory(), idempotent.Config{}, httpguard.Config{Scope: httpguard.Unscoped()})
	for name, test := range map[string]struct {
		front  func(*http.Request)
		handle http.HandlerFunc
		want   string
	}{
		"a body read in front": {front: func(r *http.Request) { io.Copy(io.Discard, r.Body) },
			handle: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "paid") }, want: "200 paid"},
		"a body that is not read": {front: func(r *http.Request) {
			r.Body = io.NopCloser(iotest.ErrReader(errors.New("nobody may read it")))
		}, handle: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "paid") }, want: "200 paid"},
		"a body in the handler": {handle: echo, want: "2 {}"},
		"a client that is gone": {front: func(r *http.Request) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			*r = *r.WithContext(ctx)
		}, handle: func(http.ResponseWriter, *http.Request) {}, want: "200"},
	} {
		t.Run(name, func(t *testing.T) {
			r := key("a", "{}").httpRequest(t.Context())
			if test.front != nil {
				test.front(r)
			}
			w := httptest.NewRecorder()
			api.Middleware(test.handle).ServeHTTP(w, r)
			if got := fmt.Sprint(w.Code, " ", w.Body); !strings.HasSuffix(strings.TrimSpace(got), test.want) {
				t.Errorf("answered with %s, want %s", got, test.want)
			}
		})
	}
}
