package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/ikkai-go/idempotency/idempotent"
	"github.com/ikkai-go/idempotency/idempotent/httpguard"
	"github.com/ikkai-go/idempotency/persistence"
)

// streamOf is the rest of a streamed response, as Lambda's runtime reads it.
func streamOf(body io.Reader) (string, error) {
	if body == nil {
		return "", nil
	}
	text, err := io.ReadAll(body)
	if closer, ok := body.(io.Closer); ok {
		err = errors.Join(err, closer.Close())
	}
	return string(text), err
}

func throughStreamedFunctionURL(api *httpguard.API, handle handler) func(context.Context, request) answer {
	fn := api.StreamedFunctionURL(func(ctx context.Context, _ events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		a, err := handle(ctx)
		if err != nil {
			return nil, err
		}
		r := &events.LambdaFunctionURLStreamingResponse{StatusCode: a.status, Body: strings.NewReader(a.body)}
		r.Headers, r.Cookies = join(a.header)
		return r, nil
	})
	return func(ctx context.Context, r request) answer {
		w, err := fn(ctx, urlEvent(r.withDefaults()))
		if err != nil {
			return answer{err: err}
		}
		body, err := streamOf(w.Body)
		return answer{w.StatusCode, merge(w.Headers, nil, w.Cookies...), body, err}
	}
}

func throughStreamedRESTAPI(api *httpguard.API, handle handler) func(context.Context, request) answer {
	fn := api.StreamedRESTAPI(func(ctx context.Context, _ events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error) {
		a, err := handle(ctx)
		if err != nil {
			return nil, err
		}
		r := &events.APIGatewayProxyStreamingResponse{StatusCode: a.status, Body: strings.NewReader(a.body)}
		r.Headers, r.MultiValueHeaders = split(a.header)
		return r, nil
	})
	return func(ctx context.Context, r request) answer {
		w, err := fn(ctx, restEvent(r.withDefaults()))
		if err != nil {
			return answer{err: err}
		}
		body, err := streamOf(w.Body)
		return answer{w.StatusCode, merge(w.Headers, w.MultiValueHeaders), body, err}
	}
}

// parts is a body that comes in parts, and says when each was asked for.
type parts struct {
	left   []string
	asked  func(part string)
	ends   error // nil is the end
	closed bool
}

func (p *parts) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		if p.ends != nil {
			return 0, p.ends
		}
		return 0, io.EOF
	}
	if p.asked != nil {
		p.asked(p.left[0])
	}
	n := copy(b, p.left[0])
	p.left = p.left[1:]
	return n, nil
}

func (p *parts) Close() error {
	p.closed = true
	return nil
}

// streamed is a function URL whose responses are streamed.
type streamed struct {
	*testing.T
	memory *persistence.Memory
	header map[string]string
	runs   int
	url    func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error)
}

func newStreamed(t *testing.T, config httpguard.Config, body func(ctx context.Context) io.Reader) *streamed {
	memory := persistence.NewMemory()
	return newStreamedOn(t, memory, memory, config, body)
}

func newStreamedOn(t *testing.T, memory *persistence.Memory, store persistence.Store, config httpguard.Config, body func(ctx context.Context) io.Reader) *streamed {
	s := &streamed{T: t, memory: memory, header: map[string]string{"Content-Type": "text/plain"}}
	config.Scope = httpguard.ByIAMPrincipal()
	s.url = (shape{}).newAPI(t, store, idempotent.Config{}, config).StreamedFunctionURL(
		func(ctx context.Context, _ events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
			s.runs++
			return &events.LambdaFunctionURLStreamingResponse{StatusCode: 201, Headers: s.header, Body: body(ctx)}, nil
		})
	return s
}

func (s *streamed) send(ctx context.Context) *events.LambdaFunctionURLStreamingResponse {
	s.Helper()
	w, err := s.url(ctx, urlEvent(key("k", "{}").withDefaults()))
	if err != nil {
		s.Fatal(err)
	}
	return w
}

// gets says if the next response is another.
func (s *streamed) gets(status int, body string, runs int) {
	s.Helper()
	w := s.send(s.Context())
	got, err := streamOf(w.Body)
	if w.StatusCode != status || err != nil || !strings.Contains(got, body) || s.runs != runs {
		s.Errorf("%d %q, %v after %d runs, want %d %q after %d", w.StatusCode, got, err, s.runs, status, body, runs)
	}
}

func TestAStreamIsPassedOnAsItComesAndReplayedAsAWhole(t *testing.T) {
	var got strings.Builder
	p := &parts{left: []string{"one ", "two ", "three"}}
	s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader { return p })
	p.asked = func(part string) {
		if part == "three" && got.String() != "one " {
			t.Errorf("the third part is asked for before the first was passed on: %q", got.String())
		}
		if got := statuses(s.memory); len(got) != 1 || got[0] != persistence.StatusProcessing {
			t.Errorf("in the middle of the stream: %v", got)
		}
	}
	w := s.send(t.Context())
	for b := make([]byte, 2); ; { // smaller than the parts
		n, err := w.Body.Read(b)
		got.Write(b[:n])
		if err != nil {
			break
		}
	}
	if got.String() != "one two three" || !p.closed {
		t.Errorf("got %q, closed: %v", got.String(), p.closed)
	}
	if got := statuses(s.memory); len(got) != 1 || got[0] != persistence.StatusCompleted {
		t.Errorf("the client has all of it, and the record is %v", got)
	}
	s.gets(201, "one two three", 1)
}

