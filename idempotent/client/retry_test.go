package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ikkai-go/idempotency/idempotent/client"
)

func TestWhatIsDoneWithEachAnswer(t *testing.T) {
	later := map[string]string{"Retry-After": "1"}
	again := map[string]answer{
		"409, still running":   {status: 409, header: later},
		"429":                  {status: 429},
		"429 with a time":      {status: 429, header: later},
		"500":                  {status: 500},
		"502":                  {status: 502},
		"503":                  {status: 503},
		"503 with a time":      {status: 503, header: later},
		"504":                  {status: 504},
		"connection refused":   {err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED)},
		"connection reset":     {err: fmt.Errorf("read: %w", syscall.ECONNRESET)},
		"closed, no answer":    {err: io.EOF},
		"broken off":           {err: io.ErrUnexpectedEOF},
		"a try's own time-out": {err: context.DeadlineExceeded},
		"an unnamed error":     {err: errors.New("http2: server sent GOAWAY")},
	}
	settled := map[string]answer{
		"409 of the application":  {status: 409},
		"409, time not readable":  {status: 409, header: map[string]string{"Retry-After": "soon"}},
		"certificate not trusted": {err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}},
		"no TLS":                  {err: tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}},
	}
	for _, status := range []int{101, 200, 201, 202, 204, 301, 304, 307, 308, 400, 401, 402, 403, 404, 405, 406, 408,
		410, 412, 413, 415, 422, 423, 424, 425, 428, 431, 451, 501, 505, 507, 511} {
		settled[strconv.Itoa(status)] = answer{status: status}
		settled[strconv.Itoa(status)+" with a time"] = answer{status: status, header: later}
	}
	for tries, answers := range map[int]map[string]answer{3: again, 1: settled} {
		for name, a := range answers {
			for _, method := range []string{http.MethodPost, http.MethodGet} {
				t.Run(method+"/"+name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := &wire{script: []answer{a}}
						transport := newTransport(t, client.Config{Transport: w, Tries: 3})
						resp, err := transport.RoundTrip(newRequest(t.Context(), method, ""))
						if !errors.Is(err, a.err) || a.err == nil && resp.StatusCode != a.status {
							t.Errorf("got %v, %v", resp, err)
						}
						if len(w.sent) != tries {
							t.Errorf("%d tries, want %d", len(w.sent), tries)
						}
					})
				})
			}
		}
	}
}

func TestAnErrorOfTheLastTryIsReturnedAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusedHere := errors.New("refused")
		w := &wire{script: []answer{{status: 503}, {err: refusedHere}}}
		resp, err := newTransport(t, client.Config{Transport: w, Tries: 2}).RoundTrip(post(t))
		if resp != nil || err != refusedHere { // not even wrapped: net/http asks errors what they are
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

func TestTheLastResponseIsReturnedAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{script: []answer{{err: io.EOF}, {status: 503, body: "not now"}, {status: 500, body: "still not",
			header: map[string]string{"X-Request-Id": "3"}}}}
		resp, err := newTransport(t, client.Config{Transport: w, Tries: 3}).RoundTrip(post(t))
		if err != nil || resp.StatusCode != http.StatusInternalServerError || resp.Header.Get("X-Request-Id") != "3" {
			t.Fatalf("got %v, %v", resp, err)
		}
		if last := w.given[1]; last.ended || last.closed != 0 {
			t.Errorf("the body is read (%t) or closed (%d times)", last.ended, last.closed)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "still not" || err != nil {
			t.Errorf("its body is %q, %v", body, err)
		}
	})
}

