package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

// busy answers "come back" for some time, and then with 201.
type busy struct {
	until time.Time
	with  answer
	sent  int
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	b.sent++
	r.Body.Close()
	a := answer{status: http.StatusCreated}
	if time.Now().Before(b.until) {
		a = b.with
	}
	header := make(http.Header)
	for name, value := range a.header {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

// While the server says when to come back the client goes by time: by the deadline of the
// context, or two minutes, and not by a number of tries.
func TestWhoIsToldToComeBackGoesByTime(t *testing.T) {
	later := answer{status: 409, header: map[string]string{"Retry-After": "1"}}
	for name, c := range map[string]struct {
		config  client.Config
		with    answer
		busy    time.Duration
		timeout time.Duration // of the context
		status  int
		atMost  time.Duration // until the answer
	}{
		"a dead run's lease":       {with: later, busy: 11 * time.Second, status: 201, atMost: 25 * time.Second},
		"a lease of a minute":      {with: later, busy: 62 * time.Second, status: 201, atMost: 90 * time.Second},
		"throttled":                {with: answer{status: 429, header: later.header}, busy: time.Minute, status: 201, atMost: 90 * time.Second},
		"not available":            {with: answer{status: 503, header: later.header}, busy: time.Minute, status: 201, atMost: 90 * time.Second},
		"for ever":                 {with: later, busy: time.Hour, status: 409, atMost: 2 * time.Minute},
		"a long pause":             {with: answer{status: 409, header: map[string]string{"Retry-After": "100"}}, busy: 99 * time.Second, status: 201, atMost: 101 * time.Second},
		"a context with more time": {with: later, busy: 5 * time.Minute, timeout: 10 * time.Minute, status: 201, atMost: 6 * time.Minute},
		"a context with less time": {with: later, busy: time.Minute, timeout: 10 * time.Second, status: 409, atMost: 10 * time.Second},
		"less patience":            {config: client.Config{Patience: 5 * time.Second}, with: later, busy: time.Minute, status: 409, atMost: 5 * time.Second},
		"less patience than time":  {config: client.Config{Patience: 5 * time.Second}, with: later, busy: time.Minute, timeout: time.Minute, status: 409, atMost: 5 * time.Second},
		"more patience":            {config: client.Config{Patience: 10 * time.Minute}, with: later, busy: 5 * time.Minute, status: 201, atMost: 6 * time.Minute},
		"a number of tries":        {config: client.Config{Tries: 2}, with: later, busy: time.Minute, status: 409, atMost: 2 * time.Second},
		"told nothing":             {with: answer{status: 503}, busy: time.Minute, status: 503, atMost: 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				c.config.Transport = &busy{until: began.Add(c.busy), with: c.with}
				ctx := t.Context()
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
				}
				resp, err := newTransport(t, c.config).RoundTrip(newRequest(ctx, http.MethodPost, "{}"))
				if err != nil || resp.StatusCode != c.status || time.Since(began) > c.atMost {
					t.Errorf("got %v, %v after %v", resp, err, time.Since(began))
				}
			})
		})
	}
}

// Outcomes that say nothing of a time are counted, whatever comes between them.
func TestWhoIsToldNothingGoesByTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		later := answer{status: 409, header: map[string]string{"Retry-After": "1"}}
		w := &wire{script: []answer{{err: io.EOF}, later, {status: 500}, later, {err: io.EOF}, later, {status: 502}, later, {status: 504}, {status: 201}}}
		resp, err := newTransport(t, client.Config{Transport: w}).RoundTrip(post(t))
		if err != nil || resp.StatusCode != http.StatusGatewayTimeout || len(w.sent) != 9 {
			t.Errorf("got %v, %v after %d tries", resp, err, len(w.sent))
		}
	})
}