func TestAClientThatIsGoneGetsTheStreamWithItsNextTry(t *testing.T) {
	s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader { return &parts{left: []string{"one ", "two"}} })
	w := s.send(t.Context())
	if _, err := w.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil { // as Lambda's runtime does
		t.Fatal(err)
	}
	s.gets(201, "one two", 1)
}

// Where the client is gone in the middle of a part, Lambda's runtime closes the response while the transport of
// net/http still reads it.
func TestAStreamMayBeClosedWhileItIsRead(t *testing.T) {
	within, goOn := make(chan struct{}), make(chan struct{})
	s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader {
		return &parts{left: []string{"one ", "two ", "three"}, asked: func(part string) {
			if part == "three" {
				close(within)
				<-goOn
			}
		}}
	})
	w := s.send(t.Context())
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.ReadAll(w.Body)
	}()
	<-within
	go close(goOn)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if got := statuses(s.memory); len(got) != 1 || got[0] != persistence.StatusCompleted {
		t.Errorf("closed, and the record is %v", got)
	}
	<-read
	s.gets(201, "one two three", 1)
}

func TestAStreamThatBreaksIsAFailureAndARetryRuns(t *testing.T) {
	broken := errors.New("the model has failed")
	p := &parts{left: []string{"one ", "two "}, ends: broken}
	s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader { return p })
	got, err := streamOf(s.send(t.Context()).Body)
	if got != "one " || !errors.Is(err, broken) {
		t.Errorf("%q, %v", got, err)
	}
	p.left, p.ends = []string{"one ", "two"}, nil
	s.gets(201, "one two", 2)
}

func TestAStreamLargerThanMayBeHeldIsPassedOnAndNotReplayed(t *testing.T) {
	s := newStreamed(t, httpguard.Config{MaxBody: 10}, func(context.Context) io.Reader { return &parts{left: []string{"seven ", "eleven"}} })
	s.gets(201, "seven eleven", 1)
	s.gets(409, "result_not_stored", 1)
}

// A body that is not as long as it was to be is not the whole, and no answer to the next try.
func TestAStreamShorterThanItsContentLengthIsPassedOnAndNotReplayed(t *testing.T) {
	for name, test := range map[string]struct {
		length   string
		parts    []string
		replayed bool
	}{
		"no body":            {"7", nil, false},
		"one part":           {"7", []string{"one "}, false},
		"two parts":          {"8", []string{"one ", "two"}, false},
		"all of it":          {"7", []string{"one ", "two"}, true},
		"a length of no use": {"seven", []string{"one "}, true},
	} {
		s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader {
			if test.parts == nil {
				return nil
			}
			return &parts{left: slices.Clone(test.parts)}
		})
		s.header = map[string]string{"content-length": test.length}
		s.gets(201, strings.Join(test.parts, ""), 1)
		if test.replayed {
			s.gets(201, strings.Join(test.parts, ""), 1)
		} else {
			s.gets(409, "result_not_stored", 1)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

func TestAStreamThatIsOutOfTimeBreaksOnceThatIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader {
			return &parts{left: strings.Split(strings.Repeat("x,", 100), ","), asked: func(string) { time.Sleep(300 * time.Millisecond) }}
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		w := s.send(ctx)
		_, err := io.ReadAll(w.Body)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%v, the function's time: %v", err, ctx.Err())
		}
		if got := statuses(s.memory); len(got) != 1 || got[0] != persistence.StatusCompleted {
			t.Errorf("told that it is broken, and the record is %v", got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		s.gets(409, "result_not_stored", 1)
	})
}

func TestNobodyHasTheEndOfAStreamThatIsNotRecorded(t *testing.T) {
	memory := persistence.NewMemory()
	s := newStreamedOn(t, memory, refusing(memory, &persistence.Fault{Op: "complete", Err: errors.New("no answer")}), httpguard.Config{}, func(context.Context) io.Reader {
		return &parts{left: []string{"one ", "two ", "three"}}
	})
	got, err := streamOf(s.send(t.Context()).Body)
	if got != "one two " || err == nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAPanicInAStreamGoesOn(t *testing.T) {
	for _, when := range []string{"before", "within"} {
		s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader {
			if when == "before" {
				panic("out of paper")
			}
			return &parts{left: []string{"one"}, asked: func(string) { panic("out of paper") }}
		})
		func() {
			defer func() {
				if recover() != "out of paper" {
					t.Errorf("%s the stream: no panic", when)
				}
			}()
			_, _ = io.ReadAll(s.send(t.Context()).Body)
		}()
		if got := statuses(s.memory); len(got) != 0 {
			t.Errorf("%s the stream: left %v", when, got)
		}
	}
}

// TestAStreamWhoseSourceEndsTooSoonIsNoWhole breaks off where the connection does that it is read
// from: an error that wraps io.EOF is no end.
func TestAStreamWhoseSourceEndsTooSoonIsNoWhole(t *testing.T) {
	cut := fmt.Errorf("Post \"https://model\": %w", io.EOF) // as *url.Error tells it
	p := &parts{left: []string{"one ", "two "}, ends: cut}
	s := newStreamed(t, httpguard.Config{}, func(context.Context) io.Reader { return p })
	got, err := streamOf(s.send(t.Context()).Body)
	if got != "one " || !errors.Is(err, cut) {
		t.Errorf("%q, %v", got, err)
	}
	p.left, p.ends = []string{"one ", "two"}, nil
	s.gets(201, "one two", 2)
}