// Whatever happens, all tries of a request have the same key and body, and no two
// requests have the same key.
func TestEveryTryCarriesTheSameKey(t *testing.T) {
	outcomes := []answer{{err: io.EOF}, {status: 500}, {status: 429}, {status: 201}, {status: 400},
		{status: 409, header: map[string]string{"Retry-After": "3"}}}
	random := rand.New(rand.NewPCG(45, 47))
	seen := make(map[string]bool)
	for range 200 {
		var script []answer
		for range 1 + random.IntN(6) {
			script = append(script, outcomes[random.IntN(len(outcomes))])
		}
		synctest.Test(t, func(t *testing.T) {
			w := &wire{script: script}
			_, _ = newTransport(t, client.Config{Transport: w, Tries: 5}).RoundTrip(post(t))
			key := w.keys()[0]
			if key == "" || seen[key] {
				t.Fatalf("%s is no new key", key)
			}
			seen[key] = true
			for i, s := range w.sent {
				if w.keys()[i] != key || s.body != `{"amount": 10}` {
					t.Errorf("try %d has key %s and body %s, the first had %s", i+1, w.keys()[i], s.body, key)
				}
			}
			if len(w.sent) > 5 {
				t.Errorf("%d tries", len(w.sent))
			}
		})
	}
}

func TestPausesDoubleAndAreNeverTheSame(t *testing.T) {
	limits := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
	seen := make(map[time.Duration]bool)
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{script: []answer{{status: 503}}}
			transport := newTransport(t, client.Config{Transport: w, Tries: 6, FirstPause: time.Second, MaxPause: 5 * time.Second})
			if _, err := transport.RoundTrip(post(t)); err != nil {
				t.Fatal(err)
			}
			for i, pause := range w.pauses() {
				if pause < limits[i]/2 || pause > limits[i] {
					t.Errorf("pause %d is %v, want between %v and %v", i+1, pause, limits[i]/2, limits[i])
				}
				seen[pause] = true
			}
		})
	}
	if len(seen) < 240 {
		t.Errorf("only %d of 250 pauses differ", len(seen))
	}
}

// The bubble's clock starts at midnight on the first of January 2000.
func TestRetryAfterIsHonoured(t *testing.T) {
	const ownPause = 100 * time.Millisecond
	for name, c := range map[string]struct {
		after, date string
		want        time.Duration // at least; 0 means not sent again
	}{
		"seconds":                    {after: "3", want: 3 * time.Second},
		"seconds, blank around":      {after: " 3 ", want: 3 * time.Second},
		"leading zeros":              {after: "003", want: 3 * time.Second},
		"at once":                    {after: "0", want: ownPause / 2},
		"the longest pause":          {after: "20", want: 20 * time.Second},
		"more than that":             {after: "21", want: 21 * time.Second},
		"as long as it is patient":   {after: "119", want: 119 * time.Second},
		"more than that, by far":     {after: "121"},
		"a day":                      {after: "86400"},
		"more than a duration holds": {after: "9223372037"},
		"more than a number holds":   {after: "99999999999999999999"},
		"a date":                     {after: "Sat, 01 Jan 2000 00:00:07 GMT", want: 7 * time.Second},
		"a date of the old kind":     {after: "Saturday, 01-Jan-00 00:00:07 GMT", want: 7 * time.Second},
		"a date gone by":             {after: "Fri, 31 Dec 1999 23:59:59 GMT", want: ownPause / 2},
		"a date beyond a pause":      {after: "Sat, 01 Jan 2000 00:00:21 GMT", want: 21 * time.Second},
		"a date too late":            {after: "Sat, 01 Jan 2000 00:02:01 GMT"},
		"a date by another clock":    {after: "Mon, 03 Jan 2000 10:00:04 GMT", date: "Mon, 03 Jan 2000 10:00:00 GMT", want: 4 * time.Second},
		"a date, clock not readable": {after: "Sat, 01 Jan 2000 00:00:07 GMT", date: "today", want: 7 * time.Second},
		"a negative number":          {after: "-3", want: ownPause / 2},
		"a signed number":            {after: "+3", want: ownPause / 2},
		"a fraction":                 {after: "3.5", want: ownPause / 2},
		"a word":                     {after: "soon", want: ownPause / 2},
		"nothing":                    {after: "", want: ownPause / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				header := map[string]string{"Retry-After": c.after}
				if c.date != "" {
					header["Date"] = c.date
				}
				w := &wire{script: []answer{{status: 503, header: header}, {status: 201}}}
				transport := newTransport(t, client.Config{Transport: w, FirstPause: ownPause})
				resp, err := transport.RoundTrip(post(t))
				if err != nil {
					t.Fatal(err)
				}
				if c.want == 0 {
					if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != c.after || len(w.sent) != 1 || w.given[0].closed != 0 {
						t.Errorf("got %v after %d tries", resp, len(w.sent))
					}
					return
				}
				if pause := w.pauses()[0]; resp.StatusCode != http.StatusCreated || pause < c.want || pause >= c.want+ownPause {
					t.Errorf("got %d after %v, want %v", resp.StatusCode, pause, c.want)
				}
			})
		})
	}
}