// An API may say "in use" in words of its own: the caller decides what they mean.
func TestTheCallerDecidesWhatAnAnswerMeans(t *testing.T) {
	inUse := answer{status: 409, body: `{"error":{"code":"idempotency_key_in_use","n":1}}`}
	conflict := answer{status: 409, body: `{"error":{"code":"out_of_stock"}}`}
	byCode := func(resp *http.Response, _ error) client.Decision {
		var body struct{ Error struct{ Code string } }
		if resp == nil || resp.StatusCode != http.StatusConflict || json.NewDecoder(resp.Body).Decode(&body) != nil {
			return client.AsUsual
		}
		if body.Error.Code == "idempotency_key_in_use" {
			return client.SendAgain
		}
		return client.Return
	}
	brokenOff := errors.New("broken off")
	for name, c := range map[string]struct {
		config client.Config
		script []answer
		status int
		err    error
		body   string
		sent   int
	}{
		"in use, and then answered": {config: client.Config{Form: client.Bare, Decide: byCode}, script: []answer{inUse, inUse, {status: 201, body: "paid"}}, status: 201, body: "paid", sent: 3},
		"in use for longer than five tries": {config: client.Config{Decide: byCode}, script: []answer{inUse, inUse, inUse, inUse, inUse, inUse, inUse, {status: 201, body: "paid"}},
			status: 201, body: "paid", sent: 8},
		"in use, and a number of tries": {config: client.Config{Decide: byCode, Tries: 2}, script: []answer{inUse}, status: 409, body: inUse.body, sent: 2},
		"in use, and no more tries":     {config: client.Config{Decide: byCode, Tries: 1}, script: []answer{inUse}, status: 409, body: inUse.body, sent: 1},
		"another conflict":              {config: client.Config{Decide: byCode}, script: []answer{conflict}, status: 409, body: conflict.body, sent: 1},
		"as usual":                      {config: client.Config{Decide: byCode, Tries: 2}, script: []answer{{status: 503, body: "not now"}}, status: 503, body: "not now", sent: 2},
		"no decision":                   {config: client.Config{Form: client.Bare}, script: []answer{inUse}, status: 409, body: inUse.body, sent: 1},
		"a 503 that is final":           {config: client.Config{Decide: func(*http.Response, error) client.Decision { return client.Return }}, script: []answer{{status: 503, body: "closed"}}, status: 503, body: "closed", sent: 1},
		"an error that is final":        {config: client.Config{Decide: func(*http.Response, error) client.Decision { return client.Return }}, script: []answer{{err: brokenOff}}, err: brokenOff, sent: 1},
		"Retry-After, and in use no more": {config: client.Config{Decide: func(*http.Response, error) client.Decision { return client.Return }}, script: []answer{{status: 409, header: map[string]string{"Retry-After": "1"}, body: "no"}},
			status: 409, body: "no", sent: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{script: c.script}
				c.config.Transport = w
				resp, err := newTransport(t, c.config).RoundTrip(post(t))
				if !errors.Is(err, c.err) || len(w.sent) != c.sent {
					t.Fatalf("got %v, %v after %d tries", resp, err, len(w.sent))
				}
				if c.err != nil {
					return
				}
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != c.status || string(body) != c.body || err != nil {
					t.Errorf("got %d %q, %v", resp.StatusCode, body, err)
				}
				last := w.given[len(w.given)-1]
				if err := resp.Body.Close(); err != nil || last.closed != 1 {
					t.Errorf("the body is closed %d times, %v", last.closed, err)
				}
			})
		})
	}
}

// Nobody is asked about what can't be sent again.
func TestNobodyDecidesWhatCannotBeRepeated(t *testing.T) {
	w := &wire{script: []answer{{status: 503}}}
	transport := newTransport(t, client.Config{Transport: w, Decide: func(*http.Response, error) client.Decision {
		t.Error("asked")
		return client.SendAgain
	}})
	if _, err := transport.RoundTrip(newRequest(t.Context(), "LOCK", "{}")); err != nil || len(w.sent) != 1 {
		t.Errorf("%d tries, %v", len(w.sent), err)
	}
}

// A server that knows that another try is of no use says so, and is believed.
func TestTheVerdictOfTheServerIsBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, body string
		sent              int
	}{
		"not for repeating": {"application/problem+json", `{"code":"store_failed","done":"nothing","retry":false}`, 1},
		"with a parameter":  {"application/problem+json; charset=utf-8", `{"code":"store_failed","done":"nothing","retry":false}`, 1},
		"in capitals":       {"Application/Problem+JSON", `{"code":"store_failed","done":"nothing","retry":false}`, 1},
		"to be repeated":    {"application/problem+json", `{"code":"store_failed","done":"nothing","retry":true}`, 5},
		"no verdict":        {"application/problem+json", `{"title":"down","retry":false}`, 5},
		"another's words":   {"application/problem+json", `{"code":7,"done":"nothing","retry":false}`, 5},
		"no JSON":           {"application/problem+json", `{"code":"store_failed","done":`, 5},
		"too long":          {"application/problem+json", `{"detail":"` + strings.Repeat("x", 20_000) + `","code":"store_failed","done":"nothing","retry":false}`, 5},
		"no problem":        {"application/json", `{"code":"store_failed","done":"nothing","retry":false}`, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{script: []answer{{status: 503, header: map[string]string{"Content-Type": c.contentType}, body: c.body}}}
				resp, err := newTransport(t, client.Config{Transport: w}).RoundTrip(post(t))
				if err != nil || len(w.sent) != c.sent {
					t.Fatalf("%d tries, %v", len(w.sent), err)
				}
				if body, err := io.ReadAll(resp.Body); string(body) != c.body || err != nil {
					t.Errorf("the body is %.100q, %v", body, err)
				}
			})
		})
	}
}

// A problem document that does not come to its end holds nobody up: not beyond a second, the
// patience or the context. Who gets the response reads all that there is of it.
func TestAProblemThatStallsIsNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		config  client.Config
		timeout time.Duration
		atMost  time.Duration
	}{
		"two tries":       {client.Config{Tries: 2}, time.Hour, 3 * time.Second},
		"little patience": {client.Config{Tries: 2, Patience: 10 * time.Millisecond}, time.Hour, time.Second},
		"little time":     {client.Config{}, 10 * time.Millisecond, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), c.timeout)
				defer cancel()
				var writer *io.PipeWriter
				c.config.Transport = transportFunc(func(r *http.Request) (*http.Response, error) {
					var body *io.PipeReader
					body, writer = io.Pipe()
					return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {"application/problem+json"}}, Body: body}, r.Body.Close()
				})
				resp, err := newTransport(t, c.config).RoundTrip(newRequest(ctx, http.MethodPost, "{}"))
				if err != nil || time.Since(began) > c.atMost {
					t.Fatalf("got %v, %v after %v", resp, err, time.Since(began))
				}
				go func() {
					_, _ = io.WriteString(writer, `{"code":`)
					writer.Close()
				}()
				if body, err := io.ReadAll(resp.Body); string(body) != `{"code":` || err != nil {
					t.Errorf("the body is %q, %v", body, err)
				}
				resp.Body.Close()
			})
		})
	}
}
