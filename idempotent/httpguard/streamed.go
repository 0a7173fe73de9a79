package httpguard

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"
)

// StreamedFunctionURL guards a handler of a Lambda function URL whose invoke mode is
// RESPONSE_STREAM. The body is passed on as it comes, always one part behind, and recorded on
// its way, up to Config.MaxBody; a replay has all of it. The last part is passed on once the
// response is recorded, so that nobody has a complete response of which the next try would
// know nothing: where it can't be, the stream breaks. A body of one part is answered as it is
// by [API.FunctionURL]. The call lasts until the body has been read, and the handler's context
// as long. It panics for a nil handler.
//
// Handlers of net/http stream by [API.Middleware] behind lambdaurl.
func (a *API) StreamedFunctionURL(fn func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error)) func(context.Context, events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	return streaming[events.LambdaFunctionURLRequest, events.LambdaFunctionURLResponse, events.LambdaFunctionURLStreamingResponse]{
		a, functionURL, fn,
		func(r *events.LambdaFunctionURLStreamingResponse) head {
			return head{&r.StatusCode, &r.Headers, nil, &r.Body}
		},
		func(r response, body io.Reader) *events.LambdaFunctionURLStreamingResponse {
			return &events.LambdaFunctionURLStreamingResponse{StatusCode: r.Status, Headers: r.joined(), Body: body}
		},
	}.guarded()
}

// StreamedRESTAPI is [API.StreamedFunctionURL] for an API Gateway REST API whose integration
// streams responses. It panics for a nil handler.
func (a *API) StreamedRESTAPI(fn func(context.Context, events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error)) func(context.Context, events.APIGatewayProxyRequest) (*events.APIGatewayProxyStreamingResponse, error) {
	return streaming[events.APIGatewayProxyRequest, events.APIGatewayProxyResponse, events.APIGatewayProxyStreamingResponse]{
		a, restAPI, fn,
		func(r *events.APIGatewayProxyStreamingResponse) head {
			return head{&r.StatusCode, &r.Headers, &r.MultiValueHeaders, &r.Body}
		},
		func(r response, body io.Reader) *events.APIGatewayProxyStreamingResponse {
			return &events.APIGatewayProxyStreamingResponse{StatusCode: r.Status, Headers: r.Headers, MultiValueHeaders: r.MultiValueHeaders, Body: body}
		},
	}.guarded()
}

// head is where a streamed response has its parts.
type head struct {
	status *int
	single *map[string]string
	multi  *map[string][]string // nil where there are none
	body   *io.Reader
}

var errNoResponse = errors.New("httpguard: the handler has returned neither a response nor an error")

// streaming is a handler whose responses are streamed, guarded.
type streaming[Event, Answer, Streamed any] struct {
	api   *API
	shape shape[Event, Answer]
	fn    func(context.Context, Event) (*Streamed, error)
	parts func(*Streamed) head
	write func(response, io.Reader) *Streamed
}

// guarded returns the handler for lambda.Start.
func (s streaming[Event, Answer, Streamed]) guarded() func(context.Context, Event) (*Streamed, error) {
	if s.fn == nil {
		panic("httpguard: a nil handler")
	}
	return func(ctx context.Context, event Event) (*Streamed, error) {
		r := s.shape.read(event)
		r.kept = func() (any, *Request) {
			unsigned := s.shape.unsigned(event)
			return unsigned, s.shape.read(unsigned)
		}
		switch {
		case r.Method == "" && !s.api.guard.Off():
			return s.instead(s.api.malformed(ctx, r, errShape)), nil
		case !s.api.covers(r.Method):
			return s.fn(ctx, event)
		}
		return s.serve(ctx, event, r)
	}
}

func (s streaming[Event, Answer, Streamed]) instead(r *response) *Streamed {
	return s.write(r.withoutEmpty(), r.content())
}

// serve makes the call, as far as it goes before a response begins. The rest is a coroutine of
// who reads the body, so that nothing runs that nobody waits for, and a panic is where it
// would be without a guard.
func (s streaming[Event, Answer, Streamed]) serve(ctx context.Context, event Event, r *Request) (*Streamed, error) {
	var own *Streamed
	var f flow
	var answer served
	var err error
	next, stop := iter.Pull2(func(pass func([]byte, error) bool) {
		f.pass = pass
		answer, err = s.api.serve(ctx, r, func(ctx context.Context) (response, error) {
			sent, err := s.fn(ctx, event)
			if err == nil && sent == nil {
				err = errNoResponse
			}
			if err != nil {
				return response{}, err
			}
			if f.begun { // a run of the short form that was for nothing: its response is on its way
				f.gone, f.broken = true, errNotTheAnswer
			} else {
				own = sent
			}
			return f.record(ctx, r.Method, s.parts(sent), s.api.config.MaxBody)
		})
		err = cmp.Or(err, f.broken)
		if err == nil && answer.instead != nil {
			err = errNotTheAnswer
		}
		if f.begun {
			pass(f.held, err) // once the call is settled
		}
	})
	if _, _, begun := next(); begun {
		*s.parts(own).body = &passage{next: next, stop: stop}
		return own, nil
	}
	switch {
	case answer.instead != nil:
		return s.instead(answer.instead), nil
	case err != nil:
		return nil, err
	}
	h := s.parts(own)
	*h.body = bytes.NewReader(f.held)
	if answer.name != "" {
		*h.single = with(*h.single, answer.name, answer.value)
	}
	return own, nil
}