// Spreading those that were told the same second adds nothing to the longest pause.
func TestNoPauseIsLongerThanTheLongest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			w := &wire{script: []answer{{status: 503, header: map[string]string{"Retry-After": "5"}}, {status: 201}}}
			transport := newTransport(t, client.Config{Transport: w, FirstPause: 5 * time.Second, MaxPause: 5 * time.Second})
			if _, err := transport.RoundTrip(post(t)); err != nil {
				t.Fatal(err)
			}
			if pause := w.pauses()[0]; pause != 5*time.Second {
				t.Errorf("a pause of %v", pause)
			}
		}
	})
}

// A server that asks for a second each time is asked less and less often.
func TestRetryAfterMakesNoPauseShorter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{script: []answer{{status: 409, header: map[string]string{"Retry-After": "1"}}}}
		transport := newTransport(t, client.Config{Transport: w, Tries: 6, FirstPause: time.Second})
		if _, err := transport.RoundTrip(post(t)); err != nil {
			t.Fatal(err)
		}
		if pauses := w.pauses(); pauses[4] < 8*time.Second {
			t.Error(pauses)
		}
	})
}

func TestNoPauseGoesBeyondTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		answer answer
		tries  int // at most, by the shortest pauses there can be
	}{
		"backoff":               {answer{status: 503}, 5},
		"connection lost":       {answer{err: io.EOF}, 5},
		"asked for a long time": {answer{status: 409, header: map[string]string{"Retry-After": "10"}}, 1},
		"asked for all of it":   {answer{status: 409, header: map[string]string{"Retry-After": "8"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				w, began := &wire{script: []answer{c.answer}}, time.Now()
				transport := newTransport(t, client.Config{Transport: w, Tries: 100, FirstPause: time.Second})
				resp, err := transport.RoundTrip(newRequest(ctx, http.MethodPost, ""))
				if !errors.Is(err, c.answer.err) || err == nil && resp.StatusCode != c.answer.status {
					t.Errorf("got %v, %v", resp, err)
				}
				if took := time.Since(began); len(w.sent) > c.tries || c.tries == 1 && took > 0 || ctx.Err() != nil {
					t.Errorf("%d tries in %v, context %v", len(w.sent), took, ctx.Err())
				}
			})
		})
	}
}

func TestAContextThatEndsEndsAPause(t *testing.T) {
	ownReason := errors.New("shutting down")
	for name, want := range map[string]error{"cancelled": context.Canceled, "with a cause": ownReason} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				w, began := &wire{script: []answer{{status: 503, body: "not now"}}}, time.Now()
				transport := newTransport(t, client.Config{Transport: w, FirstPause: 10 * time.Second})
				time.AfterFunc(time.Second, func() { cancel(want) })
				resp, err := transport.RoundTrip(newRequest(ctx, http.MethodPost, ""))
				if resp != nil || !errors.Is(err, want) || time.Since(began) != time.Second {
					t.Errorf("got %v, %v after %v", resp, err, time.Since(began))
				}
				if !w.given[0].ended || w.given[0].closed != 1 {
					t.Error("the response that is not returned is left open")
				}
			})
		})
	}
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &wire{script: []answer{{status: 201}}}
	transport := newTransport(t, client.Config{Transport: w, OnNewKey: func(*http.Request, string) error {
		t.Error("a key is made for nothing")
		return nil
	}})
	r, body := newRequest(ctx, http.MethodPost, ""), &content{Reader: strings.NewReader("x")}
	r.Body = body
	if resp, err := transport.RoundTrip(r); resp != nil || !errors.Is(err, context.Canceled) || len(w.sent) != 0 || body.closed != 1 {
		t.Errorf("got %v, %v; %d sent, body closed %d times", resp, err, len(w.sent), body.closed)
	}
}

// A context that ends while a try is under way is the transport's beneath to
// notice. What that returns is the end of it.
func TestAContextThatEndsDuringATryEndsThere(t *testing.T) {
	brokenOff := errors.New("broken off")
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		},
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := end(t.Context())
				defer cancel()
				tries := 0
				transport := newTransport(t, client.Config{
					Transport: transportFunc(func(r *http.Request) (*http.Response, error) {
						tries++
						<-r.Context().Done()
						return nil, brokenOff
					}),
					OnRetry: func(context.Context, client.Retry) { t.Error("another try is announced") },
				})
				if _, err := transport.RoundTrip(newRequest(ctx, http.MethodPost, "")); !errors.Is(err, brokenOff) || tries != 1 {
					t.Errorf("got %v after %d tries", err, tries)
				}
			})
		})
	}
}

func TestAClientsTimeoutBoundsAllTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := &wire{script: []answer{{status: 503}}}, time.Now()
		httpClient := &http.Client{
			Transport: newTransport(t, client.Config{Transport: w, Tries: 100, FirstPause: time.Second}),
			Timeout:   8 * time.Second,
		}
		resp, err := httpClient.Do(post(t))
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || time.Since(began) >= 8*time.Second || len(w.sent) < 3 {
			t.Fatalf("got %v, %v after %v and %d tries", resp, err, time.Since(began), len(w.sent))
		}
		resp.Body.Close()
	})
}

func TestEachRetryIsToldBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var told []client.Retry
		var at []time.Duration
		w := &wire{script: []answer{{status: 503}, {err: io.EOF}, {status: 201}}}
		transport := newTransport(t, client.Config{Transport: w, OnRetry: func(ctx context.Context, r client.Retry) {
			if key, _ := client.KeyFrom(ctx); key != r.Key {
				t.Errorf("the context has key %s, the retry %s", key, r.Key)
			}
			told, at = append(told, r), append(at, time.Since(began)+r.Pause)
		}})
		if _, err := transport.RoundTrip(newRequest(client.WithKey(t.Context(), "k-1"), http.MethodPost, "")); err != nil {
			t.Fatal(err)
		}
		for i := range told {
			if sentAt := w.sent[i+1].at.Sub(began); sentAt != at[i] {
				t.Errorf("try %d was told for %v and came at %v", i+2, at[i], sentAt)
			}
			told[i].Pause = 0
		}
		if want := []client.Retry{{Key: "k-1", Tries: 1, Status: 503}, {Key: "k-1", Tries: 2, Err: io.EOF}}; !slices.Equal(told, want) {
			t.Errorf("told %+v, want %+v", told, want)
		}
	})
}

// transportFunc is a transport that is a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A transport beneath that breaks its contract is reported by http.Client, not
// by a panic in here.
func TestNoResponseAndNoErrorIsPassedOn(t *testing.T) {
	transport := newTransport(t, client.Config{Transport: transportFunc(func(*http.Request) (*http.Response, error) {
		return nil, nil // the breach
	})})
	if resp, err := transport.RoundTrip(post(t)); resp != nil || err != nil {
		t.Errorf("got %v, %v", resp, err)
	}
	_, err := (&http.Client{Transport: transport}).Do(post(t))
	if err == nil || !strings.Contains(err.Error(), "nil *Response") {
		t.Error(err)
	}
}