// errNotTheAnswer breaks a stream that has begun, and is not what a retry would get: its
// effects could not be recorded, or were another run's.
var errNotTheAnswer = errors.New("httpguard: the streamed response is not the answer after all")

// content is the body of a response.
func (r response) content() io.Reader {
	if r.IsBase64Encoded {
		return base64.NewDecoder(base64.StdEncoding, strings.NewReader(r.Body))
	}
	return strings.NewReader(r.Body)
}

// flow is a body on its way.
type flow struct {
	pass  func([]byte, error) bool // to the client, and tells whether it is still there
	begun bool                     // the response
	gone  bool                     // the client
	held  []byte                   // the part that was read last
	// broken is why the body does not go on, where that is not the handler's failure.
	broken error
}

// record passes the body on until it ends, and returns the response as it is to be recorded.
// A client that is gone gets it with its next try. The error is that of the body: then the
// handler has failed in the middle of its answer.
func (f *flow) record(ctx context.Context, method string, h head, limit int) (response, error) {
	r, body := h.response(), *h.body
	f.held = nil // of a run that was for nothing
	if body == nil {
		body = http.NoBody
	}
	declared := declaredLength(method, r.Status, canonical(r.separate()))
	if closer, ok := body.(io.Closer); ok {
		defer closer.Close()
	}
	var kept bytes.Buffer
	overflown, late := false, false
	for chunk, other := make([]byte, 32<<10), make([]byte, 32<<10); ; {
		n, err := body.Read(chunk)
		if !overflown && n > limit-kept.Len() {
			overflown, kept = true, bytes.Buffer{}
		}
		if !overflown {
			kept.Write(chunk[:n])
		}
		if n > 0 {
			f.follow(chunk[:n])
			chunk, other = other, chunk
		}
		switch {
		case err == io.EOF: //nolint:errorlint // as io.Reader has it: one that is wrapped is a connection that broke
			return r.with(kept.Bytes(), overflown, limit, declared), nil
		case err != nil && ctx.Err() == nil:
			return response{}, err
		case late:
			r.Unfit, f.broken = &unfit{"httpguard: the context ended before the streamed response"}, ctx.Err()
			return r, nil
		case overflown && f.gone: // for nobody
			return r.with(nil, true, limit, declared), nil
		}
		late = ctx.Err() != nil // the end may be all that is missing
	}
}

// follow holds a part, and passes on the one before it.
func (f *flow) follow(part []byte) {
	if len(f.held) > 0 && !f.gone {
		if !f.begun {
			f.begun = true
			f.gone = !f.pass(nil, nil) // the head
		}
		f.gone = f.gone || !f.pass(f.held, nil)
	}
	f.held = part
}

// response is the response, without its body and the guard's marks.
func (h head) response() response {
	if *h.status == 0 {
		*h.status = http.StatusOK // as it is sent
	}
	*h.single = unmarked(*h.single)
	r := response{Status: *h.status, Headers: *h.single}
	if h.multi != nil {
		*h.multi = unmarked(*h.multi)
		r.MultiValueHeaders = *h.multi
	}
	return r
}

// passage is the body of a response that a guarded call passes on. Safe for concurrent use: the
// transport of Lambda's runtime may still read where that closes.
type passage struct {
	mu   sync.Mutex // of what follows; one that closes waits for the part that is read
	next func() ([]byte, error, bool)
	stop func()
	left []byte // of what was passed on last
	err  error
}

// Read implements [io.Reader].
func (p *passage) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.left) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		chunk, err, more := p.next()
		switch {
		case err != nil:
			p.err = err
		case !more:
			p.err = io.EOF
		default:
			p.left = chunk
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// Close ends what is passed on. The call goes on to its end: what it has done is recorded.
func (p *passage) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, io.ErrClosedPipe)
	p.left = nil
	p.stop()
	return nil
}
